// Design 3.8 on the real server: a PostgreSQL that would not keep what it acknowledges is refused,
// or used with a warning where DURABILITY says so.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/integration/full_stack.h"
#include "tests/storage/postgres_fixture.h"
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

TEST_CASE("Durability that needs a standby is refused before anything is started") {
  const auto refused =
      CounterServer::Start(OptionsFor("host=/nowhere dbname=x user=y", "replicated"));
  REQUIRE_FALSE(refused.ok());
  CHECK(absl::StrContains(refused.status().message(), "cannot make a like wait for a standby"));
}

}  // namespace
}  // namespace counter::testing
