#include "storage/postgres/database_url.h"

#include <catch2/catch.hpp>

namespace counter::postgres {
namespace {

TEST_CASE("the driver named after a plus goes") {
  const auto url = ParseDatabaseUrl("postgresql+asyncpg://u:p@h:5432/d?sslmode=require");
  REQUIRE(url.ok());
  CHECK(url->conninfo == "postgresql://u:p@h:5432/d?sslmode=require");
  CHECK_FALSE(url->pooled);
}

TEST_CASE("pgbouncer=true is ours and does not reach the driver") {
  CHECK(ParseDatabaseUrl("postgres://h/d?pgbouncer=true")->conninfo == "postgresql://h/d");
  CHECK(ParseDatabaseUrl("postgres://h/d?pgbouncer=true")->pooled);
  CHECK(ParseDatabaseUrl("postgresql://h/d?a=b&pgbouncer=1&c=d")->conninfo ==
        "postgresql://h/d?a=b&c=d");
  CHECK_FALSE(ParseDatabaseUrl("postgresql://h/d?pgbouncer=false")->pooled);
  CHECK(ParseDatabaseUrl("host=/tmp dbname=d pgbouncer=true")->pooled);
  CHECK(ParseDatabaseUrl("host=/tmp dbname=d pgbouncer=true")->conninfo == "host=/tmp dbname=d");
}

TEST_CASE("the driver's own form passes unchanged, quoted blanks and addresses in values too") {
  CHECK(ParseDatabaseUrl("host=/tmp password='a b  c'")->conninfo == "host=/tmp password='a b  c'");
  CHECK(ParseDatabaseUrl("password=x://y host=h")->conninfo == "password=x://y host=h");
}

TEST_CASE("what is no address of a PostgreSQL is refused without showing it") {
  for (const char* bad :
       {"", "mysql://u:secret@h/d", "secret", "postgresql://h?pgbouncer=secret"}) {
    INFO(bad);
    const auto url = ParseDatabaseUrl(bad);
    REQUIRE_FALSE(url.ok());
    CHECK(url.status().message().find("secret") == absl::string_view::npos);
  }
}

}  // namespace
}  // namespace counter::postgres
