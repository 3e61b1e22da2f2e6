// How much of a realistic mix of reads the cache answers: popularity by Zipf's law with exponent 1,
// nearly half of the items never liked, some writes, batches as a timeline asks for them.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "cache/redis/redis_caches.h"
#include "tests/cache/redis/live_redis.h"

namespace counter::redis::testing {
namespace {

using counter::testing::LongForm;
using counter::testing::Sized;
using counter::testing::TestSeed;

// Ranks from 0, rank r with a chance in proportion to 1 / (r + 1).
class Zipf {
 public:
  explicit Zipf(size_t ranks) : sums_(ranks) {
    double sum = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      sums_[rank] = sum += 1.0 / static_cast<double>(rank + 1);
    }
  }
  size_t Draw(std::mt19937_64& random) const {
    std::uniform_real_distribution<double> uniform(0, sums_.back());
    const auto found = std::lower_bound(sums_.begin(), sums_.end(), uniform(random));
    return std::min(static_cast<size_t>(found - sums_.begin()), sums_.size() - 1);
  }

 private:
  std::vector<double> sums_;
};

class Mix {
 public:
  explicit Mix(RedisCaches& caches, size_t items)
      : caches_(caches), zipf_(items), counts_(items), versions_(items) {
    for (size_t i = 0; i < items; ++i) {
      const bool is_zero = random_() % 100 < 45;
      counts_[i] = is_zero ? 0 : static_cast<int64_t>(1 + random_() % 1000);
      versions_[i] = is_zero ? 0 : 1;
    }
  }

  void ReadBatch() {
    std::vector<Item> items;
    while (items.size() < kBatch) items.push_back(ItemAt(zipf_.Draw(random_)));
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    const auto lookups = BlockingWait(caches_.counts().Get(items));
    std::vector<CountPut> fills;
    for (size_t i = 0; i < items.size(); ++i) {
      ++reads;
      if (lookups[i].kind == CountLookup::Kind::kHit) {
        ++hits;
        if (lookups[i].entry.count != counts_[IndexOf(items[i])]) ++wrong;
      } else if (lookups[i].kind == CountLookup::Kind::kLease) {
        fills.push_back({EntryOf(items[i]), lookups[i].token});
      }
    }
    BlockingWait(caches_.counts().Put(fills));
  }
  void Write() {
    const size_t index = zipf_.Draw(random_);
    ++counts_[index];
    ++versions_[index];
    BlockingWait(caches_.counts().Put({{EntryOf(ItemAt(index)), 0}}));
  }

  int64_t reads = 0;
  int64_t hits = 0;
  int64_t wrong = 0;

 private:
  static constexpr size_t kBatch = 100;

  static Item ItemAt(size_t index) { return {ItemType{1}, static_cast<int64_t>(index) + 1}; }
  static size_t IndexOf(const Item& item) { return static_cast<size_t>(item.id - 1); }
  CountEntry EntryOf(const Item& item) const {
    const size_t index = IndexOf(item);
    return {item, counts_[index], versions_[index], Clock::System().WallNow()};
  }

  RedisCaches& caches_;
  std::mt19937_64 random_{TestSeed()};
  const Zipf zipf_;
  std::vector<int64_t> counts_;
  std::vector<int64_t> versions_;
};

TEST_CASE("hit ratio: after warm-up the cache answers 95 % of a realistic mix") {
  const size_t items = Sized<size_t>(10'000, 1'000'000);
  // So many batches of 100 draw all but 5 % of the popularity: about 10 draws an item.
  const auto warm_up = static_cast<int64_t>(items / 8);
  auto server = counter::testing::RedisServer::Start();
  REQUIRE(server.ok());
  RedisCachesOptions options;
  options.connection = OptionsFor(**server);
  options.type_names = {{1, "post"}};
  options.counts.budget = absl::Seconds(5);  // Not the speed of this machine is tested.
  RedisCaches caches(options);
  caches.Start();
  REQUIRE(BecomesUsable(caches.connection()));

  Mix mix(caches, items);
  const auto run = [&](int64_t batches) {
    for (int64_t i = 0; i < batches; ++i) {
      mix.ReadBatch();
      mix.Write();
    }
  };
  run(warm_up);
  mix.reads = mix.hits = 0;
  run(200);
  const double ratio = static_cast<double>(mix.hits) / static_cast<double>(mix.reads);
  INFO("hit ratio " << ratio);
  if (LongForm()) WARN("hit ratio " << ratio << " of " << mix.reads << " reads");
  CHECK(ratio >= 0.95);
  CHECK(mix.wrong == 0);
  // The metric counts the same.
  const RedisCountCacheStats stats = caches.counts().Stats();
  CHECK(stats.hits + stats.leases + stats.misses > mix.reads);
  CHECK(stats.puts_lost == 0);
  caches.Stop();
}

}  // namespace
}  // namespace counter::redis::testing
