// Pacer: holds work to a number of units a second by turning it away until what was done is paid
// for.
//
// Use it where the size of a piece of work is known when it is done: a piece is let in when nothing
// is owed, and owes its units from then on. So a piece may be as large as it likes, and the mean
// rate holds all the same. It does not queue: who is turned away is told when to come again.
//
// Threads: any. Ownership: borrows the clock.
#ifndef COUNTER_SERVER_ADMIN_PACER_H_
#define COUNTER_SERVER_ADMIN_PACER_H_

#include <algorithm>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace counter {

class Pacer {
 public:
  // Requires units_per_second >= 1.
  Pacer(const Clock& clock, int units_per_second)
      : clock_(clock), unit_(absl::Seconds(1) / units_per_second) {}

  // How long work has to wait; zero: it may be done now.
  absl::Duration Wait() const {
    MutexLock lock(mutex_);
    return std::max(absl::ZeroDuration(), Between(clock_.MonotonicNow(), paid_at_));
  }

  // So much was done.
  void Done(int64_t units) {
    MutexLock lock(mutex_);
    paid_at_ = std::max(clock_.MonotonicNow(), paid_at_) + unit_ * units;
  }

 private:
  const Clock& clock_;
  const absl::Duration unit_;
  mutable Mutex mutex_;
  MonotonicTime paid_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter

#endif  // COUNTER_SERVER_ADMIN_PACER_H_
