// What the contract suites need of a real Redis 7: one server a test program, or one cluster where
// COUNTER_TEST_REDIS asks for it, empty at the start of each case, with a connection of the case's
// own; time passes by itself.
#ifndef COUNTER_TESTS_CONTRACT_REDIS_HARNESS_H_
#define COUNTER_TESTS_CONTRACT_REDIS_HARNESS_H_

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/redis/channel.h"
#include "cache/redis/keys.h"
#include "tests/cache/redis/live_cluster.h"
#include "tests/cache/redis/live_redis.h"
#include "tests/support/test_settings.h"

namespace counter::testing {

// Redis as if it had always run: the suites tell of what was verified before this one was started,
// which would not be believed.
class AgelessRedis final : public redis::Channel {
 public:
  explicit AgelessRedis(redis::Channel& redis) : redis_(redis) {}

  bool usable() const override { return redis_.usable(); }
  bool by_slot() const override { return redis_.by_slot(); }
  void Send(redis::Request request) override { redis_.Send(std::move(request)); }

 private:
  redis::Channel& redis_;
};

class RedisHarness {
 public:
  redis::Connection& connection() {
    return cluster_ ? cluster_->connection() : single_->connection();
  }
  redis::Channel& ageless() { return ageless_; }
  const redis::Keys& keys() const { return keys_; }
  const Clock& clock() const { return Clock::System(); }

  absl::Time Now() const { return Clock::System().WallNow(); }
  void Elapse(absl::Duration duration) const {
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(duration));
  }
  // The first word after a command's name is its key.
  redis::Reply Ask(const std::vector<std::string>& parts) {
    return cluster_ ? cluster_->Ask(parts) : single_->Ask(parts);
  }

 private:
  // One of these two.
  const std::unique_ptr<redis::testing::LiveRedis> single_{
      OnRedisCluster() ? nullptr : std::make_unique<redis::testing::LiveRedis>()};
  const std::unique_ptr<redis::testing::LiveCluster> cluster_{
      OnRedisCluster() ? std::make_unique<redis::testing::LiveCluster>() : nullptr};
  AgelessRedis ageless_{connection()};
  const redis::Keys keys_{{{1, "post"}, {2, "reel"}, {3, "comment"}}};
};

// The budget of a call, for a busy machine: the suites are about what is answered, not when.
inline constexpr absl::Duration kPatientBudget = absl::Seconds(5);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_CONTRACT_REDIS_HARNESS_H_
