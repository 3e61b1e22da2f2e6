// empty_server: the engine of server/rpc with a method that does nothing, in a process of its own:
// what a call costs before there is a product. Prints its port and serves until SIGTERM or SIGINT.

#include <signal.h>

#include <cstdio>

#include "absl/synchronization/mutex.h"
#include "base/task.h"
#include "server/rpc/testing/echo_server.h"

namespace counter {
namespace {

int Serve() {
  // As counterd: a ceiling with less on its back, or more, would be none.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  rpc::testing::EchoServer server;
  server.echo = [](rpc::Call&, const rpc::testing::EchoRequest&,
                   rpc::testing::EchoResponse&) -> Task<grpc::Status> {
    co_return grpc::Status::OK;
  };
  if (!server.Start().ok()) {
    std::fputs("empty_server: could not start\n", stderr);
    return 1;
  }
  std::printf("%d\n", server.server().port());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  return 0;
}

}  // namespace
}  // namespace counter

int main() { return counter::Serve(); }
