// Replicas that are none any more, or never were: promoted, of another cluster, left behind by a
// failover. On real servers.
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/replica_calls.h"
#include "tests/storage/replicated_postgres.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr absl::Duration kLagMax = absl::Milliseconds(500);
constexpr int64_t kPost1 = 10;

TEST_CASE("a replica that is promoted is not read any more") {
  ReplicatedPostgres servers;
  const auto store = OpenTestStore(OptionsWithReplicas(servers, kLagMax));
  REQUIRE(ComesIntoUse(*store));
  Callers callers(*store, kPost1, kLagMax);
  REQUIRE(servers.standby().Promote().ok());
  CHECK(Eventually(kPatience, [&] { return !InUse(*store); }));
  const int64_t answered = store->Stats().replicas[0].keys_answered;
  absl::SleepFor(Sized(absl::Milliseconds(500), absl::Seconds(10)));
  CHECK(store->Stats().replicas[0].keys_answered == answered);
  CHECK_FALSE(InUse(*store));
  callers.StopAndCheck();
}

TEST_CASE("a replica of another cluster, even of a copy of this one, is never read") {
  ReplicatedPostgres servers;
  ReplicatedPostgres others;
  // The name of the database, and of the store in it, are the same, as in a copy by pg_dump.
  const std::string name = servers.Sql(servers.primary(), "SELECT store_id FROM store_identity");
  others.Sql(others.primary(), absl::StrCat("UPDATE store_identity SET store_id = '", name, "'"));
  REQUIRE(others.standby().CatchesUpWith(others.primary(), kPatience));
  postgres::StoreOptions options = TestStoreOptions(servers.PrimaryUrl());
  options.replica_urls = {others.UrlAt(others.standby())};
  const auto store = OpenTestStore(options);
  const auto at_others = OpenTestStore(TestStoreOptions(others.PrimaryUrl()));
  REQUIRE(Like(*at_others, 1, kPost1).ok());
  for (int i = 0; i < 30; ++i) {
    CHECK(Read(*store, kPost1, Consistency::kCached)->count == 0);
    absl::SleepFor(absl::Milliseconds(10));
  }
  CHECK(store->Stats().replicas[0].keys_answered == 0);
  CHECK(store->Health().ok());
}

TEST_CASE("after a failover a replica is read again once it follows the new primary") {
  ReplicatedPostgres::Options servers_options;
  servers_options.standbys = 2;
  ReplicatedPostgres servers(servers_options);
  postgres::StoreOptions options = TestStoreOptions(servers.UrlOfAll());
  options.replica_urls = {servers.UrlAt(servers.standby(1))};
  const auto store = OpenTestStore(options);
  REQUIRE(ComesIntoUse(*store));
  CHECK_FALSE(store->LastFailover().has_value());
  REQUIRE(Like(*store, 1, kPost1).ok());
  REQUIRE(servers.standby(0).CatchesUpWith(servers.primary(), kPatience));
  REQUIRE(servers.standby(1).CatchesUpWith(servers.primary(), kPatience));
  const absl::Time before = absl::Now();
  servers.primary().Kill9();
  REQUIRE(servers.standby(0).Promote().ok());
  REQUIRE(Eventually(kPatience, [&] { return Like(*store, 2, kPost1, absl::Seconds(1)).ok(); }));
  // It stands on the old timeline still.
  CHECK(Eventually(kPatience, [&] { return !InUse(*store); }));
  servers.Sql(servers.standby(1),
              absl::StrCat("ALTER SYSTEM SET primary_conninfo = 'host=",
                           servers.standby(0).socket_directory(), " user=postgres'"));
  REQUIRE(servers.standby(1).Reload().ok());
  CHECK(ComesIntoUse(*store));
  REQUIRE(servers.standby(1).CatchesUpWith(servers.standby(0), kPatience));
  const auto read = Read(*store, kPost1, Consistency::kCached);
  CHECK(read->source == ReadSource::kReplica);
  CHECK(read->count == 2);
  // Another server, that starts now, knows of the failover, too.
  const auto later = OpenTestStore(TestStoreOptions(servers.UrlAt(servers.standby(0))));
  REQUIRE(later->LastFailover().has_value());
  CHECK(later->LastFailover()->seen == store->LastFailover()->seen);
  CHECK(later->LastFailover()->seen >= before);
  CHECK(later->LastFailover()->kept_until <= before);
  CHECK(later->LastFailover()->kept_until >= before - absl::Minutes(5));
}

}  // namespace
}  // namespace counter::testing
