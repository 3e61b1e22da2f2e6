// What callers of two servers notice when a Redis Cluster changes under load (K22 and K26 of what
// others met): slots that move, a master that dies, a cluster that is down: nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cache/redis/slot.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_counted.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using client::Item;
using client::Source;

constexpr absl::Duration kLong = absl::Seconds(30);

// Less than what two processors can do, or nothing is in time without any fault.
MixedLoadOptions SomeLoad() {
  MixedLoadOptions options;
  options.single_writers = 4;
  options.batch_writers = 1;
  options.readers = 2;
  return options;
}

void RequireOk(const absl::Status& status) {
  INFO(status);
  REQUIRE(status.ok());
}

void RequireTrueAndSound(const FullStack& stack) {
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
  stack.RequireSound();
}

// 500 counts in one call come whole, and from the cache.
void RequireBatchIsServed(const FullStack& stack) {
  std::vector<Item> posts;
  for (int64_t post = 1; post <= 500; ++post) posts.push_back(Post(post));
  CHECK(Eventually(absl::Seconds(10) * Slowness(), [&] {
    const auto read = stack.client(0).Counts(posts);
    if (!read.ok() || read->counts.size() != posts.size()) return false;
    return std::all_of(read->counts.begin(), read->counts.end(),
                       [](const auto& count) { return count.source == Source::kCache; });
  }));
}

// The node that has taken over from a master that does not run; -1 if none has.
int Successor(const RedisCluster& cluster, const std::vector<int>& masters_before) {
  for (const int master : cluster.Masters()) {
    if (std::find(masters_before.begin(), masters_before.end(), master) == masters_before.end())
      return master;
  }
  return -1;
}

TEST_CASE("K22: slots that move under load cost no call, no count and no storm of questions") {
  FullStack stack;
  const RedisCluster& cluster = stack.cluster();
  MixedLoad load(stack, SomeLoad());
  absl::SleepFor(absl::Milliseconds(500));
  const Counted before = CountedBy(stack);
  const absl::Time start = absl::Now();
  // Those of the load's posts and users, and others; each to the next master and back.
  const int moves = Sized(100, 500);
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < moves; ++i) {
    const std::string key = i % 2 == 0 ? absl::StrCat("counter:post:", 1 + i / 2 % 30)
                                       : absl::StrCat("{", 1 + random() % 40, "}");
    const std::vector<int> masters = cluster.Masters();
    const int from = cluster.OwnerOf(key);
    const auto at = std::find(masters.begin(), masters.end(), from) - masters.begin();
    const int to = masters[static_cast<size_t>(at + 1) % masters.size()];
    RequireOk(cluster.MoveSlot(redis::SlotOf(key), from, to));
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const Counted after = CountedBy(stack);
  const MixedLoadReport report = load.Stop();
  RequireFlawless(report, stack);
  CHECK(after.redirects > before.redirects);
  // For moments two nodes may send us to each other: then a command is given up after five sends.
  CHECK(after.given_up - before.given_up <= (after.redirects - before.redirects) / 10 + 5);
  CHECK(after.map_refreshes - before.map_refreshes <= seconds + 2);
  WARN(moves << " slots moved in " << seconds << " s: " << after.redirects - before.redirects
             << " redirections, " << after.map_refreshes - before.map_refreshes
             << " maps, a share of " << HitRatio(before, after) << " hits");
  RequireBatchIsServed(stack);
  RequireTrueAndSound(stack);
}

TEST_CASE("K22: a master that is killed under load costs nobody a call, and its hits come back") {
  FullStack stack;
  const RedisCluster& cluster = stack.cluster();
  MixedLoadOptions options = SomeLoad();
  // The replica need not have had the last puts.
  options.cached_counts_may_go_back = true;
  MixedLoad load(stack, options);
  absl::SleepFor(absl::Seconds(1));
  const Counted start = CountedBy(stack);
  absl::SleepFor(absl::Seconds(1));
  const double usual_ratio = HitRatio(start, CountedBy(stack));
  const std::vector<int> masters = cluster.Masters();
  stack.redis().Kill9();
  CHECK(Eventually(kLong * Slowness(), [&] { return Successor(cluster, masters) >= 0; }));
  const absl::Time taken_over = absl::Now();
  CHECK(HitsAreBack(stack, usual_ratio));
  const absl::Duration back_after = absl::Now() - taken_over;
  const MixedLoadReport report = load.Stop();
  WARN("hits, usually " << usual_ratio << ", are back " << back_after
                        << " after the replica took over");
  RequireFlawless(report, stack);
  for (int i = 0; i < FullStack::kServers; ++i)
    CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
      return MetricOf(stack.server(i), "counter_redis_connected") == 1 &&
             MetricOf(stack.server(i), "counter_redis_nodes") == RedisCluster::kMasters;
    }));
  RequireTrueAndSound(stack);
  RequireOk(stack.redis().Restart());
}

TEST_CASE("K26: flushes and failovers at random under load leave the counts exact") {
  // Nobody reaches it; but a like asks Redis for it.
  const Settings limited = {{"RATE_LIMIT_REQUESTS", "1000000"}};
  FullStack stack(limited);
  const RedisCluster& cluster = stack.cluster();
  MixedLoadOptions options = SomeLoad();
  options.cached_counts_may_go_back = true;
  MixedLoad load(stack, options);
  std::mt19937_64 random(TestSeed());
  const absl::Time end = absl::Now() + Sized(absl::Seconds(5), absl::Minutes(5));
  int failovers = 0;
  int flushes = 0;
  for (uint64_t round = 0; absl::Now() < end || failovers == 0; ++round) {
    absl::SleepFor(absl::Milliseconds(random() % 300));
    const std::vector<int> masters = cluster.Masters();
    const RedisServer& master = cluster.node(masters[random() % masters.size()]);
    if (round % 3 == 2 && cluster.ComesToBeWhole(kLong * Slowness())) {
      RequireOk(cluster.FailOver(master));
      ++failovers;
    } else {
      flushes += master.Command({"FLUSHALL"}) == "OK" ? 1 : 0;
    }
  }
  const MixedLoadReport report = load.Stop();
  WARN(flushes << " flushes, " << failovers << " failovers");
  RequireFlawless(report, stack);
  RequireTrueAndSound(stack);
}

TEST_CASE("K22: while the cluster is down reads and writes go on from PostgreSQL, and it heals") {
  FullStack stack;
  const RedisCluster& cluster = stack.cluster();
  REQUIRE(stack.client(0).WriteLikes(LikesOf(Post(1), 7)).ok());
  const auto ask_for_full_coverage = [&](const char* answer) {
    for (int i = 0; i < RedisCluster::kNodes; ++i)
      cluster.node(i).Command({"CONFIG", "SET", "cluster-require-full-coverage", answer});
  };
  ask_for_full_coverage("yes");
  // A master and whoever could take over from it: a cluster without some of its slots is down.
  std::vector<RedisServer*> gone = {&stack.redis()};
  for (int i = 0; i < RedisCluster::kNodes; ++i) {
    const std::vector<int> masters = cluster.Masters();
    if (std::find(masters.begin(), masters.end(), i) == masters.end())
      gone.push_back(&cluster.node(i));
  }
  for (RedisServer* node : gone) node->Kill9();
  const auto down = [&] {
    return MetricOf(stack.server(0), "counter_redis_redirects_total", {{"kind", "cluster_down"}});
  };
  int64_t post = 1;
  CHECK(Eventually(kLong * Slowness(), [&] {
    ++post;
    REQUIRE(stack.client(0).Count(Post(post)).ok());
    return down() > 0;
  }));
  for (int i = 0; i < FullStack::kServers; ++i) {
    for (int64_t user = 100; user < 130; ++user)
      REQUIRE(stack.client(i).Like(user + 100 * i, Post(user)).ok());
    CHECK(stack.client(i).Count(Post(1)).value().count.count == 7);
    const auto liked = stack.client(i).HasLiked(1, {Post(1), Post(2)});
    REQUIRE(liked.ok());
    CHECK(liked->liked == std::vector<bool>{true, false});
  }
  for (RedisServer* node : gone) RequireOk(node->Restart());
  ask_for_full_coverage("no");
  REQUIRE(cluster.ComesToBeWhole(kLong * Slowness()));
  RequireBatchIsServed(stack);
  RequireTrueAndSound(stack);
}

TEST_CASE("A server that is told of one node of a cluster uses all of it") {
  FullStack stack;
  const auto another = stack.StartAnother({{"REDIS_URL", stack.redis().url()}});
  CHECK(Eventually(absl::Seconds(10) * Slowness(), [&] {
    return MetricOf(*another, "counter_redis_nodes_connected") == RedisCluster::kMasters;
  }));
  CHECK(MetricOf(*another, "counter_redis_connected") == 1);
  REQUIRE(stack.client(0).WriteLikes(LikesOf(Post(1), 3)).ok());
  const Client client = ConnectTo(*another);
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
    const auto read = client.Count(Post(1));
    return read.ok() && read->count.count == 3 && read->count.source == Source::kCache;
  }));
}

}  // namespace
}  // namespace counter::testing
