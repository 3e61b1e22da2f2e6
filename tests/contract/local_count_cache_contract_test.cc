// LocalCountCache under the contract suite of CountCache.
#include "base/clock.h"
#include "cache/local/local_count_cache.h"
#include "tests/contract/count_cache_contract.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

class LocalUnderTest final : public CountCacheUnderTest {
 public:
  explicit LocalUnderTest(absl::Duration ttl) : cache_(clock_, Options(ttl)) {}

  CountCache& cache() override { return cache_; }
  CountPeek& peek() override { return cache_; }
  absl::Time Now() override { return clock_.WallNow(); }
  void Elapse(absl::Duration duration) override { clock_.Advance(duration); }
  void Evict(const Item& item) override { cache_.Forget(item); }

 private:
  static LocalCountCacheOptions Options(absl::Duration ttl) {
    LocalCountCacheOptions options;
    options.ttl = ttl;
    options.seed = TestSeed();
    return options;
  }

  ManualClock clock_;
  LocalCountCache cache_;
};

}  // namespace

std::unique_ptr<CountCacheUnderTest> MakeCountCacheUnderTest(absl::Duration ttl) {
  return std::make_unique<LocalUnderTest>(ttl);
}

}  // namespace counter::testing
