// The whole data tier under torture: two servers, a Redis Cluster of 3 masters and 3 replicas, and
// a primary with a synchronous and an asynchronous standby, while masters of Redis are killed,
// slots move, replicas pause, and the primary is failed over to the synchronous standby. Every
// answer is judged, and in the end all copies of every count are compared.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cache/redis/slot.h"
#include "clients/verify/checker.h"
#include "clients/verify/history.h"
#include "clients/verify/pair_load.h"
#include "tests/integration/admin_client.h"
#include "tests/integration/replicated_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using verify::SteadyNow;
using Random = std::mt19937_64;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr int kPostgresServers = 3;

void RequireOk(const absl::Status& status) {
  INFO(status);
  REQUIRE(status.ok());
}

ReplicatedStack::Options StackOptions() {
  ReplicatedStack::Options options;
  options.postgres.standbys = kPostgresServers - 1;
  options.postgres.synchronous = true;
  options.primary_is_replica = true;
  options.redis_cluster = true;
  options.settings = {{"ADMIN_LISTEN", "127.0.0.1:0"},
                      {"CHECK_WRITES_PER_SECOND", "20"},
                      {"DURABILITY", "replicated"},
                      {"NEAR_CACHE_MILLISECONDS", "400"}};
  return options;
}

// The stack, and who of its PostgreSQL servers is what.
class Tier {
 public:
  Tier() : stack_(StackOptions()) {
    roles_ = {&stack_.postgres.primary(), &stack_.postgres.standby(0), &stack_.postgres.standby(1)};
    names_ = {"standby2", ReplicatedPostgres::StandbyName(0), ReplicatedPostgres::StandbyName(1)};
  }

  ReplicatedStack& stack() { return stack_; }
  PostgresServer& primary() { return *roles_[0]; }
  PostgresServer& synchronous() { return *roles_[1]; }
  PostgresServer& asynchronous() { return *roles_[2]; }
  std::string Sql(const PostgresServer& server, const std::string& sql) const {
    return stack_.postgres.Sql(server, sql);
  }

  // The primary is lost; the synchronous standby takes over, and waits for what was the
  // asynchronous one. The old primary comes back, empty, as the asynchronous one.
  void FailOver() {
    primary().Kill9();
    Sql(synchronous(),
        absl::StrCat("ALTER SYSTEM SET synchronous_standby_names = '", names_[2], "'"));
    RequireOk(synchronous().Reload());
    RequireOk(synchronous().Promote());
    std::rotate(roles_.begin(), roles_.begin() + 1, roles_.end());
    std::rotate(names_.begin(), names_.begin() + 1, names_.end());
    // It may have more of the old primary's log than the one that took over.
    RequireOk(synchronous().RebuildAsStandbyOf(primary(), names_[1]));
    RequireOk(asynchronous().RebuildAsStandbyOf(primary(), names_[2]));
  }

  // Whether both servers take writes of all lanes.
  bool Serves() {
    ++probes_;
    for (int i = 0; i < ReplicatedStack::kServers; ++i) {
      std::vector<client::Mutation> mutations;
      for (int64_t item = 1; item <= 8; ++item)
        mutations.push_back({1'000'000 + probes_, {"reel", item}});
      const auto reply = stack_.client(i).WriteLikes(mutations, {.deadline = absl::Seconds(2)});
      if (!reply.ok()) return false;
      for (const auto& result : reply->results)
        if (!result.ok()) return false;
    }
    return true;
  }

 private:
  ReplicatedStack stack_;
  std::array<PostgresServer*, kPostgresServers> roles_;
  std::array<std::string, kPostgresServers> names_;
  int64_t probes_ = 0;
};

struct Trouble {
  std::string name;
  std::function<void(Random& random)> happen;
};

void MoveSlots(RedisCluster& cluster, Random& random) {
  for (int i = 0; i < 8; ++i) {
    const std::string key = absl::StrCat("counter:post:", 1 + random() % 40);
    const std::vector<int> masters = cluster.Masters();
    const int from = cluster.OwnerOf(key);
    const auto at = std::find(masters.begin(), masters.end(), from) - masters.begin();
    const int to = masters[static_cast<size_t>(at + 1) % masters.size()];
    RequireOk(cluster.MoveSlot(redis::SlotOf(key), from, to));
  }
}

void KillMaster(RedisCluster& cluster, Random& random) {
  const std::vector<int> masters = cluster.Masters();
  const int victim = masters[random() % masters.size()];
  cluster.node(victim).Kill9();
  REQUIRE(Eventually(kPatience * Slowness(), [&] {
    const std::vector<int> now = cluster.Masters();
    return now.size() == masters.size() && std::find(now.begin(), now.end(), victim) == now.end();
  }));
  RequireOk(cluster.node(victim).Restart());
  REQUIRE(cluster.ComesToBeWhole(kPatience * Slowness()));
}

absl::Duration Moment(Random& random) { return absl::Milliseconds(200 + random() % 800); }

// The first four are the short form's.
std::vector<Trouble> Troubles(Tier& tier) {
  RedisCluster& cluster = tier.stack().cluster();
  std::vector<Trouble> troubles;
  troubles.push_back({"a replica stops replaying", [&tier](Random& random) {
                        tier.Sql(tier.asynchronous(), "SELECT pg_wal_replay_pause()");
                        absl::SleepFor(Moment(random));
                        tier.Sql(tier.asynchronous(), "SELECT pg_wal_replay_resume()");
                      }});
  troubles.push_back({"slots move", [&cluster](Random& random) { MoveSlots(cluster, random); }});
  troubles.push_back(
      {"a master of Redis is killed", [&cluster](Random& random) { KillMaster(cluster, random); }});
  troubles.push_back({"the primary is failed over", [&tier](Random&) { tier.FailOver(); }});
  troubles.push_back({"a replica hangs", [&tier](Random& random) {
                        tier.asynchronous().SignalAll(SIGSTOP);
                        absl::SleepFor(Moment(random));
                        tier.asynchronous().SignalAll(SIGCONT);
                      }});
  troubles.push_back({"the synchronous standby hangs", [&tier](Random& random) {
                        tier.synchronous().SignalAll(SIGSTOP);
                        absl::SleepFor(Moment(random));
                        tier.synchronous().SignalAll(SIGCONT);
                      }});
  troubles.push_back({"a master of Redis hands over", [&cluster](Random& random) {
                        const std::vector<int> masters = cluster.Masters();
                        RequireOk(
                            cluster.FailOver(cluster.node(masters[random() % masters.size()])));
                        REQUIRE(cluster.ComesToBeWhole(kPatience * Slowness()));
                      }});
  return troubles;
}

int64_t Number(absl::string_view text) {
  int64_t number = 0;
  REQUIRE(absl::SimpleAtoi(text, &number));
  return number;
}

// The rows of two numbers that psql prints.
std::vector<std::pair<int64_t, int64_t>> Rows(const std::string& text) {
  std::vector<std::pair<int64_t, int64_t>> rows;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> cells = absl::StrSplit(line, '|');
    rows.emplace_back(Number(cells.first), Number(cells.second));
  }
  return rows;
}

verify::FinalState StateOf(Tier& tier) {
  verify::FinalState state;
  for (const auto& [user, item] : Rows(
           tier.Sql(tier.primary(), "SELECT user_id, item_id FROM user_likes WHERE item_type = 1")))
    state.likes.insert({user, item});
  for (const auto& [item, count] :
       Rows(tier.Sql(tier.primary(), "SELECT item_id, count FROM counters WHERE item_type = 1")))
    state.counts[item] = count;
  const cli::Ran audit = RunAdmin(tier.stack().server(0), {"audit"});
  if (audit.status != 0) state.drifts.push_back(audit.out + audit.err);
  return state;
}

// All copies of every count, through each server: none diverges, and after a moment none is late.
void RequireAllCopiesEqual(Tier& tier) {
  std::vector<std::string> items;
  for (const auto& [item, count] :
       Rows(tier.Sql(tier.primary(), "SELECT item_id, count FROM counters WHERE item_type = 1")))
    items.push_back(absl::StrCat("post:", item));
  constexpr size_t kItemsACall = 100;
  for (int i = 0; i < ReplicatedStack::kServers; ++i) {
    const std::string target = AdminTarget(tier.stack().server(i));
    for (size_t first = 0; first < items.size(); first += kItemsACall) {
      std::vector<std::string> args = {"check", "--admin-server", target, "--wait", "10s"};
      const size_t last = std::min(first + kItemsACall, items.size());
      for (size_t at = first; at < last; ++at) args.push_back(items[at]);
      const cli::Ran ran = cli::RunWith(args);
      INFO(ran.err);
      CHECK(ran.status == 0);
      for (const char* bad : {" diverged ", " behind ", " ahead "}) {
        INFO(ran.out);
        CHECK_FALSE(absl::StrContains(ran.out, bad));
      }
    }
    // And of all that was sampled meanwhile.
    const cli::Ran ran = cli::RunWith({"check", "--admin-server", target});
    INFO(ran.out << ran.err);
    CHECK(ran.status == 0);
    WARN("server " << i << ": " << ran.err);
    const CounterServer& server = tier.stack().server(i);
    constexpr char kChecked[] = "counter_check_copies_total";
    CHECK(MetricOf(server, kChecked, {{"result", "equal"}, {"layer", "recount"}}) > 0);
    CHECK(MetricOf(server, kChecked, {{"result", "diverged"}}) == 0);
    CHECK(MetricOf(server, kChecked, {{"result", "behind"}, {"layer", "primary"}}) == 0);
  }
}

TEST_CASE(
    "no like is lost, doubled or miscounted, no read breaks its mode and no copy diverges while "
    "Redis Cluster, replicas and the primary fail and are failed over") {
  Tier tier;
  Random random(TestSeed());
  verify::PairLoadOptions load_options;
  load_options.seed = TestSeed();
  verify::PairLoad load({&tier.stack().client(0), &tier.stack().client(1)}, load_options);
  const verify::Instant start = SteadyNow();
  const verify::Instant end =
      start + absl::ToInt64Microseconds(Sized(absl::ZeroDuration(), absl::Minutes(10)));
  std::vector<Trouble> troubles = Troubles(tier);
  if (!LongForm()) troubles.resize(4);
  std::shuffle(troubles.begin(), troubles.end(), random);
  std::vector<verify::Disturbance> disturbances;
  std::string schedule;
  for (size_t i = 0; i < troubles.size() || SteadyNow() < end; ++i) {
    absl::SleepFor(absl::Milliseconds(random() % Sized(300, 3000)));
    const Trouble& trouble =
        i < troubles.size() ? troubles[i] : troubles[random() % troubles.size()];
    INFO(schedule << trouble.name);
    const verify::Instant from = SteadyNow();
    trouble.happen(random);
    const verify::Instant ended = SteadyNow();
    REQUIRE(Eventually(kPatience * Slowness(), [&] { return tier.Serves(); }));
    const verify::Instant healed = SteadyNow();
    disturbances.push_back({from, healed, trouble.name});
    absl::StrAppend(&schedule, (from - start) / 1000, " ms: ", trouble.name, ", took ",
                    (ended - from) / 1000, " ms, served ", (healed - ended) / 1000, " ms later\n");
  }
  verify::Bounds bounds;
  bounds.cached = absl::Milliseconds(2500) * Slowness();
  bounds.heal = absl::Seconds(5) * Slowness();
  if (LongForm()) absl::SleepFor(bounds.heal + absl::Seconds(1));
  verify::History history = load.Stop();
  verify::Append(history, {{}, {}, {}, disturbances});
  INFO("COUNTER_TEST_SEED=" << TestSeed() << "\n" << schedule);
  CHECK_FALSE(load.totals().fatal.has_value());
  if (load.totals().fatal.has_value()) WARN(load.totals().fatal->ToString());
  const std::vector<verify::Finding> findings = verify::Check(history, StateOf(tier), bounds);
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(findings.size(), kShown); ++i) {
    FAIL_CHECK(verify::Name(findings[i].kind)
               << ", user " << findings[i].pair.user << " item " << findings[i].pair.item << ": "
               << findings[i].what << "\n"
               << verify::LogOf(history, findings[i].pair, start));
  }
  CHECK(findings.empty());
  WARN(load.totals().calls << " calls, " << load.totals().failed << " failed, "
                           << history.writes.size() << " likes and unlikes; " << troubles.size()
                           << " kinds of trouble:\n"
                           << schedule);
  RequireAllCopiesEqual(tier);
}

}  // namespace
}  // namespace counter::testing
