// Design 3.8 on the real server: a PostgreSQL that would not keep what it acknowledges is refused,
// or used with a warning where DURABILITY says so.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/integration/full_stack.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

CounterServer::Options OptionsFor(const std::string& database, const std::string& durability) {
  CounterServer::Options options;
  options.env = {{"DATABASE_URL", UrlOf(database)},
                 {"DURABILITY", durability},
                 {"ITEM_TYPES", "post=1,reel=2"},
                 {"RATE_LIMIT_REQUESTS", "0"}};
  options.ready_deadline = absl::Seconds(20) * Slowness();
  return options;
}

TEST_CASE("A PostgreSQL without fsync is refused, and used with DURABILITY=unsafe") {
  PostgresServer::Options unsafe;
  unsafe.settings["fsync"] = "off";
  unsafe.settings["full_page_writes"] = "off";
  const auto postgres = PostgresServer::Start(unsafe);
  INFO(postgres.status());
  REQUIRE(postgres.ok());
  const std::string database = MigratedDatabase(**postgres);
  const auto refused = CounterServer::Start(OptionsFor(database, "local"));
  REQUIRE_FALSE(refused.ok());
  // What an operator reads.
  CHECK(absl::StrContains(refused.status().message(), "fsync is off"));
  CHECK(absl::StrContains(refused.status().message(), "full_page_writes is off"));
  const auto served = CounterServer::Start(OptionsFor(database, "unsafe"));
  INFO(served.status());
  REQUIRE(served.ok());
  CHECK(ConnectTo(**served).Like(1, Post(1)).ok());
}

TEST_CASE("A PostgreSQL that comes back without fsync is refused, and used again once it has it") {
  const auto postgres = PostgresServer::Start();
  INFO(postgres.status());
  REQUIRE(postgres.ok());
  const std::string database = MigratedDatabase(**postgres);
  const auto sql = [&](const std::string& text) {
    const auto answer = (*postgres)->Psql(database, text);
    INFO(answer.status());
    REQUIRE(answer.ok());
    return *answer;
  };
  const auto server = CounterServer::Start(OptionsFor(database, "local"));
  INFO(server.status());
  REQUIRE(server.ok());
  const Client client = ConnectTo(**server);
  REQUIRE(client.Like(1, Post(1)).ok());
  sql("ALTER SYSTEM SET fsync = off");
  (*postgres)->StopFast();
  REQUIRE((*postgres)->Restart().ok());
  const auto refused = [&] {
    return MetricOf(**server, "counter_postgres_connects_total", {{"result", "refused"}});
  };
  // Each of its connections has looked, more than once.
  CHECK(Eventually(absl::Seconds(20) * Slowness(), [&] { return refused() >= 10; }));
  const auto like = client.Like(2, Post(1));
  REQUIRE_FALSE(like.ok());
  CHECK(like.error().kind == client::ErrorKind::kUnavailable);
  CHECK(sql("SELECT count(*) FROM user_likes") == "1");
  sql("ALTER SYSTEM RESET fsync");
  REQUIRE((*postgres)->Reload().ok());
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] { return client.Like(3, Post(1)).ok(); }));
}

TEST_CASE("Durability that needs a standby is refused where there is none") {
  const auto refused = CounterServer::Start(OptionsFor(MigratedDatabase(), "replicated"));
  REQUIRE_FALSE(refused.ok());
  CHECK(absl::StrContains(refused.status().message(), "synchronous_standby_names is empty"));
  CounterServer::Options embedded;
  embedded.env = {{"DURABILITY", "replicated"}};
  const auto also_refused = CounterServer::Start(embedded);
  REQUIRE_FALSE(also_refused.ok());
  CHECK(absl::StrContains(also_refused.status().message(), "the embedded store is not replicated"));
}

}  // namespace
}  // namespace counter::testing
