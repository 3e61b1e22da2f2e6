// The caches under load on a real Redis 7 that is stopped, killed, flushed, filled, made read-only
// and cut off: no error, no wrong answer, no call beyond its budget, and it heals.
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "cache/redis/redis_caches.h"
#include "tests/cache/redis/live_redis.h"
#include "tests/cache/redis/trial.h"
#include "tests/support/workers.h"

namespace counter::redis::testing {
namespace {

using counter::testing::Sized;

void Sleep(absl::Duration duration) {
  std::this_thread::sleep_for(absl::ToChronoMilliseconds(duration));
}

TEST_CASE("faults: without any, most reads are hits") {
  Trial trial;
  trial.Under([] { Sleep(absl::Seconds(1)); });
  CHECK(trial.server(0).hits() > trial.server(0).reads() * 8 / 10);
  trial.CheckHealed();
}

TEST_CASE("faults: Redis stopped and continued") {
  Trial trial;
  trial.Under([&] {
    Sleep(absl::Milliseconds(300));
    trial.redis().Pause();
    Sleep(Sized(absl::Seconds(2), absl::Seconds(60)));
    trial.redis().Continue();
    Sleep(absl::Milliseconds(500));
  });
  trial.CheckHealed();
}

TEST_CASE("faults: Redis killed and started again, empty") {
  Trial trial;
  trial.Under([&] {
    for (int i = 0; i < Sized(3, 30); ++i) {
      Sleep(absl::Milliseconds(300));
      trial.redis().Kill9();
      Sleep(absl::Milliseconds(200));
      REQUIRE(trial.redis().Restart().ok());
    }
    Sleep(absl::Milliseconds(500));
  });
  trial.CheckHealed();
}

TEST_CASE("faults: K26: FLUSHALL at random") {
  Trial trial;
  trial.Under([&] {
    for (int i = 0; i < Sized(40, 1000); ++i) {
      trial.redis().Command({"FLUSHALL"});
      Sleep(absl::Milliseconds(30));
    }
  });
  trial.CheckHealed();
}

TEST_CASE("faults: K23: SCRIPT FLUSH again and again, and the limit still holds") {
  Trial trial;
  std::atomic<int64_t> granted = 0;
  trial.Under([&] {
    for (int i = 0; i < Sized(150, 3000); ++i) {
      trial.redis().Command({"SCRIPT", "FLUSH"});
      const UserId user{1000};
      granted +=
          BlockingWait(trial.server(i % 2).caches().rate_limiter().Reserve({{user, 2}}))[0].granted;
    }
  });
  CHECK(granted >= kLimit);
  // A server that gets no answer in time counts alone.
  const int64_t fallbacks = trial.server(0).caches().Stats().limiter_fallbacks +
                            trial.server(1).caches().Stats().limiter_fallbacks;
  CHECK(granted <= kLimit + 2 * fallbacks);
  if (LongForm()) WARN("granted " << granted.load() << " of a limit of " << kLimit);
  trial.CheckHealed();
}

TEST_CASE("faults: Redis full, with nothing to evict") {
  Trial trial;
  trial.Under([&] {
    Sleep(absl::Milliseconds(300));
    trial.redis().Command({"CONFIG", "SET", "maxmemory", "1"});
    Sleep(absl::Seconds(1));
    trial.redis().Command({"CONFIG", "SET", "maxmemory", "0"});
    Sleep(absl::Milliseconds(300));
  });
  trial.CheckHealed();
}

TEST_CASE("faults: a full Redis takes newer counts and unlikes, and no new keys") {
  Trial trial;
  RedisCaches& caches = trial.server(0).caches();
  const auto get = [&](const Item& item) { return BlockingWait(caches.counts().Get({item}))[0]; };
  const auto put = [&](int64_t version, FillToken token) {
    const CountEntry entry{ItemOf(0), version, version, Clock::System().WallNow()};
    return BlockingWait(caches.counts().Put({{entry, token}}));
  };
  const auto record = [&](bool liked, int64_t version) {
    const LikeFact fact{ItemOf(0), liked, version, Clock::System().WallNow()};
    BlockingWait(caches.recent_likes().Record({{UserId{1}, {fact}}}));
    return BlockingWait(caches.recent_likes().Find(UserId{1}, {ItemOf(0)}))[0].has_value();
  };
  // A machine that is busy makes single calls miss the cache's budget: they are tried again.
  const auto comes_true = [](absl::FunctionRef<bool()> predicate) {
    return Eventually(absl::Seconds(5), predicate);
  };
  REQUIRE(comes_true([&] { return put(5, get(ItemOf(0)).token); }));
  REQUIRE(comes_true([&] { return record(true, 5); }));
  trial.redis().Command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(comes_true([&] { return put(6, 0); }));
  CHECK(comes_true([&] { return get(ItemOf(0)).entry.version == 6; }));
  CHECK(get(ItemOf(1)).kind == CountLookup::Kind::kMiss);
  CHECK(comes_true([&] { return !record(false, 6); }));
  CHECK(BlockingWait(caches.rate_limiter().Reserve({{UserId{1}, 1}}))[0].granted == 1);
  trial.redis().Command({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(comes_true([&] { return get(ItemOf(1)).kind == CountLookup::Kind::kLease; }));
}

TEST_CASE("faults: Redis evicts whatever it likes") {
  Trial trial({.args = {"--maxmemory", "2mb", "--maxmemory-policy", "allkeys-random"}});
  trial.Under([&] {
    const std::string filler(10'000, 'x');
    for (int i = 0; i < Sized(400, 10'000); ++i) {
      trial.redis().Command({"SET", absl::StrCat("filler:", i), filler, "PX", "60000"});
    }
  });
  trial.redis().Command({"CONFIG", "SET", "maxmemory", "0"});
  trial.CheckHealed();
}

TEST_CASE("faults: Redis made a read-only replica and a master again") {
  Trial trial;
  trial.Under([&] {
    Sleep(absl::Milliseconds(300));
    trial.redis().Command({"REPLICAOF", "127.0.0.1", "1"});
    Sleep(absl::Seconds(1));
    trial.redis().Command({"REPLICAOF", "NO", "ONE"});
    Sleep(absl::Milliseconds(300));
  });
  trial.CheckHealed();
}

TEST_CASE("faults: K21, K24: connections killed again and again") {
  Trial trial;
  const MonotonicTime end =
      Clock::System().MonotonicNow() + Sized(absl::Seconds(2), absl::Minutes(10));
  trial.Under([&] {
    while (Clock::System().MonotonicNow() < end) {
      trial.redis().Command({"CLIENT", "KILL", "TYPE", "normal"});
      Sleep(absl::Milliseconds(5));
    }
  });
  trial.CheckHealed();
}

TEST_CASE("faults: K24, D9: a limit key that lost its expiry frees its user at once") {
  Trial trial;
  trial.redis().Command({"SET", "rate:{7}:likes", "1000000"});
  const auto grants =
      BlockingWait(trial.server(0).caches().rate_limiter().Reserve({{UserId{7}, 1}}));
  CHECK(grants[0].granted == 1);
  CHECK(trial.redis().Command({"PTTL", "rate:{7}:likes"}) != "-1");
}

TEST_CASE("faults: the limit is one for both servers, and one each while Redis is gone") {
  Trial trial;
  const UserId user{8};
  const auto reserve = [&](int server) {
    return BlockingWait(trial.server(server).caches().rate_limiter().Reserve({{user, 70}}))[0];
  };
  CHECK(reserve(0).granted == 70);
  CHECK(reserve(1).granted == 30);
  trial.redis().Kill9();
  REQUIRE(Eventually(absl::Seconds(5), [&] {
    return !trial.server(0).caches().connection().usable() &&
           !trial.server(1).caches().connection().usable();
  }));
  CHECK(reserve(0).granted == 70);
  CHECK(reserve(0).granted == 30);
  CHECK(reserve(1).granted == 70);
  REQUIRE(trial.redis().Restart().ok());
}

TEST_CASE("faults: K26: a user who likes without end keeps 1000 likes, which end") {
  Trial trial;
  const std::string key = "recent_likes:{9}";
  for (int64_t batch = 0; batch < Sized(30, 500); ++batch) {
    std::vector<LikeFact> facts;
    for (int64_t i = 0; i < 200; ++i) {
      facts.push_back({{ItemType{1}, 1 + batch * 200 + i}, true, 5, Clock::System().WallNow()});
    }
    RedisCaches& caches = trial.server(0).caches();
    BlockingWait(caches.recent_likes().Record({{UserId{9}, facts}}));
    CHECK(std::stoll(trial.redis().Command({"ZCARD", key})) <= 1000);
    CHECK(std::stoll(trial.redis().Command({"PTTL", key})) > 0);
  }
  CHECK(trial.redis().Command({"ZCARD", key}) == "1000");
}

TEST_CASE("faults: D1, D3, D4: two servers and one item, as fast as they can") {
  Trial trial;
  counter::testing::RunWorkers(4, [&](int worker) {
    std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(worker));
    for (int i = 0; i < Sized(500, 20'000); ++i) {
      if (random() % 3 == 0) trial.server(worker % 2).Write(0, random() % 2 == 0 ? 1 : -1);
      trial.server(worker % 2).Read(0);
      if (worker == 0 && i % 20 == 0) trial.redis().Command({"DEL", "counter:post:1"});
    }
  });
  trial.CheckHealed();
}

}  // namespace
}  // namespace counter::redis::testing
