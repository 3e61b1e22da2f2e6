// K25: the part of the contract suite of CountCache that plays random interleavings.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/task.h"
#include "tests/contract/count_cache_contract.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// One item of a simulated store and what is under way for it. Everything sent may arrive late, in
// any order or (a write-through, a fill) never; what never arrives is made good by the sweep.
class SimulatedItem {
 public:
  SimulatedItem(CountCache& cache, Item item, absl::Time now)
      : cache_(cache), item_(item), now_(now) {}

  void Commit(int64_t delta) {
    count_ = std::max<int64_t>(count_ + delta, 0);
    ++version_;
    sent_.push_back({Stored(), 0});
  }
  void Lookup() {
    const CountLookup lookup = BlockingWait(cache_.Get({item_}))[0];
    Observe(lookup);
    if (lookup.kind == CountLookup::Kind::kLease) leases_.push_back(lookup.token);
  }
  // A filler reads the primary store; its put is on its way.
  void ReadForFill(size_t random) {
    if (leases_.empty()) return;
    const size_t chosen = random % leases_.size();
    sent_.push_back({Stored(), leases_[chosen]});
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  void Deliver(size_t random) {
    if (sent_.empty()) return;
    const CountPut put = TakeSent(random);
    if (!BlockingWait(cache_.Put({put}))) acknowledged_all_ = false;
    // A fill tells of a read: only a write-through is waited for by a writer.
    if (put.token == 0) acknowledged_ = std::max(acknowledged_, put.entry.version);
  }
  // The server dies with a put; the outbox remembers that it did.
  void Lose(size_t random) {
    if (!sent_.empty() && TakeSent(random).token == 0) needs_sweep_ = true;
  }
  // What is at rest: everything sent has arrived, the sweep has run.
  void ComeToRest() {
    while (!sent_.empty()) Deliver(0);
    if (needs_sweep_ && !BlockingWait(cache_.Put({{Stored(), 0}}))) acknowledged_all_ = false;
  }
  // The item is read as a client would: a hit, or a fill and then a hit.
  void ReadAtRest() {
    CountLookup lookup = BlockingWait(cache_.Get({item_}))[0];
    Observe(lookup);
    if (lookup.kind == CountLookup::Kind::kHit && !Equals(lookup.entry, Stored()))
      stale_at_rest_ = true;
  }

  // Nothing that was seen broke a promise.
  bool never_went_back() const { return !went_back_; }
  bool shows_acknowledged_writes() const { return !missed_acknowledged_; }
  bool tells_stored_counts() const { return !told_wrong_count_; }
  bool equals_store_at_rest() const { return !stale_at_rest_; }
  bool acknowledged_all() const { return acknowledged_all_; }
  int64_t hits() const { return hits_; }

 private:
  CountEntry Stored() {
    history_[version_] = count_;
    return {item_, count_, version_, now_};
  }
  CountPut TakeSent(size_t random) {
    const size_t chosen = random % sent_.size();
    const CountPut put = sent_[chosen];
    sent_.erase(sent_.begin() + static_cast<std::ptrdiff_t>(chosen));
    return put;
  }
  static bool Equals(const CountEntry& a, const CountEntry& b) {
    return a.count == b.count && a.version == b.version;
  }
  void Observe(const CountLookup& lookup) {
    if (lookup.kind != CountLookup::Kind::kHit) return;
    ++hits_;
    if (lookup.entry.version < seen_) went_back_ = true;
    if (lookup.entry.version < acknowledged_) missed_acknowledged_ = true;
    auto stored = history_.find(lookup.entry.version);
    if (stored == history_.end() || stored->second != lookup.entry.count) told_wrong_count_ = true;
    seen_ = std::max(seen_, lookup.entry.version);
  }

  CountCache& cache_;
  const Item item_;
  const absl::Time now_;
  int64_t count_ = 0;
  int64_t version_ = 0;
  std::map<int64_t, int64_t> history_;  // Count by version.
  std::vector<FillToken> leases_;       // Whose holders have not read the store yet.
  std::vector<CountPut> sent_;
  bool needs_sweep_ = false;
  int64_t seen_ = -1;
  int64_t acknowledged_ = -1;
  int64_t hits_ = 0;
  bool went_back_ = false;
  bool missed_acknowledged_ = false;
  bool told_wrong_count_ = false;
  bool stale_at_rest_ = false;
  bool acknowledged_all_ = true;
};

TEST_CASE("count cache: K25, D4: after any interleaving the cache holds what the store holds") {
  constexpr int kItemsEach = 3;
  constexpr int kSteps = 40;
  const std::unique_ptr<CountCacheUnderTest> under_test = MakeCountCacheUnderTest(absl::Hours(1));
  const int interleavings = under_test->is_remote() ? Sized(300, 10'000) : 10'000;
  const uint64_t seed = TestSeed();
  std::mt19937_64 random(seed);
  int64_t hits = 0;
  for (int run = 0; run < interleavings; ++run) {
    std::vector<SimulatedItem> items;
    std::vector<Item> keys;
    for (int i = 0; i < kItemsEach; ++i) {
      keys.push_back({ItemType{1}, 1 + run * kItemsEach + i});
      items.emplace_back(under_test->cache(), keys.back(), under_test->Now());
    }
    for (int step = 0; step < kSteps; ++step) {
      const size_t chosen = random() % kItemsEach;
      SimulatedItem& item = items[chosen];
      const uint64_t what = random() % 100;
      if (what < 18)
        item.Commit(random() % 2 == 0 ? 1 : -1);
      else if (what < 48)
        item.Lookup();
      else if (what < 65)
        item.ReadForFill(random());
      else if (what < 90)
        item.Deliver(random());
      else if (what < 93)
        item.Lose(random());
      else
        under_test->Evict(keys[chosen]);
    }
    for (SimulatedItem& item : items) {
      item.ComeToRest();
      item.ReadAtRest();
      INFO("seed " << seed << ", interleaving " << run);
      REQUIRE(item.never_went_back());
      REQUIRE(item.tells_stored_counts());
      REQUIRE(item.equals_store_at_rest());
      hits += item.hits();
      if (item.acknowledged_all()) REQUIRE(item.shows_acknowledged_writes());
    }
  }
  // The walk went where something can go wrong.
  CHECK(hits > interleavings);
}

}  // namespace
}  // namespace counter::testing
