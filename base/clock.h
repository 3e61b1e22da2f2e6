// Clock: where the product takes time from, so that a test can hold it still.
//
// Two times that cannot be mixed up: MonotonicTime never jumps and is for deadlines, ages and times
// to live inside one process; absl::Time is the wall clock and is for what other machines and
// people see. All classes here are thread-safe.
#ifndef COUNTER_BASE_CLOCK_H_
#define COUNTER_BASE_CLOCK_H_

#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace counter {

using MonotonicTime = std::chrono::steady_clock::time_point;

inline MonotonicTime operator+(MonotonicTime time, absl::Duration duration) {
  return time + absl::ToChronoNanoseconds(duration);
}
inline absl::Duration Between(MonotonicTime from, MonotonicTime to) {
  return absl::FromChrono(to - from);
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time WallNow() const = 0;
  virtual MonotonicTime MonotonicNow() const = 0;

  // The machine's clock. Lives for ever.
  static const Clock& System();
};

// A clock that stands until it is told to move. Starts at an arbitrary instant.
class ManualClock final : public Clock {
 public:
  absl::Time WallNow() const override;
  MonotonicTime MonotonicNow() const override;

  // Moves both times on. Requires duration >= 0.
  void Advance(absl::Duration duration);
  // Lets the wall clock jump, as an operator or NTP may, in either direction.
  void JumpWall(absl::Duration by);

 private:
  mutable Mutex mutex_;
  absl::Time wall_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'700'000'000);
  MonotonicTime monotonic_ ABSL_GUARDED_BY(mutex_) = MonotonicTime(std::chrono::hours(24));
};

}  // namespace counter

#endif  // COUNTER_BASE_CLOCK_H_
