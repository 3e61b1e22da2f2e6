// The caches inside the process under many threads at once. Run it under the thread sanitizer.
#include <algorithm>
#include <atomic>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "cache/local/local_count_cache.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/local/local_recent_likes.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

constexpr int kWorkers = 8;

Item PostOf(int64_t id) { return {ItemType{1}, id}; }

// A store of counts: every change has a version.
class SimulatedStore {
 public:
  explicit SimulatedStore(int64_t items) : counts_(static_cast<size_t>(items)) {}

  CountEntry Read(int64_t id) {
    MutexLock lock(mutex_);
    return EntryOf(id);
  }
  CountEntry Commit(int64_t id, int64_t delta) {
    MutexLock lock(mutex_);
    Row& row = counts_[static_cast<size_t>(id)];
    row.count = std::max<int64_t>(row.count + delta, 0);
    ++row.version;
    return EntryOf(id);
  }

 private:
  struct Row {
    int64_t count = 0;
    int64_t version = 0;
  };
  CountEntry EntryOf(int64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Row& row = counts_[static_cast<size_t>(id)];
    return {PostOf(id + 1), row.count, row.version, Clock::System().WallNow()};
  }

  Mutex mutex_;
  std::vector<Row> counts_ ABSL_GUARDED_BY(mutex_);
};

// Takes one out, whichever.
template <class T>
T TakeAny(std::vector<T>& from, uint64_t random) {
  std::swap(from[random % from.size()], from.back());
  T taken = std::move(from.back());
  from.pop_back();
  return taken;
}

// How many puts or facts of one worker are on their way at most.
constexpr size_t kOnTheirWay = 8;

// What one worker saw that it should not have seen.
struct alignas(64) Seen {
  int64_t versions_back = 0;
  int64_t hits = 0;
};

TEST_CASE("K25, D4: after a storm of writers, readers and evictions counts equal the store's") {
  constexpr int64_t kItems = 20;
  const int steps = Sized(20'000, 500'000) / Slowness();
  SimulatedStore store(kItems);
  LocalCountCacheOptions options;
  options.entries_max = kItems - 4;  // Some are always forgotten.
  options.shards = 3;
  LocalCountCache cache(Clock::System(), options);
  std::vector<Seen> seen(kWorkers);
  const uint64_t seed = TestSeed();

  RunWorkers(kWorkers, [&](int worker) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(worker));
    Seen& mine = seen[static_cast<size_t>(worker)];
    std::vector<int64_t> newest(kItems, -1);  // That this worker knows of, by item.
    std::vector<CountPut> sent;
    for (int step = 0; step < steps; ++step) {
      const auto id = static_cast<int64_t>(random() % kItems);
      int64_t& known = newest[static_cast<size_t>(id)];
      const uint64_t what = random() % 10;
      if (what < 3) {
        const CountEntry entry = store.Commit(id, random() % 2 == 0 ? 1 : -1);
        BlockingWait(cache.Put({{entry, 0}}));
        known = std::max(known, entry.version);
      } else if (what < 9) {
        const CountLookup lookup = BlockingWait(cache.Get({PostOf(id + 1)}))[0];
        if (lookup.kind == CountLookup::Kind::kHit) {
          ++mine.hits;
          if (lookup.entry.version < known) ++mine.versions_back;
          known = std::max(known, lookup.entry.version);
        } else if (lookup.kind == CountLookup::Kind::kLease) {
          sent.push_back({store.Read(id), lookup.token});
        }
      } else {
        cache.Forget(PostOf(id + 1));
      }
      if (sent.size() > random() % kOnTheirWay) {
        BlockingWait(cache.Put({TakeAny(sent, random())}));
      }
    }
    while (!sent.empty()) BlockingWait(cache.Put({TakeAny(sent, random())}));
  });

  INFO("seed " << seed);
  int64_t hits = 0;
  for (const Seen& one : seen) {
    CHECK(one.versions_back == 0);
    hits += one.hits;
  }
  CHECK(hits > 0);
  int64_t held = 0;
  for (int64_t id = 0; id < kItems; ++id) {
    const CountLookup lookup = BlockingWait(cache.Get({PostOf(id + 1)}))[0];
    if (lookup.kind != CountLookup::Kind::kHit) continue;
    ++held;
    const CountEntry stored = store.Read(id);
    CHECK(lookup.entry.version == stored.version);
    CHECK(lookup.entry.count == stored.count);
  }
  CHECK(held > 0);
  CHECK(cache.Stats().entries <= options.entries_max);
}

TEST_CASE("of many callers that miss one key at once, one is given the lease") {
  constexpr int kRounds = 200;
  LocalCountCache cache(Clock::System());
  std::vector<std::vector<int>> leases(kWorkers, std::vector<int>(kRounds));
  RunWorkers(kWorkers, [&](int worker) {
    for (int round = 0; round < kRounds; ++round) {
      const CountLookup lookup = BlockingWait(cache.Get({PostOf(round + 1)}))[0];
      leases[static_cast<size_t>(worker)][static_cast<size_t>(round)] =
          lookup.kind == CountLookup::Kind::kLease ? 1 : 0;
    }
  });
  for (size_t round = 0; round < kRounds; ++round) {
    int granted = 0;
    for (const std::vector<int>& mine : leases) granted += mine[round];
    REQUIRE(granted == 1);
  }
}

TEST_CASE("many callers of one user are granted the limit together, to the like") {
  constexpr int64_t kLimit = 1000;
  constexpr int64_t kUsers = 4;
  const int steps = Sized(20'000, 200'000) / Slowness();
  LocalRateLimiterOptions options;
  options.limit = kLimit;
  options.window = absl::Hours(1);  // Ends after the test.
  LocalRateLimiter limiter(Clock::System(), options);
  struct alignas(64) Tally {
    std::vector<int64_t> used = std::vector<int64_t>(kUsers);
  };
  std::vector<Tally> tallies(kWorkers);
  const uint64_t seed = TestSeed();

  RunWorkers(kWorkers, [&](int worker) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(worker));
    Tally& mine = tallies[static_cast<size_t>(worker)];
    for (int step = 0; step < steps; ++step) {
      const size_t user = random() % kUsers;
      const UserId id{static_cast<int64_t>(user) + 1};
      const LikeGrant grant = BlockingWait(limiter.Reserve({LikeCharge{id, 3}}))[0];
      if (grant.granted == 0) continue;
      if (random() % 2 == 0) {
        mine.used[user] += grant.granted;
      } else {
        BlockingWait(limiter.GiveBack({LikeRefund{id, grant.granted, grant.window}}));
      }
    }
  });

  INFO("seed " << seed);
  for (size_t user = 0; user < kUsers; ++user) {
    int64_t used = 0;
    for (const Tally& tally : tallies) used += tally.used[user];
    CHECK(used == kLimit);
  }
}

TEST_CASE("a window that many callers open at once is opened once") {
  constexpr int64_t kLimit = 10;
  const int64_t users = Sized(20'000, 200'000) / Slowness();
  LocalRateLimiterOptions options;
  options.limit = kLimit;
  options.window = absl::Hours(1);
  options.shards = 1;
  LocalRateLimiter limiter(Clock::System(), options);
  std::vector<std::atomic<int64_t>> granted(static_cast<size_t>(users));
  RunWorkers(kWorkers, [&](int) {
    for (int64_t user = 0; user < users; ++user) {
      const LikeGrant grant = BlockingWait(limiter.Reserve({LikeCharge{UserId{user + 1}, 3}}))[0];
      granted[static_cast<size_t>(user)] += grant.granted;
    }
  });
  const auto is_limit = [](const std::atomic<int64_t>& one) { return one.load() == kLimit; };
  CHECK(std::all_of(granted.begin(), granted.end(), is_limit));
}

TEST_CASE("D5, D6: after a storm of likes and unlikes no ended like is found") {
  constexpr int64_t kUsers = 8;
  constexpr int64_t kItems = 50;
  const int steps = Sized(10'000, 200'000) / Slowness();
  LocalRecentLikesOptions options;
  // Once no user is ever forgotten, once all the time.
  options.facts_max = GENERATE(100'000, 200);
  const bool forgets = options.facts_max < kUsers * kItems;
  options.shards = 2;
  LocalRecentLikes likes(Clock::System(), options);
  // Pairs of the store: the version of an item's last change, odd for liked. Facts of one pair race
  // to the cache from several workers.
  std::vector<std::atomic<int64_t>> versions(kUsers * kItems);
  const uint64_t seed = TestSeed();

  RunWorkers(kWorkers, [&](int worker) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(worker));
    std::vector<std::pair<UserId, LikeFact>> sent;
    const auto deliver = [&] {
      const auto [user, fact] = TakeAny(sent, random());
      BlockingWait(likes.Record({{user, {fact}}}));
    };
    for (int step = 0; step < steps; ++step) {
      const auto user = static_cast<int64_t>(random() % kUsers);
      const auto item = static_cast<int64_t>(random() % kItems);
      std::atomic<int64_t>& version = versions[static_cast<size_t>(user * kItems + item)];
      const absl::Time as_of = Clock::System().WallNow();
      const bool is_write = random() % 2 == 0;
      const int64_t mine = is_write ? version.fetch_add(1) + 1 : version.load();
      const bool liked = mine % 2 == 1;
      if (liked || is_write) {
        sent.push_back({UserId{user + 1}, {PostOf(item + 1), liked, mine, as_of}});
      }
      if (sent.size() > random() % kOnTheirWay) deliver();
      if (random() % 4 == 0) BlockingWait(likes.Find(UserId{user + 1}, {PostOf(item + 1)}));
    }
    while (!sent.empty()) deliver();
  });

  INFO("seed " << seed);
  int64_t found_likes = 0;
  for (int64_t user = 0; user < kUsers; ++user) {
    for (int64_t item = 0; item < kItems; ++item) {
      const bool found =
          BlockingWait(likes.Find(UserId{user + 1}, {PostOf(item + 1)}))[0].has_value();
      if (!found) continue;
      ++found_likes;
      CHECK(versions[static_cast<size_t>(user * kItems + item)].load() % 2 == 1);
    }
  }
  if (!forgets) CHECK(found_likes > 0);
  CHECK(likes.Stats().entries <= options.facts_max);
}

}  // namespace
}  // namespace counter::testing
