#include "server/termination.h"

#include <pthread.h>
#include <unistd.h>

#include <thread>

namespace counter {

Termination::Termination() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  // A peer that goes away is an error of its connection, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
}

int Termination::Wait() {
  int first = 0;
  sigwait(&signals_, &first);
  std::thread([signals = signals_] {
    int second = 0;
    sigwait(&signals, &second);
    constexpr int kShellSignalBase = 128;
    _exit(kShellSignalBase + second);
  }).detach();
  return first;
}

}  // namespace counter
