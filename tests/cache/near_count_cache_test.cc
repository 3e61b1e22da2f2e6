// NearCountCache in front of a real cache: what it answers itself, for how long, and that it never
// answers less than it has known.
#include "cache/near/near_count_cache.h"

#include <functional>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/clock.h"
#include "base/task.h"
#include "cache/local/local_count_cache.h"

namespace counter {
namespace {

using Kind = CountLookup::Kind;

constexpr absl::Duration kFresh = absl::Milliseconds(400);
constexpr absl::Duration kStale = absl::Milliseconds(600);

Item PostOf(int64_t id) { return {ItemType{1}, id}; }

// A far cache that counts what it was asked.
class CountingCache final : public CountCache {
 public:
  explicit CountingCache(const Clock& clock) : cache_(clock) {}
  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override {
    asked += static_cast<int>(items.size());
    Task<std::vector<CountLookup>> get = cache_.Get(std::move(items));
    std::vector<CountLookup> found = co_await std::move(get);
    if (on_answer) on_answer();
    co_return found;
  }
  void Evict(const std::vector<Item>& items) override { cache_.Evict(items); }
  Task<bool> Put(std::vector<CountPut> puts) override {
    Task<bool> put = cache_.Put(std::move(puts));
    const bool all = co_await std::move(put);
    co_return all;
  }
  void Forget(const Item& item) { cache_.Forget(item); }

  int asked = 0;
  std::function<void()> on_answer;  // Done while an answer is on its way.

 private:
  LocalCountCache cache_;
};

struct Caches {
  ManualClock clock;
  CountingCache far{clock};
  NearCountCache near{
      far, clock, {.fresh = kFresh, .stale = kStale, .entries_max = 3, .shards = 1}};

  CountEntry Entry(int64_t id, int64_t count, int64_t version) const {
    return {PostOf(id), count, version, clock.WallNow()};
  }
  // What any server knows once it has read the store.
  void FillFar(int64_t id, int64_t count, int64_t version) {
    const FillToken token = BlockingWait(far.Get({PostOf(id)}))[0].token;
    REQUIRE(token != 0);
    REQUIRE(BlockingWait(far.Put({{Entry(id, count, version), token}})));
    far.asked = 0;
  }
  // Another server's write.
  void WriteFar(int64_t id, int64_t count, int64_t version) {
    REQUIRE(BlockingWait(far.Put({{Entry(id, count, version), 0}})));
  }
  CountLookup Get(int64_t id) { return BlockingWait(near.Get({PostOf(id)}))[0]; }
};

TEST_CASE("a count is asked of the far cache once while it is fresh") {
  Caches caches;
  caches.FillFar(7, 5, 50);
  for (int i = 0; i < 3; ++i) {
    const CountLookup found = caches.Get(7);
    CHECK(found.kind == Kind::kHit);
    CHECK(found.entry.count == 5);
    CHECK(found.entry.version == 50);
  }
  CHECK(caches.far.asked == 1);
  CHECK(caches.near.stats().hits == 2);
  CHECK(caches.near.stats().misses == 1);
}

TEST_CASE("another server's write is seen when the count is no longer fresh") {
  Caches caches;
  caches.FillFar(7, 5, 50);
  caches.Get(7);
  caches.WriteFar(7, 6, 60);
  caches.clock.Advance(kFresh - absl::Nanoseconds(1));
  CHECK(caches.Get(7).entry.count == 5);
  caches.clock.Advance(absl::Nanoseconds(1));
  CHECK(caches.Get(7).entry.count == 6);
}

TEST_CASE("when a count is no longer fresh one caller asks and the others are answered") {
  Caches caches;
  caches.FillFar(7, 5, 50);
  caches.Get(7);
  caches.clock.Advance(kFresh);
  caches.far.asked = 0;
  // The one that asks, before its answer came: the far cache has forgotten, and says so.
  caches.far.Forget(PostOf(7));
  CHECK(caches.Get(7).kind == Kind::kLease);
  CHECK(caches.Get(7).kind == Kind::kHit);
  CHECK(caches.Get(7).entry.version == 50);
  CHECK(caches.far.asked == 1);
}

TEST_CASE("nothing is answered from here once it is stale, whoever asks") {
  Caches caches;
  caches.FillFar(7, 5, 50);
  caches.Get(7);
  caches.far.Forget(PostOf(7));
  // Somebody asks again and again, in vain.
  for (absl::Duration at; at < kStale; at += absl::Milliseconds(10)) {
    (void)caches.Get(7);
    caches.clock.Advance(absl::Milliseconds(10));
  }
  CHECK(caches.Get(7).kind != Kind::kHit);
}

TEST_CASE("a write of this server is seen at once and goes on to the far cache") {
  Caches caches;
  caches.FillFar(7, 5, 50);
  caches.Get(7);
  REQUIRE(BlockingWait(caches.near.Put({{caches.Entry(7, 6, 60), 0}})));
  CHECK(caches.Get(7).entry.count == 6);
  CHECK(BlockingWait(caches.far.Get({PostOf(7)}))[0].entry.count == 6);
}

TEST_CASE("a far cache that knows only an older count is not believed, and is mended by the put") {
  Caches caches;
  caches.FillFar(7, 5, 50);
  // The write-through was lost on its way: only the near cache has it.
  caches.far.Forget(PostOf(7));
  REQUIRE(BlockingWait(caches.near.Put({{caches.Entry(7, 6, 60), 0}})));
  caches.FillFar(7, 5, 50);
  caches.clock.Advance(kStale);
  CHECK(caches.Get(7).kind == Kind::kMiss);
  CHECK(caches.near.stats().older == 1);
  REQUIRE(BlockingWait(caches.near.Put({{caches.Entry(7, 6, 60), 0}})));
  CHECK(BlockingWait(caches.far.Get({PostOf(7)}))[0].entry.version == 60);
}

TEST_CASE("a count that goes back after a failover is as old as its own reading") {
  Caches caches;
  const CountEntry lost = caches.Entry(7, 6, 60);
  const CountEntry left = {PostOf(7), 5, 50, lost.read_at - absl::Seconds(1)};
  REQUIRE(BlockingWait(caches.near.Put({{lost, 0}})));
  // Once it keeps older ones out no more.
  caches.clock.Advance(kStale + absl::Seconds(6));
  REQUIRE(BlockingWait(caches.near.Put({{left, 0}})));
  CHECK(caches.Get(7).entry.version == 50);
  CHECK(caches.Get(7).entry.read_at == left.read_at);
}

TEST_CASE("an older put does not replace a newer count") {
  Caches caches;
  REQUIRE(BlockingWait(caches.near.Put({{caches.Entry(7, 6, 60), 0}})));
  REQUIRE(BlockingWait(caches.near.Put({{caches.Entry(7, 5, 50), 0}})));
  CHECK(caches.Get(7).entry.version == 60);
}

TEST_CASE("what is evicted while the far cache answers is not kept") {
  Caches caches;
  caches.FillFar(7, 5, 50);
  caches.far.on_answer = [&] { caches.near.Evict({PostOf(7)}); };
  CHECK(caches.Get(7).entry.count == 5);
  caches.far.on_answer = nullptr;
  CHECK(caches.Get(7).kind != Kind::kHit);
  CHECK(caches.near.stats().hits == 0);
}

TEST_CASE("leases of the far cache go through, and a fill is kept") {
  Caches caches;
  const CountLookup lease = caches.Get(7);
  REQUIRE(lease.kind == Kind::kLease);
  REQUIRE(BlockingWait(caches.near.Put({{caches.Entry(7, 0, 0), lease.token}})));
  caches.far.asked = 0;
  CHECK(caches.Get(7).kind == Kind::kHit);
  CHECK(caches.Get(7).entry.count == 0);
  CHECK(caches.far.asked == 0);
}

TEST_CASE("in a batch only the unknown items are asked of the far cache, and answers keep places") {
  Caches caches;
  caches.FillFar(1, 10, 1);
  caches.FillFar(2, 20, 1);
  caches.Get(2);
  caches.far.asked = 0;
  const auto found = BlockingWait(caches.near.Get({PostOf(1), PostOf(2), PostOf(3)}));
  REQUIRE(found.size() == 3);
  CHECK(found[0].entry.count == 10);
  CHECK(found[1].entry.count == 20);
  CHECK(found[2].kind == Kind::kLease);
  CHECK(caches.far.asked == 2);
}

TEST_CASE("the near cache holds no more than its bound, and forgets what was used longest ago") {
  Caches caches;
  for (int64_t id = 1; id <= 4; ++id) {
    REQUIRE(BlockingWait(caches.near.Put({{caches.Entry(id, id, 1), 0}})));
    caches.Get(1);
  }
  CHECK(caches.near.stats().entries == 3);
  CHECK(caches.near.stats().evictions == 1);
  caches.far.asked = 0;
  CHECK(caches.Get(1).kind == Kind::kHit);
  CHECK(caches.Get(4).kind == Kind::kHit);
  CHECK(caches.far.asked == 0);
  CHECK(caches.Get(2).kind != Kind::kHit);
}

TEST_CASE(
    "A peek tells what is answered from here, asks the far cache for nothing, and uses nothing") {
  Caches caches;
  CHECK(BlockingWait(caches.near.Peek({PostOf(1)}))[0].kind == PeekedCount::Kind::kNothing);
  for (int64_t id = 1; id <= 3; ++id) {
    REQUIRE(BlockingWait(caches.near.Put({CountPut{caches.Entry(id, id, 10)}})));
  }
  const std::vector<PeekedCount> peeked = BlockingWait(caches.near.Peek({PostOf(1), PostOf(2)}));
  CHECK(peeked[0].kind == PeekedCount::Kind::kValue);
  CHECK(peeked[0].entry.count == 1);
  CHECK(peeked[1].entry.version == 10);
  CHECK(caches.far.asked == 0);
  // The first is still the one used longest ago: it goes for the fourth.
  REQUIRE(BlockingWait(caches.near.Put({CountPut{caches.Entry(4, 4, 10)}})));
  CHECK(BlockingWait(caches.near.Peek({PostOf(1)}))[0].kind == PeekedCount::Kind::kNothing);
  CHECK(BlockingWait(caches.near.Peek({PostOf(2)}))[0].kind == PeekedCount::Kind::kValue);
  caches.clock.Advance(kStale);
  CHECK(BlockingWait(caches.near.Peek({PostOf(2)}))[0].kind == PeekedCount::Kind::kNothing);
}

}  // namespace
}  // namespace counter
