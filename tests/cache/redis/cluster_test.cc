// The caches on a real Redis Cluster: finding its nodes, following redirections, and what the loss
// of a node costs. What callers of whole servers see is tests/integration/full_stack_cluster_test.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "cache/redis/redis_caches.h"
#include "tests/cache/redis/live_cluster.h"
#include "tests/cache/redis/live_redis.h"

namespace counter::redis::testing {
namespace {

using counter::testing::Eventually;
using counter::testing::RedisCluster;
using counter::testing::Slowness;

constexpr absl::Duration kPatient = absl::Seconds(5);

MonotonicTime In(absl::Duration budget) { return Clock::System().MonotonicNow() + budget; }

Commands Gets(const std::vector<std::string>& keys) {
  Commands commands;
  for (const std::string& key : keys) commands.Add({"GET", key}, SlotOf(key));
  return commands;
}
Answer AskIn(Connection& connection, Commands commands, absl::Duration budget = kPatient) {
  return BlockingWait(Ask(connection, std::move(commands), In(budget)));
}

std::vector<std::string> SomeKeys(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(absl::StrCat("counter:post:", i));
  return keys;
}

// A cluster that a case may break.
std::unique_ptr<RedisCluster> OwnCluster() {
  auto cluster = RedisCluster::Start();
  INFO(cluster.status().ToString());
  REQUIRE(cluster.ok());
  return *std::move(cluster);
}

RedisCachesOptions CachesOptions(const RedisCluster& cluster) {
  RedisCachesOptions options;
  options.connection = OptionsFor(cluster);
  options.type_names = {{1, "post"}};
  return options;
}

TEST_CASE("cluster: it is recognised by any node, master or replica, of a URL for one server") {
  RedisCluster& cluster = LiveCluster::cluster();
  for (const int node : {0, 2, 4}) {
    CAPTURE(node);
    Connection connection(OptionsFor(cluster, {node}));
    CHECK_FALSE(connection.by_slot());
    connection.Start();
    REQUIRE(BecomesWhole(connection));
    CHECK(connection.by_slot());
    CHECK(connection.Stats().nodes == RedisCluster::kMasters);
    CHECK(connection.Stats().nodes_ready == RedisCluster::kMasters);
    const Answer answer = AskIn(connection, Gets(SomeKeys(100)));
    REQUIRE(answer);
    for (const Reply& reply : *answer) CHECK(reply.is_nil());
    CHECK(connection.Stats().moved == 0);
  }
}

TEST_CASE("cluster: of several hosts one that answers is enough") {
  RedisCluster& cluster = LiveCluster::cluster();
  ConnectionOptions options = OptionsFor(cluster, {1});
  options.address.others = {{options.address.host, options.address.port}, {"127.0.0.1", 1}};
  options.address.host = "no-such-host.invalid";
  Connection connection(options);
  connection.Start();
  CHECK(BecomesWhole(connection, absl::Seconds(20)));
}

TEST_CASE("cluster: several hosts that are no cluster are not used, and it is said why") {
  ConnectionOptions options = OptionsFor(LiveRedis::server());
  options.address.others = {{"127.0.0.1", options.address.port}, {"127.0.0.1", 1}};
  Connection connection(options);
  connection.Start();
  REQUIRE(Eventually(absl::Seconds(10) * Slowness(),
                     [&] { return absl::StrContains(connection.LastTrouble(), "of no cluster"); }));
  CHECK_FALSE(connection.usable());
}

TEST_CASE(
    "cluster: D11: reads, fills, puts and limits of many items go to all nodes, none is lost") {
  LiveCluster live;
  const Keys keys({{1, "post"}});
  RedisCountCacheOptions options;
  options.budget = kPatient;
  RedisCountCache counts(live.connection(), keys, Clock::System(), options);
  constexpr int64_t kItems = 500;
  std::vector<Item> items;
  for (int64_t id = 1; id <= kItems; ++id) items.push_back({ItemType{1}, id});

  std::vector<CountPut> fills;
  for (const CountLookup& lookup : BlockingWait(counts.Get(items))) {
    REQUIRE(lookup.kind == CountLookup::Kind::kLease);
    fills.push_back({{lookup.entry.item, lookup.entry.item.id * 10, 1, Clock::System().WallNow()},
                     lookup.token});
  }
  CHECK(BlockingWait(counts.Put(fills)));
  const std::vector<CountLookup> lookups = BlockingWait(counts.Get(items));
  for (const CountLookup& lookup : lookups) {
    REQUIRE(lookup.kind == CountLookup::Kind::kHit);
    REQUIRE(lookup.entry.count == lookup.entry.item.id * 10);
  }
  for (int node = 0; node < RedisCluster::kMasters; ++node)
    CHECK(std::stoll(LiveCluster::cluster().node(node).Command({"DBSIZE"})) > kItems / 5);

  RedisRateLimiterOptions limits;
  limits.limit = 3;
  limits.budget = kPatient;
  RedisRateLimiter limiter(live.connection(), Clock::System(), limits);
  std::vector<LikeCharge> charges;
  for (int64_t user = 1; user <= 300; ++user) charges.push_back({UserId{user}, 1 + user % 5});
  const std::vector<LikeGrant> grants = BlockingWait(limiter.Reserve(charges));
  for (size_t i = 0; i < charges.size(); ++i)
    CHECK(grants[i].granted == std::min<int64_t>(charges[i].likes, 3));
  CHECK(limiter.fallbacks() == 0);
  // Nothing was refused for its slots, and what goes to one node left together.
  const ConnectionStats stats = live.connection().Stats();
  CHECK(stats.moved + stats.given_up == 0);
  CHECK(stats.commands > 10 * stats.writes);
}

TEST_CASE("cluster: keys of a slot on its way are found by ASK, which changes no map") {
  LiveCluster live;
  RedisCluster& cluster = LiveCluster::cluster();
  const std::string there = "counter:post:{42}a";
  const std::string gone = "counter:post:{42}b";
  const int slot = SlotOf(there);
  const int from = cluster.OwnerOf(there);
  const int to = (from + 1) % RedisCluster::kMasters;
  REQUIRE(live.Ask({"SET", there, "1"}).is_status("OK"));
  const ConnectionStats before = live.connection().Stats();
  REQUIRE(cluster.BeginMove(slot, from, to).ok());
  for (int i = 0; i < 20; ++i) {
    CHECK(live.Ask({"GET", there}) == Reply{Reply::Kind::kText, 0, "1", {}});
    CHECK(live.Ask({"SET", gone, absl::StrCat(i)}).is_status("OK"));
    CHECK(live.Ask({"GET", gone}).text == absl::StrCat(i));
  }
  const ConnectionStats during = live.connection().Stats();
  CHECK(during.asked - before.asked >= 40);
  CHECK(during.moved == before.moved);
  // A map is asked for now and then without a reason, too.
  CHECK(during.maps_taken - before.maps_taken <= 1);

  REQUIRE(cluster.EndMove(slot, from, to).ok());
  CHECK(live.Ask({"GET", gone}).text == "19");
  CHECK(live.Ask({"GET", there}).text == "1");
  // By then it may have learned of it from a map.
  CHECK(live.connection().Stats().moved - during.moved <= 1);
  REQUIRE(Eventually(absl::Seconds(5) * Slowness(),
                     [&] { return live.connection().Stats().maps_taken > before.maps_taken; }));
  CHECK(live.Ask({"GET", there}).text == "1");
  REQUIRE(cluster.MoveSlot(slot, to, from).ok());
}

TEST_CASE(
    "cluster: K22: slots that move under load cost no answer, five sends and a map a second") {
  LiveCluster live;
  RedisCluster& cluster = LiveCluster::cluster();
  const std::vector<std::string> keys = SomeKeys(200);
  for (const std::string& key : keys) REQUIRE(live.Ask({"SET", key, key}).is_status("OK"));
  const ConnectionStats before = live.connection().Stats();
  const MonotonicTime start = Clock::System().MonotonicNow();
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0;
  std::atomic<int64_t> asked = 0;
  std::atomic<int64_t> unanswered = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!over) {
        const Answer answer = AskIn(live.connection(), Gets(keys));
        for (size_t i = 0; i < keys.size(); ++i) {
          const bool is_answered = answer && !(*answer)[i].is_error("UNANSWERED");
          if (!is_answered) ++unanswered;
          if (is_answered && (*answer)[i].text != keys[i]) ++wrong;
        }
        asked += static_cast<int64_t>(keys.size());
      }
    });
  }
  const int moves = counter::testing::Sized(60, 500);
  std::vector<std::pair<int, int>> moved;  // A slot, and where it came from.
  for (int i = 0; i < moves; ++i) {
    const std::string& key = keys[static_cast<size_t>(i) % keys.size()];
    const int from = cluster.OwnerOf(key);
    const absl::Status status =
        cluster.MoveSlot(SlotOf(key), from, (from + 1) % RedisCluster::kMasters);
    INFO(status);
    REQUIRE(status.ok());
    moved.emplace_back(SlotOf(key), from);
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
  const ConnectionStats after = live.connection().Stats();
  const double seconds = absl::ToDoubleSeconds(Between(start, Clock::System().MonotonicNow()));
  CHECK(wrong == 0);
  CHECK(after.moved > before.moved);
  // For moments two nodes may send us to each other.
  CHECK(unanswered <= asked / 100);
  const auto maps = [](const ConnectionStats& stats) {
    return stats.maps_taken + stats.maps_refused + stats.maps_lost;
  };
  CHECK(static_cast<double>(maps(after) - maps(before)) <= seconds + 2);
  WARN(asked << " keys read, " << unanswered << " unanswered, while " << moves << " slots moved in "
             << seconds << " s: " << after.moved - before.moved << " by MOVED, "
             << after.asked - before.asked << " by ASK, " << after.tried_again - before.tried_again
             << " again, " << maps(after) - maps(before) << " maps");
}

TEST_CASE(
    "cluster: a master that is dead costs its slots alone, and nobody his time, till it heals") {
  const auto cluster = OwnCluster();
  RedisCaches caches(CachesOptions(*cluster));
  Mutex mutex;
  std::vector<Item> lost ABSL_GUARDED_BY(mutex);
  caches.OnNewRun([&](const std::vector<Item>& items) {
    MutexLock lock(mutex);
    lost.insert(lost.end(), items.begin(), items.end());
  });
  caches.Start();
  REQUIRE(BecomesWhole(caches.connection()));
  const Keys keys({{1, "post"}});
  std::vector<Item> items;
  std::set<Item> of_victim;
  const int victim = cluster->OwnerOf(keys.Count({ItemType{1}, 1}));
  for (int64_t id = 1; id <= 60; ++id) {
    items.push_back({ItemType{1}, id});
    if (cluster->OwnerOf(keys.Count(items.back())) == victim) of_victim.insert(items.back());
  }
  const auto fill = [&] {
    std::vector<CountPut> puts;
    for (const CountLookup& lookup : BlockingWait(caches.counts().Get(items)))
      puts.push_back({{lookup.entry.item, 7, 1, Clock::System().WallNow()}, lookup.token});
    return BlockingWait(caches.counts().Put(puts));
  };
  const auto hits = [&] {
    std::set<Item> found;
    for (const CountLookup& lookup : BlockingWait(caches.counts().Get(items))) {
      if (lookup.kind == CountLookup::Kind::kHit) found.insert(lookup.entry.item);
    }
    return found;
  };
  // A machine that is busy makes single calls miss the cache's budget: they are tried again.
  REQUIRE(Eventually(absl::Seconds(10), [&] { return fill() && hits().size() == items.size(); }));

  const bool is_killed = GENERATE(true, false);
  CAPTURE(is_killed);
  if (is_killed)
    cluster->node(victim).Kill9();
  else
    cluster->node(victim).Pause();
  // Within a few budgets nobody waits for it any more, and the others serve as before.
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
    const MonotonicTime start = Clock::System().MonotonicNow();
    const std::set<Item> found = hits();
    return found.size() == items.size() - of_victim.size() &&
           Between(start, Clock::System().MonotonicNow()) < absl::Milliseconds(10);
  }));
  CHECK(caches.connection().usable());
  CHECK_FALSE(hits().count(*of_victim.begin()) > 0);

  // Its replica takes over: all is served again, and what may have been lost is told.
  REQUIRE(Eventually(absl::Seconds(15) * Slowness(), [&] {
    fill();
    return hits().size() == items.size();
  }));
  REQUIRE(Eventually(absl::Seconds(5) * Slowness(), [&] {
    MutexLock lock(mutex);
    return !lost.empty();
  }));
  {
    MutexLock lock(mutex);
    CHECK(std::set<Item>(lost.begin(), lost.end()) == of_victim);
  }
  CHECK(caches.connection().Stats().nodes == RedisCluster::kMasters);
  caches.Stop();
}

TEST_CASE(
    "cluster: a node that comes back as another run may have lost its slots, and only those") {
  const auto cluster = OwnCluster();
  Connection connection(OptionsFor(*cluster));
  Mutex mutex;
  SlotSet lost ABSL_GUARDED_BY(mutex);
  connection.OnNewRun([&](const SlotSet& slots) {
    MutexLock lock(mutex);
    lost |= slots;
  });
  connection.Start();
  REQUIRE(BecomesWhole(connection));
  // Sooner than its replica can take over.
  cluster->node(1).Kill9();
  REQUIRE(cluster->node(1).Restart().ok());
  REQUIRE(Eventually(absl::Seconds(15) * Slowness(), [&] {
    MutexLock lock(mutex);
    return lost.any();
  }));
  MutexLock lock(mutex);
  CHECK(lost[static_cast<size_t>(5461)]);  // As redis-cli deals them out, node 1 has 5461 to 10922.
  CHECK_FALSE(lost[0]);
  CHECK_FALSE(lost[16383]);
}

TEST_CASE("cluster: who asks a node for nothing hears by a heartbeat that another one took over") {
  const auto cluster = OwnCluster();
  ConnectionOptions options = OptionsFor(*cluster);
  options.cluster.refresh_period = absl::Hours(1);  // Not by asking for the map now and then.
  Connection connection(options);
  Mutex mutex;
  SlotSet lost ABSL_GUARDED_BY(mutex);
  connection.OnNewRun([&](const SlotSet& slots) {
    MutexLock lock(mutex);
    lost |= slots;
  });
  connection.Start();
  REQUIRE(BecomesWhole(connection));
  // Without asking its master, whose connections stand and see no pause.
  const std::string of_master = absl::StrCat("\n", cluster->node(1).port(), "\n");
  bool takes_over = false;
  for (int node = RedisCluster::kMasters; node < 2 * RedisCluster::kMasters; ++node) {
    if (!absl::StrContains(cluster->node(node).Command({"ROLE"}), of_master)) continue;
    takes_over = cluster->node(node).Command({"CLUSTER", "FAILOVER", "TAKEOVER"}) == "OK";
  }
  REQUIRE(takes_over);
  REQUIRE(Eventually(absl::Seconds(15) * Slowness(), [&] {
    MutexLock lock(mutex);
    return lost[5461];
  }));
  MutexLock lock(mutex);
  CHECK_FALSE(lost[0]);
}

TEST_CASE(
    "cluster: one that is down answers nothing and fails nothing, and is used when it is up") {
  // With full coverage asked for, one lost master takes all slots down until its replica takes
  // over.
  auto started = RedisCluster::Start({.args = {"--cluster-require-full-coverage", "yes"}});
  INFO(started.status().ToString());
  REQUIRE(started.ok());
  RedisCluster& cluster = **started;
  Connection connection(OptionsFor(cluster));
  connection.Start();
  REQUIRE(BecomesWhole(connection));
  cluster.node(0).Kill9();
  cluster.node(3).Kill9();
  cluster.node(4).Kill9();
  cluster.node(5).Kill9();
  const std::vector<std::string> keys = SomeKeys(50);
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] {
    AskIn(connection, Gets(keys));
    return connection.Stats().cluster_down > 0;
  }));
  const Answer answer = AskIn(connection, Gets(keys));
  if (answer) {
    for (const Reply& reply : *answer) CHECK(reply.is_error("UNANSWERED"));
  }
  REQUIRE(cluster.node(0).Restart().ok());
  CHECK(Eventually(absl::Seconds(20) * Slowness(), [&] {
    const Answer healed = AskIn(connection, Gets(keys));
    if (!healed) return false;
    for (const Reply& reply : *healed) {
      if (!reply.is_nil()) return false;
    }
    return true;
  }));
}

TEST_CASE("cluster: K21: it can be stopped at any moment, and everything that waits ends once") {
  RedisCluster& cluster = LiveCluster::cluster();
  for (int i = 0; i < 40; ++i) {
    Connection connection(OptionsFor(cluster));
    connection.Start();
    std::atomic<int> ended = 0;
    if (i % 3 == 1) CHECK(BecomesWhole(connection));
    if (i % 3 == 2) cluster.TellMasters({"CLIENT", "KILL", "TYPE", "normal"}, "1");
    for (int call = 0; call < 20; ++call) {
      connection.Send(
          {Gets(SomeKeys(30)), In(absl::Milliseconds(20)), [&](const Answer&) { ++ended; }});
    }
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i * 80));
    connection.Stop();
    CHECK(ended == 20);
  }
}

TEST_CASE("cluster: commands that do not say their slot are not sent anywhere") {
  LiveCluster live;
  Commands commands;
  commands.Add({"FLUSHALL"});
  const Answer answer = AskIn(live.connection(), std::move(commands), absl::Milliseconds(200));
  CHECK_FALSE(answer.has_value());
}

}  // namespace
}  // namespace counter::redis::testing
