// LocalRateLimiter: RateLimiter inside the process.
//
// Use it where one server holds its own store (the embedded default), as the fallback of a shared
// limiter, and in tests. It is not shared: with n servers a user gets n times the limit. Its rules
// are like_window.h; here are the users, the clock and the locks.
//
// Bounds: users_max users, the one used longest ago goes first; who is forgotten starts a new
// window (more likes, never fewer). A user takes about 110 bytes (kBytesPerUser), so the default
// bound is about 110 MB when full. Users whose window has ended are forgotten as new ones come.
//
// Threads: any; answers are at hand, a task never suspends and never waits longer than for one of
// `shards` mutexes. Ownership: borrows the clock, which must outlive it.
#ifndef COUNTER_CACHE_LOCAL_LOCAL_RATE_LIMITER_H_
#define COUNTER_CACHE_LOCAL_LOCAL_RATE_LIMITER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/local/local_cache_stats.h"
#include "cache/rate_limiter.h"

namespace counter {

struct LocalRateLimiterOptions {
  int64_t limit = 100;                        // RATE_LIMIT_REQUESTS a window; 0: no limit.
  absl::Duration window = absl::Seconds(60);  // RATE_LIMIT_WINDOW_SECONDS. Requires > 0.
  int64_t users_max = 1'000'000;              // Requires >= 1.
  int shards = 16;                            // Mutexes. Requires >= 1.
};

class LocalRateLimiter final : public RateLimiter {
 public:
  static constexpr int64_t kBytesPerUser = 110;

  explicit LocalRateLimiter(const Clock& clock, LocalRateLimiterOptions options = {});
  ~LocalRateLimiter() override;

  Task<std::vector<LikeGrant>> Reserve(std::vector<LikeCharge> charges) override;
  Task<> GiveBack(std::vector<LikeRefund> refunds) override;

  // Forgets a user's window, as an eviction does.
  void Forget(UserId user);

  // An entry is a user.
  LocalCacheStats Stats() const;

 private:
  struct Shard;

  Shard& ShardFor(UserId user) const;
  LikeGrant ReserveOne(const LikeCharge& charge);
  void GiveBackOne(const LikeRefund& refund);

  const Clock& clock_;
  const LocalRateLimiterOptions options_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace counter

#endif  // COUNTER_CACHE_LOCAL_LOCAL_RATE_LIMITER_H_
