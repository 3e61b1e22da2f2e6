// LocalRateLimiter under the contract suite of RateLimiter.
#include "base/clock.h"
#include "cache/local/local_rate_limiter.h"
#include "tests/contract/rate_limiter_contract.h"

namespace counter::testing {
namespace {

class LocalUnderTest final : public RateLimiterUnderTest {
 public:
  LocalUnderTest(int64_t limit, absl::Duration window) : limiter_(clock_, Options(limit, window)) {}

  RateLimiter& limiter() override { return limiter_; }
  void Elapse(absl::Duration duration) override { clock_.Advance(duration); }
  void Evict(UserId user) override { limiter_.Forget(user); }

 private:
  static LocalRateLimiterOptions Options(int64_t limit, absl::Duration window) {
    LocalRateLimiterOptions options;
    options.limit = limit;
    options.window = window;
    return options;
  }

  ManualClock clock_;
  LocalRateLimiter limiter_;
};

}  // namespace

std::unique_ptr<RateLimiterUnderTest> MakeRateLimiterUnderTest(int64_t limit,
                                                               absl::Duration window) {
  return std::make_unique<LocalUnderTest>(limit, window);
}

}  // namespace counter::testing
