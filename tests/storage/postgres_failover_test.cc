// What happens when a standby takes over from the primary: known fault K15. On real servers.
#include <catch2/catch.hpp>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/postgres_load.h"
#include "tests/storage/replicated_postgres.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
// A user who is none of the load's, and posts that are none of its.
constexpr int64_t kProber = 1'000'000'000;
constexpr int64_t kProbed = 1'000'000;

constexpr const char* kOurConnections =
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counterd'";

// Posts that, together, need every lane.
std::vector<Mutation> ProbesOfAllLanes(int64_t user) {
  std::vector<Mutation> probes;
  for (int64_t post = kProbed; post < kProbed + 8; ++post) probes.push_back(LikeOf(user, post));
  return probes;
}

bool AllWritten(LikeStore& store, int64_t user, absl::Duration within) {
  const auto results = BlockingWait(store.Apply(ProbesOfAllLanes(user), Within(within)));
  for (const auto& result : results)
    if (!result.ok()) return false;
  return true;
}

TEST_CASE(
    "K15: the standby takes over under load: writes go on within 5 s, none on the old primary") {
  ReplicatedPostgres::Options options;
  options.synchronous = true;  // So that what was acknowledged must be at the standby.
  ReplicatedPostgres servers(options);
  const auto store = OpenTestStore(servers.UrlOfAll());
  REQUIRE(AllWritten(*store, kProber, kPatience));
  const std::string timeline = store->Timeline();
  LoadOptions load;
  load.threads = 8;
  load.batch = 5;
  load.users = 500;
  load.items = 200;
  BackgroundLoad loader({store.get()}, load);
  absl::SleepFor(Sized(absl::Milliseconds(500), absl::Seconds(20)));

  servers.primary().Kill9();
  const absl::Time begin = absl::Now();
  const absl::Status promoted = servers.standby().Promote();
  INFO(promoted);
  REQUIRE(promoted.ok());
  const absl::Time ready = absl::Now();
  CHECK(Eventually(absl::Seconds(5) * Slowness(),
                   [&] { return AllWritten(*store, kProber + 1, absl::Seconds(1)); }));
  WARN("promotion took " << ready - begin << ", writes went on " << absl::Now() - ready
                         << " after it");
  CHECK(store->Timeline() != timeline);
  CHECK(Eventually(kPatience, [&] { return store->Stats().failovers == 1; }));

  // The old node comes back, as no more than readable.
  servers.primary().Set("default_transaction_read_only", "on");
  REQUIRE(servers.primary().Restart().ok());
  const std::string rows = servers.Sql(servers.primary(), "SELECT count(*) FROM user_likes");
  absl::SleepFor(Sized(absl::Milliseconds(500), absl::Seconds(20)));
  // Connections are cut, so that all are made anew while both nodes answer.
  servers.Sql(servers.standby(),
              "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
              "application_name = 'counterd'");
  CHECK(Eventually(absl::Seconds(5) * Slowness(),
                   [&] { return AllWritten(*store, kProber + 2, absl::Seconds(1)); }));
  LoadReport report = loader.Stop();
  CHECK(servers.Sql(servers.primary(), "SELECT count(*) FROM user_likes") == rows);
  CHECK(Eventually(kPatience,
                   [&] { return servers.Sql(servers.primary(), kOurConnections) == "0"; }));
  CHECK(store->Stats().failovers == 1);

  INFO("ok " << report.ok << " unknown " << report.unknown << " not applied "
             << report.not_applied);
  CHECK(report.ok > 0);
  for (const auto& [reason, count] : report.errors) CHECK(reason == ErrorReason::kStoreUnavailable);
  for (int64_t user = kProber; user < kProber + 3; ++user)
    for (int64_t post = kProbed; post < kProbed + 8; ++post)
      ++report.pairs[{user, post}].unknown_likes;
  CHECK(absl::StrJoin(Contradictions(report, servers.standby(), servers.UrlAt(servers.standby())),
                      "\n") == "");
  RequireSound(*store, servers.standby());
}

TEST_CASE(
    "K15: a primary that is made read-only is left at once, and its error reaches no caller") {
  ReplicatedPostgres servers;
  const auto store = OpenTestStore(servers.UrlOfAll());
  REQUIRE(AllWritten(*store, 1, kPatience));
  // The connections stand; whoever does not look goes on writing to them for hours.
  REQUIRE(servers.standby().CatchesUpWith(servers.primary(), kPatience));
  REQUIRE(servers.standby().Promote().ok());
  servers.Sql(servers.primary(), "ALTER SYSTEM SET default_transaction_read_only = on");
  REQUIRE(servers.primary().Reload().ok());
  // A write that meets 25006 was rolled back, so it is made on a new connection, for its caller.
  CHECK(AllWritten(*store, 2, absl::Seconds(5) * Slowness()));
  CHECK(servers.Sql(servers.standby(), "SELECT count(*) FROM user_likes WHERE user_id = 2") == "8");
  CHECK(Eventually(kPatience,
                   [&] { return servers.Sql(servers.primary(), kOurConnections) == "0"; }));
  CHECK(CountOf(*store, kProbed)->count == 2);
}

TEST_CASE("a primary that hangs is left for the one that took over, and not met again") {
  ReplicatedPostgres servers;
  const auto store = OpenTestStore(servers.UrlOfAll());
  REQUIRE(AllWritten(*store, 1, kPatience));
  REQUIRE(servers.standby().CatchesUpWith(servers.primary(), kPatience));
  // It takes connections, and says nothing.
  servers.primary().SignalAll(SIGSTOP);
  REQUIRE(servers.standby().Promote().ok());
  CHECK(Eventually(absl::Seconds(8) * Slowness(),
                   [&] { return AllWritten(*store, 2, absl::Seconds(1)); }));
  // It comes back as it was: writable, on the old timeline.
  servers.primary().SignalAll(SIGCONT);
  for (int64_t user = 3; user < 3 + Sized(3, 30); ++user) {
    servers.Sql(servers.standby(),
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
                "application_name = 'counterd'");
    // What is sent before the end of a connection is noticed ends as unknown.
    CHECK(Eventually(absl::Seconds(5) * Slowness(),
                     [&] { return AllWritten(*store, user, absl::Seconds(1)); }));
  }
  CHECK(servers.Sql(servers.primary(), "SELECT count(*) FROM user_likes WHERE user_id > 2") == "0");
  CHECK(Eventually(kPatience,
                   [&] { return servers.Sql(servers.primary(), kOurConnections) == "0"; }));
}

TEST_CASE("a host that is not there, or is only a standby, costs an attempt and nothing else") {
  ReplicatedPostgres servers;
  const std::string url = absl::StrCat("host=/nowhere,", servers.standby().socket_directory(), ",",
                                       servers.primary().socket_directory(), " ",
                                       servers.PrimaryUrl().substr(servers.PrimaryUrl().find(' ')));
  const auto store = OpenTestStore(url);
  CHECK(AllWritten(*store, 1, kPatience));
  CHECK(store->Stats().failovers == 0);
}

}  // namespace
}  // namespace counter::testing
