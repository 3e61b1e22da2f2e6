// The contract suite of RateLimiter: one case for each sentence of rate_limiter.h.
//
// Use it to hold an implementation to the interface: link the suite into a test that defines
// MakeRateLimiterUnderTest(). It tests no driver, no fallback, no bound on memory and no threads:
// that is each implementation's own.
#ifndef COUNTER_TESTS_CONTRACT_RATE_LIMITER_CONTRACT_H_
#define COUNTER_TESTS_CONTRACT_RATE_LIMITER_CONTRACT_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "cache/rate_limiter.h"

namespace counter::testing {

class RateLimiterUnderTest {
 public:
  virtual ~RateLimiterUnderTest() = default;

  virtual RateLimiter& limiter() = 0;
  // Lets time pass: a manual clock moves, a real one is waited for.
  virtual void Elapse(absl::Duration duration) = 0;
  // Makes the limiter lose what it has of a user.
  virtual void Evict(UserId user) = 0;
};

// A limiter of which nobody has asked anything. Defined by the test of each implementation.
std::unique_ptr<RateLimiterUnderTest> MakeRateLimiterUnderTest(int64_t limit,
                                                               absl::Duration window);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_CONTRACT_RATE_LIMITER_CONTRACT_H_
