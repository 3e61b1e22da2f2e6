// What is lost between store and cache is made good.
#include "server/upkeep/cache_upkeep.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace counter {
namespace {

constexpr Item kA{ItemType{1}, 1};
constexpr Item kB{ItemType{1}, 2};

// Of a store, what the upkeep uses.
class FakeStore final : public LikeStore, public CacheOutbox, public StaleOutbox {
 public:
  explicit FakeStore(const Clock& clock) : clock_(clock) {}

  Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead> items, Consistency consistency,
                                          CallLimits) override {
    if (fails || consistency != Consistency::kStrong) {
      co_return MakeError(ErrorReason::kStoreUnavailable, "gone");
    }
    CountsRead read;
    read.as_of = clock_.WallNow();
    for (const ItemRead& item : items) read.counts.push_back(counts[item.item]);
    co_return read;
  }
  Task<absl::StatusOr<std::vector<StaleRow>>> TakeStale(absl::Duration min_age, int rows_max,
                                                        CallLimits) override {
    if (fails) co_return MakeError(ErrorReason::kStoreUnavailable, "gone");
    CHECK(min_age == absl::Seconds(2));
    std::vector<StaleRow> taken = stale;
    taken.resize(std::min(taken.size(), static_cast<size_t>(rows_max)));
    co_return taken;
  }
  Task<absl::Status> DeleteStale(std::vector<int64_t> ids, CallLimits) override {
    for (const int64_t id : ids) {
      std::erase_if(stale, [&](const StaleRow& row) { return row.id == id; });
    }
    co_return absl::OkStatus();
  }
  void Acknowledge(const OutboxRow& row) override { acknowledged.push_back(row.id); }

  void SetListener(OutboxListener*) override {}
  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation>, CallLimits) override {
    co_return std::vector<absl::StatusOr<Applied>>();
  }
  Task<absl::StatusOr<PairsRead>> HasLiked(UserId, std::vector<ItemRead>, Consistency,
                                           CallLimits) override {
    co_return PairsRead{};
  }
  Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery, CallLimits) override {
    co_return LikesPage{};
  }
  Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery, CallLimits) override {
    co_return LikersPage{};
  }
  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item>, int, CallLimits) override {
    co_return AuditPage{};
  }
  std::string Timeline() const override { return "1"; }
  std::optional<Failover> LastFailover() const override { return failover; }
  absl::Status Health() const override { return absl::OkStatus(); }
  void Stop() override {}

  bool fails = false;
  std::map<Item, ItemCount> counts;
  std::vector<StaleRow> stale;
  std::vector<int64_t> acknowledged;
  std::optional<Failover> failover;

 private:
  const Clock& clock_;
};

class FakeCache final : public CountCache {
 public:
  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override {
    std::vector<CountLookup> lookups(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      const auto known = values.find(items[i]);
      if (known == values.end()) continue;
      lookups[i].kind = CountLookup::Kind::kHit;
      lookups[i].entry = known->second;
    }
    co_return lookups;
  }
  void Evict(const std::vector<Item>& items) override {
    for (const Item& item : items) values.erase(item);
  }
  Task<bool> Put(std::vector<CountPut> puts) override {
    if (fails) co_return false;
    taken.insert(taken.end(), puts.begin(), puts.end());
    co_return true;
  }

  bool fails = false;
  std::vector<CountPut> taken;
  std::map<Item, CountEntry> values;
};

struct Fixture {
  bool Round() { return BlockingWait(upkeep.Round()); }
  bool Put(const Item& item, int64_t version) {
    return BlockingWait(upkeep.Put({{{item, 1, version, clock.WallNow()}, 0}}));
  }

  ManualClock clock;
  FakeStore store{clock};
  FakeCache cache;
  CacheUpkeep upkeep{{store, cache, &store, &store, clock}};
};
using Ids = std::vector<int64_t>;

TEST_CASE("cache upkeep: a row is acknowledged when the puts of its items were") {
  Fixture fixture;
  fixture.upkeep.BatchCommitted({7, 0}, {{kA, 1, 10}, {kB, 1, 11}});
  CHECK(fixture.Put(kA, 10));
  CHECK(fixture.store.acknowledged.empty());
  CHECK(fixture.Put(kB, 11));
  CHECK(fixture.store.acknowledged == Ids{7});
  CHECK(fixture.cache.taken.size() == 2);
}

TEST_CASE("cache upkeep: a put that the cache did not take acknowledges nothing") {
  Fixture fixture;
  fixture.upkeep.BatchCommitted({7, 0}, {{kA, 1, 10}});
  fixture.cache.fails = true;
  CHECK_FALSE(fixture.Put(kA, 10));
  CHECK(fixture.store.acknowledged.empty());
}

TEST_CASE("cache upkeep: a write-through that the cache did not take is made good, a fill is not") {
  Fixture fixture;
  fixture.store.counts[kA] = {5, 50, ReadSource::kPrimary};
  fixture.cache.fails = true;
  CHECK_FALSE(BlockingWait(fixture.upkeep.Put(
      {{{kA, 1, 10, fixture.clock.WallNow()}, 0}, {{kB, 1, 10, fixture.clock.WallNow()}, 77}})));
  CHECK_FALSE(fixture.Round());
  fixture.cache.fails = false;
  CHECK(fixture.Round());
  REQUIRE(fixture.cache.taken.size() == 1);
  CHECK(fixture.cache.taken[0].entry.item == kA);
  CHECK(fixture.cache.taken[0].entry.version == 50);
}

TEST_CASE("cache upkeep: rule 5: a row that was left behind is read again, put and deleted") {
  Fixture fixture;
  fixture.store.counts[kA] = {5, 50, ReadSource::kPrimary};
  fixture.store.stale = {{3, {kA, kB}}, {4, {kA}}};
  CHECK(fixture.Round());
  REQUIRE(fixture.cache.taken.size() == 2);
  CHECK(fixture.cache.taken[0].entry.version == 50);
  CHECK(fixture.cache.taken[0].token == 0);
  CHECK(fixture.store.stale.empty());
  CHECK(fixture.upkeep.Stats().rows_swept == 2);
}

TEST_CASE("cache upkeep: rule 5: a row stays until the cache has taken its items") {
  Fixture fixture;
  fixture.store.stale = {{3, {kA}}};
  const bool store_fails = GENERATE(true, false);
  (store_fails ? fixture.store.fails : fixture.cache.fails) = true;
  CHECK_FALSE(fixture.Round());
  CHECK(fixture.store.stale.size() == 1);
  fixture.store.fails = fixture.cache.fails = false;
  CHECK(fixture.Round());
  CHECK(fixture.store.stale.empty());
}

TEST_CASE("cache upkeep: rule 5: a backlog of many takings is made good in one round") {
  Fixture fixture;
  const int rows = 3 * CacheUpkeepOptions().sweep_rows_max + 1;
  for (int64_t id = 1; id <= rows; ++id) fixture.store.stale.push_back({id, {kA}});
  CHECK(fixture.Round());
  CHECK(fixture.store.stale.empty());
  CHECK(fixture.upkeep.Stats().rows_swept == rows);
}

TEST_CASE("cache upkeep: after a failover a hit that may be lost is evicted, an older one stays") {
  Fixture fixture;
  const absl::Time now = fixture.clock.WallNow();
  const auto version_of = [](absl::Time time) { return absl::ToUnixMicros(time); };
  fixture.cache.values[kA] = {kA, 7, version_of(now - absl::Seconds(1)), now};
  fixture.cache.values[kB] = {kB, 8, version_of(now - absl::Hours(1)), now};
  const auto get = [&] { return BlockingWait(fixture.upkeep.Get({kA, kB})); };
  CHECK(get()[0].kind == CountLookup::Kind::kHit);
  fixture.store.failover = Failover{now + absl::Seconds(1), now - absl::Seconds(2)};
  const std::vector<CountLookup> lookups = get();
  CHECK(lookups[0].kind != CountLookup::Kind::kHit);
  CHECK(lookups[1].kind == CountLookup::Kind::kHit);
  CHECK(lookups[1].entry.count == 8);
  CHECK(fixture.cache.values.count(kA) == 0);
  CHECK(fixture.cache.values.count(kB) == 1);
  CHECK(fixture.upkeep.Stats().items_doubted == 1);
}

TEST_CASE("cache upkeep: rule 6: what is to be put again is tried until the cache has taken it") {
  Fixture fixture;
  fixture.store.counts[kB] = {8, 80, ReadSource::kPrimary};
  fixture.upkeep.PutAgain({kB, kB});
  fixture.cache.fails = true;
  CHECK_FALSE(fixture.Round());
  CHECK(fixture.upkeep.Stats().items_owed == 1);
  fixture.cache.fails = false;
  CHECK(fixture.Round());
  REQUIRE(fixture.cache.taken.size() == 1);
  CHECK(fixture.cache.taken[0].entry.count == 8);
  CHECK(fixture.upkeep.Stats().items_owed == 0);
  CHECK(fixture.Round());
  CHECK(fixture.cache.taken.size() == 1);
}

TEST_CASE("cache upkeep: its thread begins a round when something is to be put again") {
  Fixture fixture;
  CacheUpkeepOptions options;
  options.period = absl::Hours(1);
  CacheUpkeep upkeep({fixture.store, fixture.cache, nullptr, nullptr, fixture.clock}, options);
  upkeep.Start();
  upkeep.PutAgain({kA});
  const MonotonicTime deadline = Clock::System().MonotonicNow() + absl::Seconds(10);
  while (upkeep.Stats().items_put_again == 0 && Clock::System().MonotonicNow() < deadline) {
    std::this_thread::yield();
  }
  upkeep.Stop();
  CHECK(fixture.cache.taken.size() == 1);
}

}  // namespace
}  // namespace counter
