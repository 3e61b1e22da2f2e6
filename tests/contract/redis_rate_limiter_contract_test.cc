// RedisRateLimiter on a real Redis 7 under the contract suite of RateLimiter.
#include "cache/redis/redis_rate_limiter.h"
#include "tests/contract/rate_limiter_contract.h"
#include "tests/contract/redis_harness.h"

namespace counter::testing {
namespace {

class OnRedis final : public RateLimiterUnderTest {
 public:
  OnRedis(int64_t limit, absl::Duration window)
      : limiter_(redis_.connection(), redis_.clock(), Options(limit, window)) {}

  RateLimiter& limiter() override { return limiter_; }
  void Elapse(absl::Duration duration) override { redis_.Elapse(duration); }
  void Evict(UserId user) override {
    redis_.Ask({"DEL", redis::Keys::Rate(user)});
    // A window is named by the millisecond in which it ends: the next one must not be its namesake.
    redis_.Elapse(absl::Milliseconds(2));
  }

 private:
  static redis::RedisRateLimiterOptions Options(int64_t limit, absl::Duration window) {
    redis::RedisRateLimiterOptions options;
    options.limit = limit;
    options.window = window;
    options.budget = kPatientBudget;
    return options;
  }

  RedisHarness redis_;
  redis::RedisRateLimiter limiter_;
};

}  // namespace

std::unique_ptr<RateLimiterUnderTest> MakeRateLimiterUnderTest(int64_t limit,
                                                               absl::Duration window) {
  return std::make_unique<OnRedis>(limit, window);
}

}  // namespace counter::testing
