// ForeignThreads: a stand-in for a store: handlers that wait here go on on a thread that is not the
// engine's, after a delay.
//
// For tests only. Threads: Hop() from any. Ownership: outlives the server, whose drain waits for
// all who hop; at the end every waiter has gone on.
#ifndef COUNTER_SERVER_RPC_TESTING_FOREIGN_THREADS_H_
#define COUNTER_SERVER_RPC_TESTING_FOREIGN_THREADS_H_

#include <coroutine>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace counter::rpc::testing {

class ForeignThreads {
 public:
  explicit ForeignThreads(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Serve(); });
  }
  ForeignThreads(const ForeignThreads&) = delete;
  ForeignThreads& operator=(const ForeignThreads&) = delete;
  ~ForeignThreads() {
    {
      MutexLock lock(mutex_);
      ending_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
  }

  // `co_await threads.Hop(delay)` goes on on one of the threads; the delay keeps that thread busy.
  auto Hop(absl::Duration delay = absl::ZeroDuration()) {
    struct Awaiter {
      ForeignThreads& threads;
      absl::Duration delay;
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<> waiting) {
        // With the lock held: nothing of this awaiter may be touched once a thread has taken it.
        MutexLock lock(threads.mutex_);
        threads.waiting_.emplace_back(delay, waiting);
        threads.changed_.NotifyOne();
      }
      void await_resume() noexcept {}
    };
    return Awaiter{*this, delay};
  }

 private:
  void Serve() {
    for (;;) {
      std::pair<absl::Duration, std::coroutine_handle<>> next;
      {
        MutexLock lock(mutex_);
        while (!ending_ && waiting_.empty()) changed_.Wait(mutex_);
        if (waiting_.empty()) return;
        next = waiting_.front();
        waiting_.pop_front();
      }
      if (next.first > absl::ZeroDuration()) absl::SleepFor(next.first);
      next.second.resume();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<absl::Duration, std::coroutine_handle<>>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace counter::rpc::testing

#endif  // COUNTER_SERVER_RPC_TESTING_FOREIGN_THREADS_H_
