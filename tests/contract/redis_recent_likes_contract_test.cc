// RedisRecentLikes on a real Redis 7 under the contract suite of RecentLikes.
#include "cache/redis/redis_recent_likes.h"
#include "tests/contract/recent_likes_contract.h"
#include "tests/contract/redis_harness.h"

namespace counter::testing {
namespace {

class OnRedis final : public RecentLikesUnderTest {
 public:
  explicit OnRedis(const RecentLikesSettings& settings)
      : likes_(redis_.ageless(), redis_.keys(), redis_.clock(), Options(settings)) {}

  RecentLikes& likes() override { return likes_; }
  absl::Time Now() override { return redis_.Now(); }
  void Elapse(absl::Duration duration) override { redis_.Elapse(duration); }
  void Evict(UserId user) override {
    redis_.Ask({"DEL", redis::Keys::RecentLikes(user), redis::Keys::RecentUnlikes(user),
                redis::Keys::RecentVersions(user)});
  }

 private:
  static redis::RedisRecentLikesOptions Options(const RecentLikesSettings& settings) {
    redis::RedisRecentLikesOptions options;
    options.ttl = settings.ttl;
    options.fresh_for = settings.fresh_for;
    options.trace_life = settings.trace_life;
    options.budget = kPatientBudget;
    return options;
  }

  RedisHarness redis_;
  redis::RedisRecentLikes likes_;
};

}  // namespace

std::unique_ptr<RecentLikesUnderTest> MakeRecentLikesUnderTest(
    const RecentLikesSettings& settings) {
  return std::make_unique<OnRedis>(settings);
}

}  // namespace counter::testing
