// Trial: servers that use the caches in a real Redis, under load while a test does something to it.
//
// Only the cache is real: the truth is a TrialStore in this process, and a TrialServer is what a
// server does with its caches, written down once and briefly. Use it for what happens to the cache
// alone; whole servers are in tests/integration.
//
// Threads: a Trial from the test's thread; a TrialServer and a TrialStore any.
#ifndef COUNTER_TESTS_CACHE_REDIS_TRIAL_H_
#define COUNTER_TESTS_CACHE_REDIS_TRIAL_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
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

namespace counter::redis::testing {

using counter::testing::Eventually;
using counter::testing::LongForm;
using counter::testing::RedisServer;
using counter::testing::TestSeed;

inline constexpr int kItems = 50;
inline constexpr int64_t kUsers = 20;
inline constexpr int64_t kLimit = 100;
// A call that takes longer has waited for an answer: the budget is 20 ms.
inline constexpr absl::Duration kSlowCall = absl::Milliseconds(10);
// A fault may cost every caller his budget until the breaker opens, and then nothing: so many of
// the calls while it stands may be slow, beyond what the machine makes slow.
inline constexpr double kSlowShareMax = 0.02;

inline Item ItemOf(int index) { return {ItemType{1}, index + 1}; }

// The truth, in this process.
class TrialStore {
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
class TrialServer {
 public:
  TrialServer(const RedisServer& redis, TrialStore& store)
      : store_(store), caches_(Options(redis)) {
    caches_.OnNewRun([this](const std::vector<Item>& items) {
      MutexLock lock(mutex_);
      for (const Item& item : items) owed_.push_back(static_cast<int>(item.id) - 1);
    });
    caches_.Start();
  }
  ~TrialServer() { caches_.Stop(); }

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
    const TrialStore::Count count = store_.Read(item);
    if (lookup.kind == CountLookup::Kind::kLease) Put(item, count, lookup.token);
  }
  void Write(int item, int64_t delta) {
    const TrialStore::Count count = store_.Change(item, delta);
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
      const TrialStore::Count count = store_.Read(item);
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
  bool Put(int item, const TrialStore::Count& count, FillToken token) {
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

  TrialStore& store_;
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

inline std::unique_ptr<RedisServer> StartRedis(const RedisServer::Options& options = {}) {
  auto started = RedisServer::Start(options);
  INFO(started.status().ToString());
  REQUIRE(started.ok());
  return *std::move(started);
}

struct Calls {
  int64_t all = 0;
  int64_t slow = 0;
};
inline Calls operator-(const Calls& to, const Calls& from) {
  return {to.all - from.all, to.slow - from.slow};
}
inline double SlowShare(const Calls& calls) {
  return static_cast<double>(calls.slow) / static_cast<double>(std::max<int64_t>(calls.all, 1));
}

// Two servers over one Redis and one store, under load while `fault` runs on this thread. Beside
// them is a server over a Redis of its own that nothing is done to: what is slow there, too, is the
// machine's doing.
class Trial {
 public:
  explicit Trial(const RedisServer::Options& options = {})
      : redis_(StartRedis(options)), control_redis_(StartRedis()) {
    for (int i = 0; i < 2; ++i) servers_.push_back(std::make_unique<TrialServer>(*redis_, store_));
    control_ = std::make_unique<TrialServer>(*control_redis_, control_store_);
    for (auto& server : servers_) REQUIRE(BecomesUsable(server->caches().connection()));
    REQUIRE(BecomesUsable(control_->caches().connection()));
  }

  RedisServer& redis() { return *redis_; }
  TrialServer& server(int i) { return *servers_[i]; }

  void Under(const std::function<void()>& fault) {
    constexpr int kWorkers = 4;
    constexpr int kControlWorkers = 2;
    std::atomic<bool> over = false;
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kWorkers + kControlWorkers; ++worker) {
      TrialServer& server = worker < kWorkers ? *servers_[worker % 2] : *control_;
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
      const TrialStore::Count count = store_.Read(item);
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
  static void Work(TrialServer& server, std::mt19937_64& random) {
    const uint64_t what = random() % 10;
    const auto item = static_cast<int>(random() % kItems);
    if (what < 6) server.Read(item);
    if (what == 6 || what == 7) server.Write(item, what == 6 ? 1 : -1);
    if (what > 7) server.Use(1 + static_cast<int64_t>(random() % kUsers), random());
    if (what == 9) server.Settle();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  static Calls CallsOf(const TrialServer& server) { return {server.calls(), server.slow_calls()}; }
  Calls CallsSoFar() const {
    Calls calls;
    for (const auto& server : servers_) {
      calls.all += server->calls();
      calls.slow += server->slow_calls();
    }
    return calls;
  }

  TrialStore store_;
  TrialStore control_store_;
  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<RedisServer> control_redis_;
  std::vector<std::unique_ptr<TrialServer>> servers_;
  std::unique_ptr<TrialServer> control_;
  // While the fault stood.
  Calls calls_;
  Calls control_calls_;
};

}  // namespace counter::redis::testing

#endif  // COUNTER_TESTS_CACHE_REDIS_TRIAL_H_
