// The caches under load on a real Redis 7 that is stopped, killed, flushed, filled, made read-only
// and cut off: no error, no wrong answer, no call beyond its budget, and it heals.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "cache/redis/redis_caches.h"
#include "tests/cache/redis/live_redis.h"
#include "tests/support/workers.h"

namespace counter::redis::testing {
namespace {

using counter::testing::Eventually;
using counter::testing::LongForm;
using counter::testing::RedisServer;
using counter::testing::Sized;
using counter::testing::TestSeed;

constexpr int kItems = 50;
constexpr int64_t kUsers = 20;
constexpr int64_t kLimit = 100;
// A call that takes longer has waited for an answer: the budget is 20 ms.
constexpr absl::Duration kSlowCall = absl::Milliseconds(10);
// A fault may cost every caller his budget until the breaker opens, and then nothing: so many of
// the calls while it stands may be slow, beyond what the machine makes slow.
constexpr double kSlowShareMax = 0.02;

Item ItemOf(int index) { return {ItemType{1}, index + 1}; }

// The truth, in this process.
class Store {
 public:
  struct Count {
    int64_t count = 0;
    int64_t version = 0;
  };
  Count Read(int item) {
    MutexLock lock(mutex_);
    return counts_[item];
  }
  Count Change(int item, int64_t delta) {
    MutexLock lock(mutex_);
    Count& count = counts_[item];
    count.count = std::max<int64_t>(count.count + delta, 0);
    ++count.version;
    history_[item][count.version] = count.count;
    return count;
  }
  bool Held(int item, int64_t version, int64_t count) {
    MutexLock lock(mutex_);
    if (version == 0) return count == 0;
    const auto held = history_[item].find(version);
    return held != history_[item].end() && held->second == count;
  }

 private:
  Mutex mutex_;
  std::map<int, Count> counts_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::map<int64_t, int64_t>> history_ ABSL_GUARDED_BY(mutex_);
};

// One server's use of the caches, and what it saw.
class Server {
 public:
  Server(const RedisServer& redis, Store& store) : store_(store), caches_(Options(redis)) {
    caches_.OnNewRun([this](const std::vector<Item>& items) {
      MutexLock lock(mutex_);
      for (const Item& item : items) owed_.push_back(static_cast<int>(item.id) - 1);
    });
    caches_.Start();
  }
  ~Server() { caches_.Stop(); }

  RedisCaches& caches() { return caches_; }

  void Read(int item) {
    const int64_t acknowledged = acknowledged_[item];
    const CountLookup lookup = Timed(caches_.counts().Get({ItemOf(item)}))[0];
    ++reads_;
    if (lookup.kind == CountLookup::Kind::kHit) {
      ++hits_;
      if (!store_.Held(item, lookup.entry.version, lookup.entry.count)) ++wrong_;
      if (lookup.entry.version < acknowledged) ++missed_acknowledged_;
      return;
    }
    const Store::Count count = store_.Read(item);
    if (lookup.kind == CountLookup::Kind::kLease) Put(item, count, lookup.token);
  }
  void Write(int item, int64_t delta) {
    const Store::Count count = store_.Change(item, delta);
    if (!Put(item, count, 0)) {
      MutexLock lock(mutex_);
      owed_.push_back(item);
      return;
    }
    std::atomic<int64_t>& newest = acknowledged_[item];
    int64_t known = newest;
    while (known < count.version && !newest.compare_exchange_weak(known, count.version)) {
    }
  }
  void Use(int64_t user, uint64_t random) {
    Timed(caches_.rate_limiter().Reserve({{UserId{user}, 1}}));
    const Item item = ItemOf(static_cast<int>(random % kItems));
    Timed(caches_.recent_likes().Find(UserId{user}, {item}));
    const LikeFact fact{item, random % 2 == 0, static_cast<int64_t>(random >> 1),
                        Clock::System().WallNow()};
    BlockingWait(caches_.recent_likes().Record({{UserId{user}, {fact}}}));
  }
  // What the outbox and rule 6 do: what may not have arrived is put again. True if nothing is owed.
  bool Settle() {
    std::vector<int> owed;
    {
      MutexLock lock(mutex_);
      owed.swap(owed_);
    }
    std::vector<CountPut> puts;
    for (const int item : owed) {
      const absl::Time read_at = Clock::System().WallNow();
      const Store::Count count = store_.Read(item);
      puts.push_back({{ItemOf(item), count.count, count.version, read_at}, 0});
    }
    if (BlockingWait(caches_.counts().Put(puts))) return true;
    MutexLock lock(mutex_);
    owed_.insert(owed_.end(), owed.begin(), owed.end());
    return false;
  }

  int64_t reads() const { return reads_; }
  int64_t hits() const { return hits_; }
  int64_t wrong() const { return wrong_; }
  int64_t missed_acknowledged() const { return missed_acknowledged_; }
  absl::Duration slowest() const { return absl::Nanoseconds(slowest_ns_.load()); }
  int64_t calls() const { return calls_; }
  int64_t slow_calls() const { return slow_calls_; }

 private:
  static RedisCachesOptions Options(const RedisServer& redis) {
    RedisCachesOptions options;
    options.connection = OptionsFor(redis);
    options.type_names = {{1, "post"}};
    options.rate_limiter.limit = kLimit;
    return options;
  }
  bool Put(int item, const Store::Count& count, FillToken token) {
    const CountEntry entry{ItemOf(item), count.count, count.version, Clock::System().WallNow()};
    return Timed(caches_.counts().Put({{entry, token}}));
  }
  template <class T>
  T Timed(Task<T> task) {
    const MonotonicTime start = Clock::System().MonotonicNow();
    T result = BlockingWait(std::move(task));
    const absl::Duration took = Between(start, Clock::System().MonotonicNow());
    ++calls_;
    if (took > kSlowCall) ++slow_calls_;
    int64_t slowest = slowest_ns_;
    const int64_t took_ns = absl::ToInt64Nanoseconds(took);
    while (slowest < took_ns && !slowest_ns_.compare_exchange_weak(slowest, took_ns)) {
    }
    return result;
  }

  Store& store_;
  std::array<std::atomic<int64_t>, kItems> acknowledged_ = {};
  std::atomic<int64_t> reads_ = 0;
  std::atomic<int64_t> hits_ = 0;
  std::atomic<int64_t> wrong_ = 0;
  std::atomic<int64_t> missed_acknowledged_ = 0;
  std::atomic<int64_t> calls_ = 0;
  std::atomic<int64_t> slow_calls_ = 0;
  std::atomic<int64_t> slowest_ns_ = 0;
  Mutex mutex_;
  std::vector<int> owed_ ABSL_GUARDED_BY(mutex_);  // Items whose put may not have arrived.
  RedisCaches caches_;
};

std::unique_ptr<RedisServer> StartRedis(const RedisServer::Options& options = {}) {
  auto started = RedisServer::Start(options);
  INFO(started.status().ToString());
  REQUIRE(started.ok());
  return *std::move(started);
}

struct Calls {
  int64_t all = 0;
  int64_t slow = 0;
};
Calls operator-(const Calls& to, const Calls& from) {
  return {to.all - from.all, to.slow - from.slow};
}
double SlowShare(const Calls& calls) {
  return static_cast<double>(calls.slow) / static_cast<double>(std::max<int64_t>(calls.all, 1));
}

// Two servers over one Redis and one store, under load while `fault` runs on this thread. Beside
// them is a server over a Redis of its own that nothing is done to: what is slow there, too, is the
// machine's doing.
class Trial {
 public:
  explicit Trial(const RedisServer::Options& options = {})
      : redis_(StartRedis(options)), control_redis_(StartRedis()) {
    for (int i = 0; i < 2; ++i) servers_.push_back(std::make_unique<Server>(*redis_, store_));
    control_ = std::make_unique<Server>(*control_redis_, control_store_);
    for (auto& server : servers_) REQUIRE(BecomesUsable(server->caches().connection()));
    REQUIRE(BecomesUsable(control_->caches().connection()));
  }

  RedisServer& redis() { return *redis_; }
  Server& server(int i) { return *servers_[i]; }

  void Under(const std::function<void()>& fault) {
    constexpr int kWorkers = 4;
    constexpr int kControlWorkers = 2;
    std::atomic<bool> over = false;
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kWorkers + kControlWorkers; ++worker) {
      Server& server = worker < kWorkers ? *servers_[worker % 2] : *control_;
      workers.emplace_back([&over, &server, worker] {
        std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(worker));
        while (!over) Work(server, random);
      });
    }
    absl::SleepFor(absl::Milliseconds(300));
    const Calls before = CallsSoFar();
    const Calls control_before = CallsOf(*control_);
    fault();
    calls_ = CallsSoFar() - before;
    control_calls_ = CallsOf(*control_) - control_before;
    over = true;
    for (std::thread& worker : workers) worker.join();
  }

  // After the fault: nothing was wrong, all is well again, and what is cached is what is stored.
  void CheckHealed(bool lost_acknowledged = false) {
    INFO(calls_.slow << " of " << calls_.all << " calls were slow, without the fault "
                     << control_calls_.slow << " of " << control_calls_.all);
    CHECK(SlowShare(calls_) <= kSlowShareMax + 2 * SlowShare(control_calls_));
    if (LongForm()) {
      WARN(calls_.slow << " of " << calls_.all << " calls were slow, without the fault "
                       << control_calls_.slow << " of " << control_calls_.all);
    }
    for (auto& server : servers_) {
      CHECK(server->wrong() == 0);
      if (!lost_acknowledged) CHECK(server->missed_acknowledged() == 0);
      CHECK(BecomesUsable(server->caches().connection()));
      CHECK(Eventually(absl::Seconds(10), [&] { return server->Settle(); }));
      if (LongForm())
        WARN(server->calls() << " calls, " << server->slow_calls() << " over 10 ms, slowest "
                             << absl::FormatDuration(server->slowest()) << ", hits "
                             << server->hits() << " of " << server->reads());
    }
    for (int item = 0; item < kItems; ++item) {
      const std::string value = redis_->Command({"GET", absl::StrCat("counter:post:", item + 1)});
      if (value == "(nil)" || value[0] == '!') continue;
      const Store::Count count = store_.Read(item);
      INFO(value << " of item " << item);
      CHECK(absl::StartsWith(value, absl::StrCat(count.count, "@", count.version, "@")));
    }
    // Hits come back.
    CHECK(Eventually(absl::Seconds(10), [&] {
      const int64_t hits = servers_[0]->hits();
      for (int item = 0; item < kItems; ++item) servers_[0]->Read(item);
      return servers_[0]->hits() - hits >= kItems * 95 / 100;
    }));
    // K24, K26: nothing that we made lives for ever.
    const std::string keys = redis_->Command({"KEYS", "*"});
    for (const absl::string_view key : absl::StrSplit(keys, '\n')) {
      CHECK(redis_->Command({"PTTL", std::string(key)}) != "-1");
    }
  }

 private:
  static void Work(Server& server, std::mt19937_64& random) {
    const uint64_t what = random() % 10;
    const auto item = static_cast<int>(random() % kItems);
    if (what < 6) server.Read(item);
    if (what == 6 || what == 7) server.Write(item, what == 6 ? 1 : -1);
    if (what > 7) server.Use(1 + static_cast<int64_t>(random() % kUsers), random());
    if (what == 9) server.Settle();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  static Calls CallsOf(const Server& server) { return {server.calls(), server.slow_calls()}; }
  Calls CallsSoFar() const {
    Calls calls;
    for (const auto& server : servers_) {
      calls.all += server->calls();
      calls.slow += server->slow_calls();
    }
    return calls;
  }

  Store store_;
  Store control_store_;
  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<RedisServer> control_redis_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<Server> control_;
  // While the fault stood.
  Calls calls_;
  Calls control_calls_;
};

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
