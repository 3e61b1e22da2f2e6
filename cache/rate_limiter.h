// RateLimiter: at most so many likes a user and window (RATE_LIMIT_REQUESTS, 100, in
// RATE_LIMIT_WINDOW_SECONDS, 60; the window starts with the user's first like after the former
// one).
//
// It charges transitions: likes are reserved before the write and given back when nothing changed
// or the write was certainly not applied. Unlikes are free and never come here; refused likes are
// free. A user's window always ends: no order of calls and losses may leave a user locked out for
// ever.
//
// Failure is not an error: a limiter whose shared state is gone falls back to a local limit of the
// same size. A limit of 0 turns it off: everything is granted.
//
// Threads and ownership: as CountCache.
#ifndef COUNTER_CACHE_RATE_LIMITER_H_
#define COUNTER_CACHE_RATE_LIMITER_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "base/task.h"
#include "storage/like.h"

namespace counter {

// Likes that a user is about to make.
struct LikeCharge {
  UserId user;
  int64_t likes = 0;  // Requires >= 1.
};

struct LikeGrant {
  int64_t granted = 0;          // Of the likes asked for; the rest is refused and free.
  int64_t limit = 0;            // Likes a window; 0: no limit.
  int64_t remaining = 0;        // Left in this window after the grant.
  absl::Duration resets_after;  // Until the window ends.
  uint64_t window = 0;          // Names the user's window, for GiveBack.
};

// Likes that were granted but not used.
struct LikeRefund {
  UserId user;
  int64_t likes = 0;    // Requires >= 1.
  uint64_t window = 0;  // Of the grant; a refund to a window that has ended is dropped.
};

class RateLimiter {
 public:
  virtual ~RateLimiter() = default;

  // Grant i is of charges[i]. Requires distinct users.
  virtual Task<std::vector<LikeGrant>> Reserve(std::vector<LikeCharge> charges) = 0;

  virtual Task<> GiveBack(std::vector<LikeRefund> refunds) = 0;
};

}  // namespace counter

#endif  // COUNTER_CACHE_RATE_LIMITER_H_
