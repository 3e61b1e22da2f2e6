// What the contract suites need of a real Redis 7: one server a test program, empty at the start of
// each case, with a connection of the case's own; time passes by itself.
#ifndef COUNTER_TESTS_CONTRACT_REDIS_HARNESS_H_
#define COUNTER_TESTS_CONTRACT_REDIS_HARNESS_H_

#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/redis/keys.h"
#include "tests/cache/redis/live_redis.h"

namespace counter::testing {

class RedisHarness {
 public:
  redis::Connection& connection() { return redis_.connection(); }
  const redis::Keys& keys() const { return keys_; }
  const Clock& clock() const { return Clock::System(); }

  absl::Time Now() const { return Clock::System().WallNow(); }
  void Elapse(absl::Duration duration) const {
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(duration));
  }
  redis::Reply Ask(const std::vector<std::string>& parts) { return redis_.Ask(parts); }

 private:
  redis::testing::LiveRedis redis_;
  const redis::Keys keys_{{{1, "post"}, {2, "reel"}, {3, "comment"}}};
};

// The budget of a call, for a busy machine: the suites are about what is answered, not when.
inline constexpr absl::Duration kPatientBudget = absl::Seconds(5);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_CONTRACT_REDIS_HARNESS_H_
