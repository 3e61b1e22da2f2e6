// That the caches inside the process stay within their bounds, in entries and in bytes, and that
// what they forget for want of room breaks no promise.
#include <malloc.h>

#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "base/clock.h"
#include "base/task.h"
#include "cache/local/local_count_cache.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/local/local_recent_likes.h"
#include "tests/support/test_settings.h"

namespace counter {
namespace {

using testing::Sized;

constexpr int64_t kBatch = 1000;

// How many distinct keys come by: far more than any bound here.
int64_t Distinct() { return Sized(200'000, 1'000'000); }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHeapIsMeasured = false;  // The sanitizer's allocator is not the one that ships.
#else
constexpr bool kHeapIsMeasured = true;
#endif

int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// What an entry costs, when there were so many bytes before.
int64_t BytesEach(int64_t bytes_before, int64_t entries) {
  return (HeapBytes() - bytes_before) / entries;
}

void CheckBytes(int64_t bytes_each, int64_t stated) {
  if (!kHeapIsMeasured) return;
  CHECK(bytes_each <= stated);
  CHECK(bytes_each > stated / 2);  // What the header says is near what is so.
}

Item PostOf(int64_t id) { return {ItemType{1}, id}; }

// ---- Counts ------------------------------------------------------------------------------------

CountLookup Get(LocalCountCache& cache, int64_t id) {
  return BlockingWait(cache.Get({PostOf(id)}))[0];
}

void Fill(LocalCountCache& cache, const Clock& clock, int64_t first, int64_t last) {
  std::vector<Item> items;
  for (int64_t id = first; id <= last; ++id) items.push_back(PostOf(id));
  const std::vector<CountLookup> leases = BlockingWait(cache.Get(items));
  std::vector<CountPut> puts;
  for (size_t i = 0; i < items.size(); ++i) {
    puts.push_back({{items[i], 1, 1, clock.WallNow()}, leases[i].token});
  }
  BlockingWait(cache.Put(std::move(puts)));
}

TEST_CASE("any number of items stays within the bound of the count cache") {
  const int64_t distinct = Distinct();
  ManualClock clock;
  LocalCountCacheOptions options;
  options.entries_max = 10'000;
  LocalCountCache cache(clock, options);
  bool within_bound = true;
  for (int64_t first = 1; first <= distinct; first += kBatch) {
    Fill(cache, clock, first, first + kBatch - 1);
    if (cache.Stats().entries > options.entries_max) within_bound = false;
  }
  CHECK(within_bound);
  CHECK(cache.Stats().entries == options.entries_max);
  CHECK(cache.Stats().evictions == distinct - options.entries_max);
  CHECK(Get(cache, distinct).kind == CountLookup::Kind::kHit);
  CHECK(Get(cache, 1).kind == CountLookup::Kind::kLease);
}

TEST_CASE("leases alone stay within the bound of the count cache") {
  ManualClock clock;
  LocalCountCacheOptions options;
  options.entries_max = 100;
  LocalCountCache cache(clock, options);
  for (int64_t id = 1; id <= 10'000; ++id) Get(cache, id);
  CHECK(cache.Stats().entries <= 100);
}

TEST_CASE("the count cache forgets first what was used longest ago") {
  ManualClock clock;
  LocalCountCacheOptions options;
  options.entries_max = 100;
  options.shards = 1;
  LocalCountCache cache(clock, options);
  Fill(cache, clock, 1, 100);
  CHECK(Get(cache, 1).kind == CountLookup::Kind::kHit);
  Fill(cache, clock, 101, 101);
  CHECK(Get(cache, 1).kind == CountLookup::Kind::kHit);
  CHECK(Get(cache, 2).kind == CountLookup::Kind::kLease);
}

TEST_CASE("D4: the fill of a lease that was forgotten for want of room stores nothing") {
  ManualClock clock;
  LocalCountCacheOptions options;
  options.entries_max = 1;
  LocalCountCache cache(clock, options);
  const FillToken forgotten = Get(cache, 1).token;
  Get(cache, 2);
  BlockingWait(cache.Put({{{PostOf(1), 5, 10, clock.WallNow()}, forgotten}}));
  CHECK(Get(cache, 1).kind == CountLookup::Kind::kLease);
}

TEST_CASE("times to live of values that were filled together are spread") {
  ManualClock clock;
  LocalCountCache cache(clock);
  Fill(cache, clock, 1, 1000);
  clock.Advance(absl::Hours(1));
  int64_t alive = 0;
  for (int64_t id = 1; id <= 1000; ++id) {
    alive += Get(cache, id).kind == CountLookup::Kind::kHit ? 1 : 0;
  }
  CHECK(alive > 400);
  CHECK(alive < 600);
}

TEST_CASE("a count takes no more bytes than its header says") {
  ManualClock clock;
  LocalCountCacheOptions options;
  // One shard as full as each of the default is: that sets the load of the tables.
  options.entries_max = options.entries_max / options.shards;
  options.shards = 1;
  const int64_t before = HeapBytes();
  LocalCountCache cache(clock, options);
  for (int64_t first = 1; first <= options.entries_max + kBatch; first += kBatch) {
    Fill(cache, clock, first, first + kBatch - 1);
  }
  REQUIRE(cache.Stats().entries == options.entries_max);
  const int64_t bytes_each = BytesEach(before, options.entries_max);
  CAPTURE(bytes_each);
  CheckBytes(bytes_each, LocalCountCache::kBytesPerEntry);
}

// ---- Recent likes ------------------------------------------------------------------------------

void Like(LocalRecentLikes& likes, const Clock& clock, int64_t user, int64_t item,
          int64_t version = 1) {
  BlockingWait(likes.Record({{UserId{user}, {{PostOf(item), true, version, clock.WallNow()}}}}));
}
void Unlike(LocalRecentLikes& likes, const Clock& clock, int64_t user, int64_t item,
            int64_t version) {
  BlockingWait(likes.Record({{UserId{user}, {{PostOf(item), false, version, clock.WallNow()}}}}));
}
bool IsKnown(LocalRecentLikes& likes, int64_t user, int64_t item) {
  return BlockingWait(likes.Find(UserId{user}, {PostOf(item)}))[0].has_value();
}

TEST_CASE("any number of users stays within the bound of recent likes, and each takes its bytes") {
  const int64_t distinct = Distinct();
  ManualClock clock;
  LocalRecentLikesOptions options;
  options.facts_max = options.facts_max / options.shards;
  options.shards = 1;
  const int64_t before = HeapBytes();
  LocalRecentLikes likes(clock, options);
  for (int64_t user = 1; user <= distinct; ++user) Like(likes, clock, user, 1);
  CHECK(likes.Stats().entries == options.facts_max);
  CHECK(likes.Stats().evictions == distinct - options.facts_max);
  CHECK(IsKnown(likes, distinct, 1));
  CHECK_FALSE(IsKnown(likes, 1, 1));
  const int64_t bytes_each = BytesEach(before, options.facts_max);
  CAPTURE(bytes_each);
  CheckBytes(bytes_each, LocalRecentLikes::kBytesPerFactMax);
}

TEST_CASE("users with full sets stay within the bound of recent likes") {
  ManualClock clock;
  LocalRecentLikesOptions options;
  options.facts_max = 20'000;
  options.shards = 2;
  LocalRecentLikes likes(clock, options);
  bool within_bound = true;
  for (int64_t user = 1; user <= 100; ++user) {
    clock.Advance(absl::Milliseconds(1));
    std::vector<LikeFact> facts;
    for (int64_t item = 1; item <= 1000; ++item) {
      facts.push_back({PostOf(item), true, item, clock.WallNow()});
      facts.push_back({PostOf(item + 1000), false, item, clock.WallNow()});
    }
    BlockingWait(likes.Record({{UserId{user}, facts}}));
    if (likes.Stats().entries > options.facts_max) within_bound = false;
  }
  CHECK(within_bound);
  CHECK(likes.Stats().entries == options.facts_max);
  CHECK(IsKnown(likes, 100, 1));
}

TEST_CASE("a user's traces are bounded too, and what is forgotten refuses late likes by its time") {
  ManualClock clock;
  LocalRecentLikesOptions options;
  options.bounds.traces_max = 10;
  LocalRecentLikes likes(clock, options);
  const absl::Time read_before = clock.WallNow();
  clock.Advance(absl::Milliseconds(1));
  for (int64_t item = 1; item <= 30; ++item) {
    Unlike(likes, clock, 1, item, 2);
    clock.Advance(absl::Milliseconds(1));
  }
  CHECK(likes.Stats().entries == 10);
  BlockingWait(likes.Record({{UserId{1}, {{PostOf(1), true, 1, read_before}}}}));
  CHECK_FALSE(IsKnown(likes, 1, 1));
  Like(likes, clock, 1, 1, 3);
  CHECK(IsKnown(likes, 1, 1));
}

TEST_CASE("D6: a late like does not come back because its user was forgotten for want of room") {
  ManualClock clock;
  LocalRecentLikesOptions options;
  options.facts_max = 4;
  options.shards = 1;
  LocalRecentLikes likes(clock, options);
  const absl::Time read_before = clock.WallNow();
  Unlike(likes, clock, 1, 1, 11);
  for (int64_t user = 2; user <= 6; ++user) Like(likes, clock, user, 1);
  BlockingWait(likes.Record({{UserId{1}, {{PostOf(1), true, 10, read_before}}}}));
  CHECK_FALSE(IsKnown(likes, 1, 1));
  clock.Advance(absl::Milliseconds(1));
  Like(likes, clock, 1, 1, 12);
  CHECK(IsKnown(likes, 1, 1));
}

TEST_CASE("traces that have ended give their place back") {
  ManualClock clock;
  LocalRecentLikes likes(clock);
  for (int64_t item = 1; item <= 10; ++item) Unlike(likes, clock, 1, item, 2);
  clock.Advance(absl::Seconds(61));
  Like(likes, clock, 1, 100);
  CHECK(likes.Stats().entries == 1);
}

TEST_CASE("a wall clock that jumps makes no like fresh again") {
  ManualClock clock;
  LocalRecentLikes likes(clock);
  Like(likes, clock, 1, 1);
  clock.Advance(absl::Minutes(4));
  clock.JumpWall(-absl::Hours(2));
  CHECK(IsKnown(likes, 1, 1));
  clock.Advance(absl::Minutes(2));
  CHECK_FALSE(IsKnown(likes, 1, 1));
}

// ---- Rate limits -------------------------------------------------------------------------------

LikeGrant Reserve(LocalRateLimiter& limiter, int64_t user, int64_t likes) {
  return BlockingWait(limiter.Reserve({LikeCharge{UserId{user}, likes}}))[0];
}

TEST_CASE(
    "any number of users stays within the bound of the rate limiter, and each takes its bytes") {
  const int64_t distinct = Distinct();
  ManualClock clock;
  LocalRateLimiterOptions options;
  options.users_max = options.users_max / options.shards;
  options.shards = 1;
  const int64_t before = HeapBytes();
  LocalRateLimiter limiter(clock, options);
  for (int64_t user = 1; user <= distinct; ++user) Reserve(limiter, user, options.limit);
  CHECK(limiter.Stats().entries == options.users_max);
  CHECK(Reserve(limiter, distinct, 1).granted == 0);
  CHECK(Reserve(limiter, 1, 1).granted == 1);
  const int64_t bytes_each = BytesEach(before, options.users_max);
  CAPTURE(bytes_each);
  CheckBytes(bytes_each, LocalRateLimiter::kBytesPerUser);
}

TEST_CASE("windows that have ended are swept away by new ones") {
  ManualClock clock;
  LocalRateLimiter limiter(clock);
  for (int64_t user = 1; user <= 10'000; ++user) Reserve(limiter, user, 1);
  clock.Advance(absl::Seconds(61));
  for (int64_t user = 10'001; user <= 20'000; ++user) Reserve(limiter, user, 1);
  CHECK(limiter.Stats().entries == 10'000);
  CHECK(limiter.Stats().evictions == 0);
}

}  // namespace
}  // namespace counter
