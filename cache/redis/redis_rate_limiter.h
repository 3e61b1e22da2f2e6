// RedisRateLimiter: RateLimiter in Redis: one limit a user over all servers.
//
// A user's window is one integer whose expiry is set with it in one script (scripts.h); a key
// without an expiry, or with one that is too far away, is replaced by a new window, so that nobody
// is locked out. A window is named by the millisecond in which it ends: if a window is lost and the
// next one begins in the same millisecond, a refund to the lost one goes to the next.
//
// GiveBack does not wait for its answer; a Reserve through the same connection sees it.
//
// When Redis does not answer, a limiter of the same size inside the process answers instead. A user
// may then have one limit a server; and likes that Redis granted too late for us count as used
// until their window ends.
//
// Threads and ownership: as RedisCountCache.
#ifndef COUNTER_CACHE_REDIS_REDIS_RATE_LIMITER_H_
#define COUNTER_CACHE_REDIS_REDIS_RATE_LIMITER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/rate_limiter.h"
#include "cache/redis/channel.h"

namespace counter::redis {

struct RedisRateLimiterOptions {
  int64_t limit = 100;                             // RATE_LIMIT_REQUESTS a window; 0: no limit.
  absl::Duration window = absl::Seconds(60);       // RATE_LIMIT_WINDOW_SECONDS. Requires >= 1 ms.
  absl::Duration budget = absl::Milliseconds(20);  // Of one call.
  int64_t fallback_users_max = 1'000'000;          // As LocalRateLimiterOptions::users_max.
};

class RedisRateLimiter final : public RateLimiter {
 public:
  RedisRateLimiter(Channel& channel, const Clock& clock, RedisRateLimiterOptions options = {});

  Task<std::vector<LikeGrant>> Reserve(std::vector<LikeCharge> charges) override;
  Task<> GiveBack(std::vector<LikeRefund> refunds) override;

  // Charges that the limiter inside the process answered, since the start.
  int64_t fallbacks() const { return fallbacks_.load(std::memory_order_relaxed); }
  // Of the limiter inside the process; an entry is a user.
  LocalCacheStats FallbackStats() const { return fallback_.Stats(); }

 private:
  // What the script ReserveLikes says of the user of that number in its call.
  void ReadGrant(const std::vector<Reply>& fields, size_t user, LikeGrant& grant) const;

  Channel& channel_;
  const Clock& clock_;
  const RedisRateLimiterOptions options_;
  LocalRateLimiter fallback_;
  std::atomic<int64_t> fallbacks_ = 0;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REDIS_RATE_LIMITER_H_
