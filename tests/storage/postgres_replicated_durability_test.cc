// DURABILITY=replicated: nothing is acknowledged that the synchronous standby has not got. Known
// fault K17. On real servers.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/replicated_postgres.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr int kWriters = 8;

ReplicatedPostgres::Options Synchronous() {
  ReplicatedPostgres::Options options;
  options.synchronous = true;
  return options;
}

postgres::StoreOptions OptionsOf(const std::string& url, Durability durability) {
  postgres::StoreOptions options = TestStoreOptions(url);
  options.durability = durability;
  return options;
}

TEST_CASE("a primary that waits for no standby is refused where likes must be replicated") {
  const auto refused =
      postgres::PostgresStore::Open(OptionsOf(MigratedDatabase(), Durability::kReplicated));
  REQUIRE_FALSE(refused.ok());
  CHECK(absl::StrContains(refused.status().message(), "synchronous_standby_names is empty"));
}

TEST_CASE("a primary that stops waiting for its standby is left before it acknowledges more") {
  ReplicatedPostgres servers(Synchronous());
  const auto store = OpenTestStore(OptionsOf(servers.PrimaryUrl(), Durability::kReplicated));
  REQUIRE(Like(*store, 1, 10).ok());
  servers.Sql(servers.primary(), "ALTER SYSTEM RESET synchronous_standby_names");
  REQUIRE(servers.primary().Reload().ok());
  CHECK(Eventually(absl::Seconds(3) * Slowness(), [&] { return !store->Health().ok(); }));
  const auto refused = Like(*store, 2, 10, absl::Seconds(2));
  CHECK(ReasonOf(refused.status()) == ErrorReason::kStoreUnavailable);
  CHECK(IsNotApplied(refused.status()));
  servers.Sql(servers.primary(), "ALTER SYSTEM SET synchronous_standby_names = '*'");
  REQUIRE(servers.primary().Reload().ok());
  CHECK(Eventually(absl::Seconds(5) * Slowness(),
                   [&] { return Like(*store, 3, 10, absl::Seconds(1)).ok(); }));
}

TEST_CASE("while no standby confirms, commits that wait for it do not pile up on the primary") {
  ReplicatedPostgres servers(Synchronous());
  postgres::StoreOptions options = OptionsOf(servers.PrimaryUrl(), Durability::kReplicated);
  options.lanes = 2;
  options.statement_timeout = absl::Milliseconds(200);
  const auto store = OpenTestStore(options);
  REQUIRE(Like(*store, 1, 10).ok());
  servers.standby().SignalAll(SIGSTOP);
  // Twice as long as an answer may be missing where commits wait for nobody.
  int most = 0;
  int64_t user = 100;
  const absl::Time end = absl::Now() + 2 * (options.statement_timeout + absl::Seconds(2));
  while (absl::Now() < end) {
    ++user;
    CHECK_FALSE(Like(*store, user, 10 + user, absl::Milliseconds(200)).ok());
    int waiting = 0;
    REQUIRE(absl::SimpleAtoi(
        servers.Sql(servers.primary(),
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "
                    "application_name = 'counterd'"),
        &waiting));
    most = std::max(most, waiting);
  }
  CHECK(most > 0);
  CHECK(most <= options.lanes);
  servers.standby().SignalAll(SIGCONT);
  CHECK(Eventually(kPatience * Slowness(), [&] { return Like(*store, 2, 10).ok(); }));
}

// Users whose like of post 10 + user was acknowledged while the standby was stopped and the waits
// for it were cancelled, or their backends ended.
std::set<int64_t> AcknowledgedWithoutStandby(ReplicatedPostgres& servers, LikeStore& store,
                                             const std::string& how) {
  std::atomic<bool> stop{false};
  std::vector<std::set<int64_t>> acknowledged(kWriters);
  std::thread canceller([&] {
    const std::string cancel = absl::StrCat("SELECT ", how,
                                            "(pid) FROM pg_stat_activity WHERE wait_event = "
                                            "'SyncRep' AND application_name = 'counterd'");
    const absl::Time end = absl::Now() + Sized(absl::Seconds(2), absl::Seconds(60));
    while (absl::Now() < end) (void)servers.primary().Psql(servers.PrimaryUrl(), cancel);
    stop = true;
  });
  RunWorkers(kWriters, [&](int worker) {
    for (int64_t i = 0; !stop; ++i) {
      const int64_t user = int64_t{1'000'000} * (worker + 1) + i;
      if (Like(store, user, 10 + user, absl::Seconds(2)).ok())
        acknowledged[static_cast<size_t>(worker)].insert(user);
    }
  });
  canceller.join();
  std::set<int64_t> all;
  for (const auto& some : acknowledged) all.insert(some.begin(), some.end());
  return all;
}

// Which of these users' likes the server has not.
std::set<int64_t> Lost(const ReplicatedPostgres& servers, const PostgresServer& server,
                       std::set<int64_t> users) {
  const std::string rows = servers.Sql(server, "SELECT user_id FROM user_likes");
  for (const absl::string_view row : absl::StrSplit(rows, '\n', absl::SkipEmpty())) {
    int64_t user = 0;
    REQUIRE(absl::SimpleAtoi(row, &user));
    users.erase(user);
  }
  return users;
}

void TakeOver(ReplicatedPostgres& servers) {
  servers.primary().Kill9();
  servers.standby().SignalAll(SIGCONT);
  REQUIRE(servers.standby().Promote().ok());
}

TEST_CASE(
    "K17: a like whose wait for the standby was cut short is not acknowledged as replicated") {
  ReplicatedPostgres servers(Synchronous());
  const auto store = OpenTestStore(OptionsOf(servers.PrimaryUrl(), Durability::kReplicated));
  std::set<int64_t> acknowledged;
  for (int64_t user = 1; user <= 100; ++user) {
    REQUIRE(Like(*store, user, 10 + user).ok());
    acknowledged.insert(user);
  }
  servers.standby().SignalAll(SIGSTOP);
  for (const char* how : {"pg_cancel_backend", "pg_terminate_backend"}) {
    CAPTURE(how);
    const std::set<int64_t> without = AcknowledgedWithoutStandby(servers, *store, how);
    // What was sent to the standby before it stopped may have been confirmed.
    acknowledged.insert(without.begin(), without.end());
  }
  TakeOver(servers);
  CHECK(Lost(servers, servers.standby(), acknowledged).empty());
}

TEST_CASE(
    "K17: with local durability such a like is acknowledged, and the standby has not got it") {
  ReplicatedPostgres servers(Synchronous());
  const auto store = OpenTestStore(OptionsOf(servers.PrimaryUrl(), Durability::kLocal));
  REQUIRE(Like(*store, 1, 11).ok());
  servers.standby().SignalAll(SIGSTOP);
  const std::set<int64_t> acknowledged =
      AcknowledgedWithoutStandby(servers, *store, "pg_cancel_backend");
  // All of them are on the primary.
  CHECK_FALSE(acknowledged.empty());
  CHECK(Lost(servers, servers.primary(), acknowledged).empty());
  TakeOver(servers);
  CHECK_FALSE(Lost(servers, servers.standby(), acknowledged).empty());
  CHECK(Lost(servers, servers.standby(), {1}).empty());
}

TEST_CASE("K17: a like that waits for a stopped standby ends at its deadline, outcome unknown") {
  ReplicatedPostgres servers(Synchronous());
  const auto store = OpenTestStore(OptionsOf(servers.PrimaryUrl(), Durability::kReplicated));
  servers.standby().SignalAll(SIGSTOP);
  const absl::Time begin = absl::Now();
  const auto like = Like(*store, 1, 10, absl::Milliseconds(500));
  CHECK(absl::Now() - begin < absl::Seconds(2) * Slowness());
  CHECK(ReasonOf(like.status()) == ErrorReason::kDeadlineExceeded);
  CHECK_FALSE(IsNotApplied(like.status()));
  // Reads go on.
  CHECK(CountOf(*store, 999, absl::Seconds(2)).ok());
  servers.standby().SignalAll(SIGCONT);
  CHECK(Eventually(kPatience, [&] { return Like(*store, 2, 10, absl::Seconds(1)).ok(); }));
}

}  // namespace
}  // namespace counter::testing
