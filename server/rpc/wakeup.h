// Wakeup: how one coroutine waits for "something may have changed", told by any thread.
//
// Use it in a handler of a long stream that waits for changes, for its caller's going away and for
// the end of the server all at once: each of them wakes, the handler then looks what it was. It is
// not a queue: wakes that come before the waiter is back count as one.
//
// Threads: Wake() from any thread, also from several at once; the waiting coroutine goes on inside
//   Wake() on that thread. Wait() is for one coroutine at a time.
// Ownership: usually shared (std::make_shared) between the handler and those who wake it, because a
//   waker may still be inside Wake() when the handler ends.
#ifndef COUNTER_SERVER_RPC_WAKEUP_H_
#define COUNTER_SERVER_RPC_WAKEUP_H_

#include <coroutine>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace counter::rpc {

class Wakeup {
 public:
  void Wake() {
    std::coroutine_handle<> waiting;
    {
      MutexLock lock(mutex_);
      waiting = std::exchange(waiting_, nullptr);
      if (!waiting) woken_ = true;
    }
    if (waiting) waiting.resume();
  }

  // `co_await wakeup.Wait()` goes on as soon as there was a Wake() since the last one that it saw.
  auto Wait() {
    struct Awaiter {
      Wakeup& wakeup;
      bool await_ready() noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> waiting) {
        return wakeup.SuspendUnlessWoken(waiting);
      }
      void await_resume() noexcept {}
    };
    return Awaiter{*this};
  }

 private:
  bool SuspendUnlessWoken(std::coroutine_handle<> waiting) {
    MutexLock lock(mutex_);
    if (std::exchange(woken_, false)) return false;
    waiting_ = waiting;
    return true;
  }

  Mutex mutex_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::coroutine_handle<> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_WAKEUP_H_
