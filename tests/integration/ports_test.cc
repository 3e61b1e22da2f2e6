// Ports that are taken: K06 of the fault list.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/fixture.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// A listener of somebody else's, as careless as can be: it would share its port with anybody.
class UnrelatedListener {
 public:
  UnrelatedListener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(socket_, 1) == 0);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~UnrelatedListener() { close(socket_); }
  int port() const { return port_; }

 private:
  int socket_;
  int port_ = 0;
};

// Fails the case unless a server with these settings gives up within 2 s, naming the port.
void RequireRefusal(const Settings& settings, int port) {
  CounterServer::Options options;
  options.env = settings;
  absl::StatusOr<std::unique_ptr<CounterServer>> second =
      CounterServer::StartUnready(std::move(options));
  REQUIRE(second.ok());
  const auto exit = (*second)->WaitExit(absl::Seconds(2) * Slowness());
  CAPTURE((*second)->Log());
  REQUIRE(exit.has_value());
  CHECK(exit->signal == 0);
  CHECK(exit->code != 0);
  // The refusal is for people to read, so here the text counts.
  CHECK(absl::StrContains((*second)->Log(), absl::StrCat(port)));
}

std::string Address(int port) { return absl::StrCat("127.0.0.1:", port); }

TEST_CASE("K06: a second server on a taken port gives up, and the first loses no call") {
  auto first = StartServer();
  std::atomic<bool> done = false;
  std::atomic<int> calls = 0;
  std::atomic<int> failed = 0;
  std::jthread caller([&] {
    const Client client = ConnectTo(*first);
    HttpClient rest(first->http_port());
    for (int64_t user = 1; !done; ++user) {
      // By gRPC and by REST in turn.
      const bool liked =
          user % 2 == 0
              ? client.Like(user, Post(1)).ok()
              : rest.Post("/v1/like", absl::StrCat("{\"user_id\":", user, ",\"item_id\":1}"))
                        .status == 200;
      if (!liked) ++failed;
      ++calls;
    }
  });
  RequireRefusal({{"GRPC_LISTEN", first->target()}}, first->grpc_port());
  RequireRefusal({{"METRICS_LISTEN", Address(first->metrics_port())}}, first->metrics_port());
  RequireRefusal({{"HTTP_LISTEN", Address(first->http_port())}}, first->http_port());
  done = true;
  caller.join();
  CHECK(calls > 0);
  CHECK(failed == 0);
  CHECK(StrongCount(ConnectTo(*first), Post(1)) == calls);
}

TEST_CASE("K06: a port of an unrelated listener is refused, even one that would be shared") {
  const UnrelatedListener listener;
  RequireRefusal({{"GRPC_LISTEN", Address(listener.port())}}, listener.port());
  RequireRefusal({{"METRICS_LISTEN", Address(listener.port())}}, listener.port());
  RequireRefusal({{"HTTP_LISTEN", Address(listener.port())}}, listener.port());
}

TEST_CASE("A second server on the same data folder gives up, and the first goes on") {
  auto first = StartServer();
  CounterServer::Options options;
  options.data_dir = first->data_dir();
  absl::StatusOr<std::unique_ptr<CounterServer>> second =
      CounterServer::StartUnready(std::move(options));
  REQUIRE(second.ok());
  const auto exit = (*second)->WaitExit(absl::Seconds(5) * Slowness());
  CAPTURE((*second)->Log());
  REQUIRE(exit.has_value());
  CHECK(exit->signal == 0);
  CHECK(exit->code != 0);
  const Client client = ConnectTo(*first);
  CHECK(client.Like(1, Post(1)).ok());
}

}  // namespace
}  // namespace counter::testing
