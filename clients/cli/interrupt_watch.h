// InterruptWatch: while one is there, SIGINT is a request to stop; the second one ends the process.
// At most one at a time; made and ended on one thread. Interrupted() is for any.
#ifndef COUNTER_CLIENTS_CLI_INTERRUPT_WATCH_H_
#define COUNTER_CLIENTS_CLI_INTERRUPT_WATCH_H_

#include <signal.h>

#include <atomic>

namespace counter::cli {

inline constexpr int kInterrupted = 128 + SIGINT;

inline std::atomic<bool>& Interrupted() {
  static std::atomic<bool> interrupted = false;
  return interrupted;
}

class InterruptWatch {
 public:
  InterruptWatch() {
    Interrupted() = false;
    struct sigaction action = {};
    action.sa_handler = [](int /*signal*/) { Interrupted() = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptWatch() { sigaction(SIGINT, &before_, nullptr); }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_INTERRUPT_WATCH_H_
