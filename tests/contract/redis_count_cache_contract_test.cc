// RedisCountCache on a real Redis 7 under the contract suite of CountCache.
#include "cache/redis/redis_count_cache.h"
#include "tests/contract/count_cache_contract.h"
#include "tests/contract/redis_harness.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

class OnRedis final : public CountCacheUnderTest {
 public:
  explicit OnRedis(absl::Duration ttl)
      : cache_(redis_.connection(), redis_.keys(), redis_.clock(), Options(ttl)) {}

  CountCache& cache() override { return cache_; }
  CountPeek& peek() override { return cache_; }
  absl::Time Now() override { return redis_.Now(); }
  void Elapse(absl::Duration duration) override { redis_.Elapse(duration); }
  void Evict(const Item& item) override { redis_.Ask({"DEL", redis_.keys().Count(item)}); }
  bool is_remote() const override { return true; }

 private:
  static redis::RedisCountCacheOptions Options(absl::Duration ttl) {
    redis::RedisCountCacheOptions options;
    options.ttl = ttl;
    options.budget = kPatientBudget;
    options.seed = TestSeed() | 1U;
    return options;
  }

  RedisHarness redis_;
  redis::RedisCountCache cache_;
};

}  // namespace

std::unique_ptr<CountCacheUnderTest> MakeCountCacheUnderTest(absl::Duration ttl) {
  return std::make_unique<OnRedis>(ttl);
}

}  // namespace counter::testing
