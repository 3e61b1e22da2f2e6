// What happens while the database is slow, locked, restarted, killed or full of connections: known
// faults K03 and K16, and the promise that nothing acknowledged is lost. On real servers.
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/postgres_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
// A user who is none of the load's.
constexpr int64_t kProber = 1'000'000'000;

constexpr const char* kEndSleepers =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";

std::unique_ptr<PostgresServer> OwnServer(const PostgresServer::Options& options = {}) {
  auto server = PostgresServer::Start(options);
  INFO(server.status());
  REQUIRE(server.ok());
  return *std::move(server);
}

std::string Ask(const PostgresServer& server, const std::string& url, const std::string& sql) {
  const auto answer = server.Psql(url, sql);
  INFO(answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

TEST_CASE(
    "K03: callers behind a locked row end at their deadline or are refused, and are not run "
    "afterwards") {
  PostgresServer& server = SharedPostgres();
  const std::string url = MigratedDatabase();
  auto options = TestStoreOptions(url);
  options.lock_timeout = absl::Seconds(30);
  options.statement_timeout = absl::Seconds(60);
  const auto store = OpenTestStore(options);
  REQUIRE(Like(*store, 1, 10).ok());
  const int units_before = static_cast<int>(store->Stats().units);
  auto psql = server.PsqlProcess(url,
                                 "BEGIN; SELECT FROM counters WHERE item_id = 10 FOR UPDATE; "
                                 "SELECT pg_sleep(600)");
  REQUIRE(psql.ok());
  REQUIRE(Eventually(kPatience, [&] {
    return Ask(server, url, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
           "1";
  }));
  const absl::Duration deadline = absl::Milliseconds(200);
  const int callers = Sized(200, 2000);
  // The first like takes the lane; the others wait behind it.
  std::atomic<int> early{0};
  std::atomic<int> late{0};
  std::atomic<int> refused{0};
  std::atomic<int> other{0};
  std::atomic<int> not_applied{0};
  constexpr int kThreads = 20;
  RunWorkers(kThreads, [&](int worker) {
    for (int i = 0; i < callers / kThreads / 10; ++i) {
      std::vector<Mutation> likes;
      for (int j = 0; j < 10; ++j) likes.push_back(LikeOf(100 + worker * 1000 + i * 10 + j, 10));
      const absl::Time begin = absl::Now();
      const auto results = BlockingWait(store->Apply(likes, Within(deadline)));
      const absl::Duration took = absl::Now() - begin;
      const bool is_refused = ReasonOf(results[0].status()) == ErrorReason::kOverloaded;
      if (took < deadline - absl::Milliseconds(1) && !is_refused) ++early;
      if (took > deadline + absl::Milliseconds(1500) * Slowness()) ++late;
      for (const auto& result : results) {
        const ErrorReason reason = ReasonOf(result.status());
        // The lane knows by then that they would wait for longer than they can.
        if (reason == ErrorReason::kOverloaded) {
          ++refused;
        } else if (reason != ErrorReason::kDeadlineExceeded) {
          ++other;
        }
        if (IsNotApplied(result.status())) ++not_applied;
      }
    }
  });
  CHECK(early == 0);
  CHECK(late == 0);
  CHECK(other == 0);
  // All but the one batch that was sent.
  CHECK(not_applied >= callers - options.batch_rows_max);
  CHECK(not_applied < callers);
  // The server would not notice that psql is gone.
  Ask(server, url, kEndSleepers);
  // The connection takes new work once the row is free.
  const auto after = Like(*store, 2, 10);
  INFO(after.status());
  CHECK(after.ok());
  CHECK(store->Stats().dropped + refused >= callers - options.batch_rows_max);
  CHECK(store->Stats().units <= units_before + 3);
  RequireSound(*store, server);
}

TEST_CASE("a locked row does not hold up its neighbours for longer than the lock's limit") {
  PostgresServer& server = SharedPostgres();
  const std::string url = MigratedDatabase();
  auto options = TestStoreOptions(url);
  options.lanes = 1;
  options.lock_timeout = absl::Milliseconds(200);
  const auto store = OpenTestStore(options);
  REQUIRE(Like(*store, 1, 10).ok());
  auto psql = server.PsqlProcess(url,
                                 "BEGIN; SELECT FROM counters WHERE item_id = 10 FOR UPDATE; "
                                 "SELECT pg_sleep(600)");
  REQUIRE(psql.ok());
  REQUIRE(Eventually(kPatience, [&] {
    return Ask(server, url,
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = "
               "current_database()") == "1";
  }));
  std::vector<Mutation> likes;
  for (int item = 5; item <= 15; ++item) likes.push_back(LikeOf(2, item));
  const auto results = BlockingWait(store->Apply(likes, Within(kPatience)));
  for (size_t i = 0; i < likes.size(); ++i) {
    INFO("item " << likes[i].item.id << ": " << results[i].status());
    if (likes[i].item.id == 10) {
      CHECK(IsNotApplied(results[i].status()));
      CHECK(ReasonOf(results[i].status()) == ErrorReason::kStoreUnavailable);
    } else {
      CHECK(results[i].ok());
    }
  }
  Ask(server, url, kEndSleepers);
  RequireSound(*store, server);
}

TEST_CASE("with the database gone, writes and reads fail within a second or so, and heal") {
  const auto server = OwnServer();
  const auto store = OpenTestStore(MigratedDatabase(*server));
  REQUIRE(Like(*store, 1, 10).ok());
  const std::string timeline = store->Timeline();
  const absl::Duration soon = absl::Milliseconds(1500) * Slowness();
  SECTION("killed") {
    server->Kill9();
    absl::Time begin = absl::Now();
    const auto write = Like(*store, 2, 10);
    CHECK(ReasonOf(write.status()) == ErrorReason::kStoreUnavailable);
    const auto read = CountOf(*store, 10);
    CHECK(ReasonOf(read.status()) == ErrorReason::kStoreUnavailable);
    CHECK(absl::Now() - begin < soon);
    // From now on at once, and certainly not applied.
    begin = absl::Now();
    const auto next = Like(*store, 3, 10);
    CHECK(IsNotApplied(next.status()));
    CHECK(absl::Now() - begin < absl::Milliseconds(300) * Slowness());
    CHECK_FALSE(store->Health().ok());
    REQUIRE(server->Restart().ok());
  }
  SECTION("stopped without a word") {
    server->SignalAll(SIGSTOP);
    const absl::Time begin = absl::Now();
    const auto write = Like(*store, 2, 10);
    CHECK(ReasonOf(write.status()) == ErrorReason::kStoreUnavailable);
    const auto read = CountOf(*store, 10);
    CHECK(ReasonOf(read.status()) == ErrorReason::kStoreUnavailable);
    CHECK(absl::Now() - begin < soon + absl::Seconds(1));
    CHECK(Eventually(soon, [&] { return !store->Health().ok(); }));
    server->SignalAll(SIGCONT);
  }
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] { return store->Health().ok(); }));
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] { return Like(*store, 4, 10).ok(); }));
  CHECK(store->Timeline() == timeline);
  RequireSound(*store, *server);
}

TEST_CASE("kill -9 under load, again and again: nothing that was acknowledged is lost") {
  const auto server = OwnServer();
  const std::string url = MigratedDatabase(*server);
  const auto first = OpenTestStore(url);
  const auto second = OpenTestStore(url);
  LoadOptions load;
  load.threads = 12;
  load.batch = 5;
  load.users = 2000;
  load.items = 300;
  BackgroundLoad loader({first.get(), second.get()}, load);
  std::vector<std::string> troubles;
  const int rounds = Sized(1, 10);
  for (int round = 0; round < rounds; ++round) {
    absl::SleepFor(Sized(absl::Milliseconds(500), absl::Seconds(5)));
    server->Kill9();
    const absl::Status restarted = server->Restart();
    if (!restarted.ok()) troubles.emplace_back(restarted.message());
    // Within 5 s of ready both serve again.
    const bool served = Eventually(absl::Seconds(5) * Slowness(), [&] {
      return Like(*first, kProber, 1, absl::Seconds(1)).ok() &&
             Like(*second, kProber, 2, absl::Seconds(1)).ok();
    });
    if (!served) troubles.push_back(absl::StrCat("round ", round, ": not served after 5 s"));
  }
  LoadReport report = loader.Stop();
  CHECK(absl::StrJoin(troubles, "\n") == "");
  INFO("ok " << report.ok << " unknown " << report.unknown << " not applied "
             << report.not_applied);
  CHECK(report.ok > 0);
  CHECK(report.unknown > 0);
  for (const auto& [reason, count] : report.errors) CHECK(reason == ErrorReason::kStoreUnavailable);
  // The test's own likes are among the rows.
  for (const int64_t item : {1, 2}) ++report.pairs[{kProber, item}].unknown_likes;
  CHECK(absl::StrJoin(Contradictions(report, *server, url), "\n") == "");
  RequireSound(*first, *server);
}

TEST_CASE(
    "K16: with all backends terminated again and again only UNAVAILABLE is seen, and it heals") {
  const auto server = OwnServer();
  const std::string url = MigratedDatabase(*server);
  const auto store = OpenTestStore(url);
  LoadOptions load;
  load.threads = 8;
  load.users = 500;
  load.items = 100;
  BackgroundLoad loader({store.get()}, load);
  int most_connections = 0;
  bool healthy = true;
  const int rounds = Sized(3, 24);
  for (int round = 0; round < rounds; ++round) {
    absl::SleepFor(Sized(absl::Milliseconds(400), absl::Seconds(5)));
    (void)server->Psql(url,
                       "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                       "application_name = 'counterd'");
    const auto connections = server->Psql(
        url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counterd'");
    if (connections.ok()) most_connections = std::max(most_connections, std::stoi(*connections));
    healthy =
        Eventually(absl::Seconds(2) * Slowness(), [&] { return store->Health().ok(); }) && healthy;
  }
  server->StopFast();
  const bool noticed = Eventually(kPatience, [&] { return !store->Health().ok(); });
  const absl::Status restarted = server->Restart();
  const bool healed =
      Eventually(absl::Seconds(2) * Slowness(), [&] { return Like(*store, kProber, 1).ok(); });
  LoadReport report = loader.Stop();
  CHECK(healthy);
  CHECK(noticed);
  CHECK(restarted.ok());
  CHECK(healed);
  // Two lanes and one for reads; an old one may still be going while the new one comes.
  CHECK(most_connections <= 6);
  CHECK(report.ok > 0);
  for (const auto& [reason, count] : report.errors) CHECK(reason == ErrorReason::kStoreUnavailable);
  ++report.pairs[{kProber, 1}].unknown_likes;
  CHECK(absl::StrJoin(Contradictions(report, *server, url), "\n") == "");
  RequireSound(*store, *server);
}

TEST_CASE("a server that lost its durability settings is refused, or told of loudly") {
  PostgresServer::Options unsafe;
  unsafe.settings["fsync"] = "off";
  const auto server = OwnServer(unsafe);
  auto options = TestStoreOptions(MigratedDatabase(*server));
  const auto refused = postgres::PostgresStore::Open(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(std::string(refused.status().message()).find("fsync") != std::string::npos);
  options.durability = Durability::kUnsafe;
  std::atomic<int> warnings{0};
  options.say = [&](const std::string& text) {
    warnings += text.find("fsync") != std::string::npos;
  };
  CHECK(OpenTestStore(options)->Health().ok());
  CHECK(warnings > 0);
  options.durability = Durability::kReplicated;
  CHECK_FALSE(postgres::PostgresStore::Open(options).ok());
}

TEST_CASE("a store that is opened while the database is away heals by itself") {
  const auto server = OwnServer();
  auto options = TestStoreOptions(MigratedDatabase(*server));
  server->StopFast();
  options.open_wait = absl::Milliseconds(100);
  const auto store = postgres::PostgresStore::Open(options);
  REQUIRE(store.ok());
  CHECK_FALSE((*store)->Health().ok());
  REQUIRE(server->Restart().ok());
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] { return (*store)->Health().ok(); }));
  CHECK(Like(**store, 1, 1).ok());
}

}  // namespace
}  // namespace counter::testing
