// Termination: SIGINT and SIGTERM as something to wait for, so that the server ends in order and
// not inside a signal handler.
//
//   Termination termination;            // First of all, before any thread is started.
//   ...
//   const int signal = termination.Wait();
//   ... drain ...
//
// A signal that came before Wait() was called is not lost. While the server drains, a second signal
// ends the process at once, with the exit status that a shell gives to that signal (128 + number).
//
// Threads: make it on the main thread before there are others (they inherit its mask); Wait() on
// the same thread.
#ifndef COUNTER_SERVER_TERMINATION_H_
#define COUNTER_SERVER_TERMINATION_H_

#include <csignal>

namespace counter {

class Termination {
 public:
  Termination();

  // Blocks until the first signal; returns its number.
  int Wait();

 private:
  sigset_t signals_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_TERMINATION_H_
