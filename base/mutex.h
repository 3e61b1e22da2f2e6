// Mutex, MutexLock, CondVar: the locks of this code base.
//
// Use them wherever threads share state. They are std::mutex and std::condition_variable with
// Abseil's thread annotations. absl::Mutex itself is not used: it comes prebuilt, so the thread
// sanitizer does not see it and reports a race on everything that it guards.
//
// Hold no lock across a co_await, nor while calling something that may block or call back.
// All classes here are thread-safe, as locks are.
#ifndef COUNTER_BASE_MUTEX_H_
#define COUNTER_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace counter {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Lets threads wait for a change of what a Mutex guards. A wait may end for no reason: call it in a
// loop that looks at the guarded state.
class CondVar {
 public:
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

  // Requires that the calling thread holds `mutex`; holds it again on return.
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // As Wait, but not longer than until `deadline`.
  void WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_until(lock, deadline);
    lock.release();
  }

 private:
  std::condition_variable condition_;
};

// Something that happens once and that threads can wait for.
class Notification {
 public:
  Notification() = default;

  // The notification may be destroyed as soon as a waiter knows of it. Call it once.
  void Notify() {
    MutexLock lock(mutex_);
    notified_ = true;
    condition_.NotifyAll();
  }
  bool notified() const {
    MutexLock lock(mutex_);
    return notified_;
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!notified_) condition_.Wait(mutex_);
  }

 private:
  mutable Mutex mutex_;
  CondVar condition_;
  bool notified_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace counter

#endif  // COUNTER_BASE_MUTEX_H_
