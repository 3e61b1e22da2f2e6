#include "tests/contract/count_cache_contract.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/task.h"

namespace counter::testing {
namespace {

using Kind = CountLookup::Kind;

constexpr absl::Duration kTtl = absl::Seconds(2);
constexpr absl::Duration kLease = absl::Seconds(3);
constexpr Item kItem{ItemType{1}, 456};
constexpr Item kOther{ItemType{1}, 457};

// A cache and the calls on it in short.
struct Fixture {
  explicit Fixture(absl::Duration ttl = absl::Hours(1))
      : under_test(MakeCountCacheUnderTest(ttl)) {}

  CountLookup Get(const Item& item) {
    std::vector<CountLookup> lookups = BlockingWait(under_test->cache().Get({item}));
    REQUIRE(lookups.size() == 1);
    return lookups[0];
  }
  PeekedCount Peek() {
    const std::vector<PeekedCount> peeked = BlockingWait(under_test->peek().Peek({kItem}));
    REQUIRE(peeked.size() == 1);
    return peeked[0];
  }
  CountEntry Entry(int64_t count, int64_t version) {
    return {kItem, count, version, under_test->Now()};
  }
  bool Put(const CountEntry& entry, FillToken token = 0) {
    return BlockingWait(under_test->cache().Put({CountPut{entry, token}}));
  }
  FillToken Lease(const Item& item = kItem) {
    const CountLookup lookup = Get(item);
    REQUIRE(lookup.kind == Kind::kLease);
    return lookup.token;
  }
  // Requires that nothing is there.
  void Fill(int64_t count, int64_t version) {
    const FillToken token = Lease();
    Put(Entry(count, version), token);
    REQUIRE(Get(kItem).kind == Kind::kHit);
  }

  std::unique_ptr<CountCacheUnderTest> under_test;
};

// ---- Peeks -------------------------------------------------------------------------------------

TEST_CASE("count cache: a peek at a missing key or a lease finds nothing, and leaves no lease") {
  Fixture fixture;
  CHECK(fixture.Peek().kind == PeekedCount::Kind::kNothing);
  const FillToken token = fixture.Lease();
  CHECK(fixture.Peek().kind == PeekedCount::Kind::kNothing);
  CHECK(fixture.Get(kItem).kind == Kind::kMiss);
  fixture.Put(fixture.Entry(3, 100), token);
  CHECK(fixture.Get(kItem).entry.count == 3);
}

TEST_CASE(
    "count cache: a peek tells what a get would, for as long as that, and keeps nothing alive") {
  Fixture fixture(kTtl);
  const absl::Time read_at = absl::FromUnixMicros(absl::ToUnixMicros(fixture.under_test->Now()));
  const FillToken token = fixture.Lease();
  fixture.Put({kItem, 7, 100, read_at}, token);
  const PeekedCount peeked = fixture.Peek();
  CHECK(peeked.kind == PeekedCount::Kind::kValue);
  CHECK(peeked.entry.item == kItem);
  CHECK(peeked.entry.count == 7);
  CHECK(peeked.entry.version == 100);
  CHECK(peeked.entry.read_at == read_at);
  fixture.under_test->Elapse(kTtl * 0.6);
  fixture.Peek();
  fixture.under_test->Elapse(kTtl * 0.6);
  CHECK(fixture.Peek().kind == PeekedCount::Kind::kNothing);
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: a peek answers for each of its items") {
  Fixture fixture;
  fixture.Fill(1, 10);
  const std::vector<PeekedCount> peeked =
      BlockingWait(fixture.under_test->peek().Peek({kOther, kItem}));
  REQUIRE(peeked.size() == 2);
  CHECK(peeked[0].kind == PeekedCount::Kind::kNothing);
  CHECK(peeked[1].kind == PeekedCount::Kind::kValue);
}

// ---- Rule 1: leases ----------------------------------------------------------------------------

TEST_CASE("count cache: a get of a missing key is given a lease with a token") {
  Fixture fixture;
  const CountLookup lookup = fixture.Get(kItem);
  CHECK(lookup.kind == Kind::kLease);
  CHECK(lookup.token != 0);
}

TEST_CASE("count cache: while a lease stands everyone else misses") {
  Fixture fixture;
  fixture.Lease();
  CHECK(fixture.Get(kItem).kind == Kind::kMiss);
  CHECK(fixture.Get(kItem).kind == Kind::kMiss);
  CHECK(fixture.Get(kOther).kind == Kind::kLease);
}

TEST_CASE("count cache: a lease ends after 3 s, however often it is asked for") {
  Fixture fixture;
  const FillToken first = fixture.Lease();
  fixture.under_test->Elapse(kLease * 0.7);
  CHECK(fixture.Get(kItem).kind == Kind::kMiss);
  CHECK(fixture.Put(fixture.Entry(1, 1)));
  fixture.under_test->Elapse(kLease * 0.4);
  const CountLookup lookup = fixture.Get(kItem);
  CHECK(lookup.kind == Kind::kLease);
  CHECK(lookup.token != first);
}

TEST_CASE("count cache: every lease of a key has a token of its own") {
  Fixture fixture;
  std::set<FillToken> tokens;
  for (int i = 0; i < 100; ++i) {
    tokens.insert(fixture.Lease());
    fixture.under_test->Evict(kItem);
  }
  CHECK(tokens.size() == 100);
}

TEST_CASE("count cache: lookup i is of item i") {
  Fixture fixture;
  fixture.Fill(7, 1);
  std::vector<CountLookup> lookups =
      BlockingWait(fixture.under_test->cache().Get({kOther, kItem, {ItemType{2}, kItem.id}}));
  REQUIRE(lookups.size() == 3);
  CHECK(lookups[0].kind == Kind::kLease);
  CHECK(lookups[1].kind == Kind::kHit);
  CHECK(lookups[1].entry.item == kItem);
  CHECK(lookups[1].entry.count == 7);
  CHECK(lookups[2].kind == Kind::kLease);
  CHECK(BlockingWait(fixture.under_test->cache().Get({})).empty());
}

TEST_CASE("count cache: what is evicted is gone, a value and a lease") {
  Fixture fixture;
  fixture.Fill(7, 1);
  fixture.under_test->cache().Evict({kItem, kOther});
  const FillToken token = fixture.Lease();
  fixture.under_test->cache().Evict({kItem});
  // The fill of a lease that has gone stores nothing.
  CHECK(fixture.Put(fixture.Entry(8, 2), token));
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: a value lives for no longer than its put allows") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  CountPut put = {fixture.Entry(7, 1), token};
  put.life_max = absl::Seconds(1);
  CHECK(BlockingWait(fixture.under_test->cache().Put({put})));
  CHECK(fixture.Get(kItem).kind == Kind::kHit);
  fixture.under_test->Elapse(absl::Milliseconds(1100));
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: what is put over a count that must not stay does not make it stay") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  CountPut put = {fixture.Entry(7, 1), token};
  put.life_max = absl::Seconds(1);
  CHECK(BlockingWait(fixture.under_test->cache().Put({put})));
  // As it is seen again, and as it has changed: both may lack a write that the first one lacks.
  fixture.Put(fixture.Entry(7, 1));
  fixture.Put(fixture.Entry(8, 2));
  CHECK(fixture.Get(kItem).entry.count == 8);
  fixture.under_test->Elapse(absl::Milliseconds(1100));
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

// ---- Rules 2 and 4: fills ----------------------------------------------------------------------

TEST_CASE("count cache: a fill is what later gets are answered with") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  const CountEntry entry = fixture.Entry(12, 1'700'000'000'123'456);
  CHECK(fixture.Put(entry, token));
  const CountLookup lookup = fixture.Get(kItem);
  REQUIRE(lookup.kind == Kind::kHit);
  CHECK(lookup.entry.item == kItem);
  CHECK(lookup.entry.count == 12);
  CHECK(lookup.entry.version == 1'700'000'000'123'456);
  CHECK(lookup.entry.read_at <= entry.read_at);
  CHECK(lookup.entry.read_at > entry.read_at - absl::Milliseconds(1));
}

TEST_CASE("count cache: D15: a count of zero is cached like any other, of unknown items too") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  fixture.Put(fixture.Entry(0, 0), token);
  const CountLookup lookup = fixture.Get(kItem);
  REQUIRE(lookup.kind == Kind::kHit);
  CHECK(lookup.entry.count == 0);
  CHECK(lookup.entry.version == 0);
}

TEST_CASE("count cache: the largest counts and versions are told apart") {
  Fixture fixture;
  constexpr int64_t kMax = 9'223'372'036'854'775'807;
  fixture.Fill(kMax - 1, kMax - 1);  // As doubles the two would be equal.
  fixture.Put(fixture.Entry(kMax, kMax));
  CHECK(fixture.Get(kItem).entry.version == kMax);
  CHECK(fixture.Get(kItem).entry.count == kMax);
  fixture.Put(fixture.Entry(5, kMax - 1));
  CHECK(fixture.Get(kItem).entry.version == kMax);
}

TEST_CASE("count cache: a fill with the minimum version itself is stored") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  fixture.Put(fixture.Entry(5, 10));
  fixture.Put(fixture.Entry(5, 10), token);
  REQUIRE(fixture.Get(kItem).kind == Kind::kHit);
  CHECK(fixture.Get(kItem).entry.version == 10);
}

TEST_CASE("count cache: D4: a fill that read before a write-through is dropped, with its lease") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  const CountEntry read_before = fixture.Entry(5, 10);
  fixture.Put(fixture.Entry(6, 11));
  CHECK(fixture.Put(read_before, token));
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: D4: the minimum of a lease never falls") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  fixture.Put(fixture.Entry(7, 12));
  fixture.Put(fixture.Entry(6, 11));
  fixture.Put(fixture.Entry(6, 11), token);
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: D4: a fill whose lease was lost stores nothing") {
  Fixture fixture;
  const FillToken lost = fixture.Lease();
  fixture.under_test->Evict(kItem);
  CHECK(fixture.Put(fixture.Entry(5, 10), lost));
  const FillToken second = fixture.Lease();
  CHECK(second != lost);
  fixture.Put(fixture.Entry(5, 10), lost);
  CHECK(fixture.Get(kItem).kind == Kind::kMiss);
}

TEST_CASE("count cache: D4: a fill whose lease has ended stores nothing") {
  Fixture fixture;
  const FillToken late = fixture.Lease();
  fixture.under_test->Elapse(kLease * 1.1);
  fixture.Put(fixture.Entry(5, 10), late);
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: a fill with a foreign token raises the minimum as a write-through does") {
  Fixture fixture;
  const FillToken lost = fixture.Lease();
  fixture.under_test->Evict(kItem);
  const FillToken token = fixture.Lease();
  fixture.Put(fixture.Entry(6, 11), lost);
  fixture.Put(fixture.Entry(5, 10), token);
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: D4: a late fill does not replace a newer value") {
  Fixture fixture;
  const FillToken lost = fixture.Lease();
  fixture.under_test->Evict(kItem);
  fixture.Fill(6, 11);
  fixture.Put(fixture.Entry(5, 10), lost);
  CHECK(fixture.Get(kItem).entry.version == 11);
  CHECK(fixture.Get(kItem).entry.count == 6);
}

// ---- Rules 3 and 4: write-through --------------------------------------------------------------

TEST_CASE("count cache: D1, D3: a write-through of a missing key creates nothing") {
  Fixture fixture;
  CHECK(fixture.Put(fixture.Entry(1, 10)));
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: D1: a write-through of an expired key creates nothing") {
  Fixture fixture(kTtl);
  fixture.Fill(1'000'000, 10);
  fixture.under_test->Elapse(kTtl * 1.15);
  CHECK(fixture.Put(fixture.Entry(1'000'001, 11)));
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: a write-through on a lease does not end it and is not shown") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  CHECK(fixture.Put(fixture.Entry(6, 11)));
  CHECK(fixture.Get(kItem).kind == Kind::kMiss);
  fixture.Put(fixture.Entry(7, 12), token);
  CHECK(fixture.Get(kItem).entry.count == 7);
}

TEST_CASE("count cache: a newer version replaces a value") {
  Fixture fixture;
  fixture.Fill(5, 10);
  CHECK(fixture.Put(fixture.Entry(4, 11)));
  CHECK(fixture.Get(kItem).entry.count == 4);
  CHECK(fixture.Get(kItem).entry.version == 11);
}

TEST_CASE("count cache: an older version is acknowledged and changes nothing") {
  Fixture fixture;
  fixture.Fill(5, 10);
  CHECK(fixture.Put(fixture.Entry(4, 9)));
  CHECK(fixture.Get(kItem).entry.count == 5);
  CHECK(fixture.Get(kItem).entry.version == 10);
}

TEST_CASE("count cache: an equal version moves read_at forward, never back") {
  Fixture fixture;
  CountEntry entry = fixture.Entry(5, 10);
  fixture.Put(entry, fixture.Lease());
  entry.read_at -= absl::Seconds(1);
  fixture.Put(entry);
  const absl::Time first = fixture.Get(kItem).entry.read_at;
  CHECK(first > entry.read_at + absl::Milliseconds(900));
  fixture.under_test->Elapse(absl::Milliseconds(100));
  fixture.Put(fixture.Entry(5, 10));
  CHECK(fixture.Get(kItem).entry.read_at >= first + absl::Milliseconds(99));
}

TEST_CASE("count cache: entries of one item in one put apply in order") {
  Fixture fixture;
  const FillToken token = fixture.Lease();
  CHECK(BlockingWait(fixture.under_test->cache().Put(
      {{fixture.Entry(5, 10), token}, {fixture.Entry(6, 11), 0}, {fixture.Entry(5, 10), 0}})));
  REQUIRE(fixture.Get(kItem).kind == Kind::kHit);
  CHECK(fixture.Get(kItem).entry.count == 6);
}

TEST_CASE("count cache: a put of many items puts each, and one of none is acknowledged") {
  Fixture fixture;
  std::vector<Item> items;
  for (int64_t id = 1; id <= 1000; ++id) items.push_back({ItemType{3}, id});
  std::vector<CountLookup> leases = BlockingWait(fixture.under_test->cache().Get(items));
  std::vector<CountPut> puts;
  for (size_t i = 0; i < items.size(); ++i) {
    const CountEntry entry{items[i], items[i].id * 2, items[i].id, fixture.under_test->Now()};
    puts.push_back({entry, leases[i].token});
  }
  CHECK(BlockingWait(fixture.under_test->cache().Put(puts)));
  std::vector<CountLookup> lookups = BlockingWait(fixture.under_test->cache().Get(items));
  const auto is_right = [](const CountLookup& lookup) {
    return lookup.kind == Kind::kHit && lookup.entry.count == 2 * lookup.entry.item.id;
  };
  CHECK(std::all_of(lookups.begin(), lookups.end(), is_right));
  CHECK(BlockingWait(fixture.under_test->cache().Put({})));
}

// ---- Life --------------------------------------------------------------------------------------

TEST_CASE("count cache: a value lives for its time to live, give or take 10 %") {
  Fixture fixture(kTtl);
  fixture.Fill(5, 10);
  fixture.under_test->Elapse(kTtl * 0.85);
  CHECK(fixture.Get(kItem).kind == Kind::kHit);
  fixture.under_test->Elapse(kTtl * 0.3);
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: a newer or an equal version begins a value's life anew") {
  const int64_t version = GENERATE(10, 11);
  Fixture fixture(kTtl);
  fixture.Fill(5, 10);
  fixture.under_test->Elapse(kTtl * 0.6);
  fixture.Put(fixture.Entry(5, version));
  fixture.under_test->Elapse(kTtl * 0.6);
  CHECK(fixture.Get(kItem).kind == Kind::kHit);
}

TEST_CASE("count cache: neither a look nor an older put makes a value live longer") {
  Fixture fixture(kTtl);
  fixture.Fill(5, 10);
  fixture.under_test->Elapse(kTtl * 0.6);
  CHECK(fixture.Get(kItem).kind == Kind::kHit);
  fixture.Put(fixture.Entry(4, 9));
  fixture.under_test->Elapse(kTtl * 0.55);
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: a value that was long on its way lives no longer than from its read") {
  Fixture fixture(kTtl);
  const FillToken token = fixture.Lease();
  CountEntry entry = fixture.Entry(5, 10);
  entry.read_at -= kTtl * 0.7;
  fixture.Put(entry, token);
  fixture.under_test->Elapse(kTtl * 0.45);
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

TEST_CASE("count cache: an evicted value is missing") {
  Fixture fixture;
  fixture.Fill(5, 10);
  fixture.under_test->Evict(kItem);
  fixture.Put(fixture.Entry(6, 11));
  CHECK(fixture.Get(kItem).kind == Kind::kLease);
}

}  // namespace
}  // namespace counter::testing
