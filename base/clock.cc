#include "base/clock.h"

#include "absl/time/clock.h"

namespace counter {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Time WallNow() const override { return absl::Now(); }
  MonotonicTime MonotonicNow() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock clock;
  return clock;
}

absl::Time ManualClock::WallNow() const {
  MutexLock lock(mutex_);
  return wall_;
}

MonotonicTime ManualClock::MonotonicNow() const {
  MutexLock lock(mutex_);
  return monotonic_;
}

void ManualClock::Advance(absl::Duration duration) {
  MutexLock lock(mutex_);
  wall_ += duration;
  monotonic_ = monotonic_ + duration;
}

void ManualClock::JumpWall(absl::Duration by) {
  MutexLock lock(mutex_);
  wall_ += by;
}

}  // namespace counter
