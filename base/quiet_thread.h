// StartThreadWithoutSignals: a thread that no signal of the process is delivered to.
//
// Use it for every thread of a server. Signals are for the one thread that waits for them
// (server/termination.h); on any other they would interrupt what it does, or end the process.
// SIGPIPE stays pending there, unseen.
//
// Threads: any. Ownership: the caller joins or detaches the thread.
#ifndef COUNTER_BASE_QUIET_THREAD_H_
#define COUNTER_BASE_QUIET_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace counter {

template <class Function>
std::thread StartThreadWithoutSignals(Function function) {
  sigset_t all, before;
  sigfillset(&all);
  // A thread inherits the mask of who starts it.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(function));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace counter

#endif  // COUNTER_BASE_QUIET_THREAD_H_
