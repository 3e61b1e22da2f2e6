// RefreshSchedule: when the map of a cluster's slots is asked for again.
//
// Use it under the loop that asks. One question is under way at a time, and they begin at least
// `pause` apart, however many redirections and failures ask for one: a storm of them costs the
// cluster one question a second. Without any reason the map is asked for once a `period`.
//
// Threads: one at a time. Ownership: values only; it has no clock.
#ifndef COUNTER_CACHE_REDIS_REFRESH_SCHEDULE_H_
#define COUNTER_CACHE_REDIS_REFRESH_SCHEDULE_H_

#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"

namespace counter::redis {

class RefreshSchedule {
 public:
  RefreshSchedule(absl::Duration pause, absl::Duration period) : pause_(pause), period_(period) {}

  // There is a reason to doubt the map.
  void Want() { is_wanted_ = true; }

  // When the next question is due; max while one is under way.
  MonotonicTime due_at() const {
    if (is_under_way_) return MonotonicTime::max();
    if (!began_at_) return is_wanted_ ? MonotonicTime::min() : MonotonicTime::max();
    return *began_at_ + (is_wanted_ ? pause_ : period_);
  }

  // Requires now >= due_at().
  void OnBegin(MonotonicTime now) {
    began_at_ = now;
    is_under_way_ = true;
    is_wanted_ = false;
  }
  // It was answered, or not. Requires that one is under way.
  void OnEnd() { is_under_way_ = false; }

 private:
  const absl::Duration pause_;
  const absl::Duration period_;
  std::optional<MonotonicTime> began_at_;  // The last; absent: none did.
  bool is_wanted_ = false;
  bool is_under_way_ = false;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REFRESH_SCHEDULE_H_
