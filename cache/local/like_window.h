// LikeWindow: one user's rate window, as a value: the rules of RateLimiter without a clock, a lock
// or a map of users.
//
// Use it inside an implementation of RateLimiter that holds its state in the process. Its owner
// says what time it is and gives ids that are new for this user.
//
// Threads: one at a time. Ownership: values only.
#ifndef COUNTER_CACHE_LOCAL_LIKE_WINDOW_H_
#define COUNTER_CACHE_LOCAL_LIKE_WINDOW_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "base/clock.h"

namespace counter {

struct LikeWindow {
  uint64_t id = 0;
  MonotonicTime ends_at;
  int64_t used = 0;

  // A window that would end later than any window can is damage, not a reason to lock a user out:
  // it counts as ended.
  bool IsOpen(MonotonicTime now, absl::Duration length) const {
    return id != 0 && now < ends_at && Between(now, ends_at) <= length;
  }

  // Grants as many of `likes` as the window has left. Requires an open window and likes >= 1.
  int64_t Reserve(int64_t likes, int64_t limit) {
    const int64_t granted = std::clamp<int64_t>(limit - used, 0, likes);
    used += granted;
    return granted;
  }

  // Takes back what was granted and not used; more than that is not there to give.
  void GiveBack(int64_t likes) { used = std::max<int64_t>(used - likes, 0); }
};

}  // namespace counter

#endif  // COUNTER_CACHE_LOCAL_LIKE_WINDOW_H_
