// Migrations on a real PostgreSQL: from nothing to the head, many at once, again, and for new
// types.
#include "storage/postgres/migrate.h"

#include <catch2/catch.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using postgres::MigrateUp;
using postgres::MigrationHead;
using postgres::ReadMigrationStatus;

std::string EmptyDatabase(const std::string& name) {
  const auto url = SharedPostgres().MakeDatabase(name);
  INFO(url.status());
  REQUIRE(url.ok());
  return *url;
}

TEST_CASE("migrate brings an empty database to the head, and the second time finds nothing to do") {
  const std::string url = EmptyDatabase("fresh");
  const auto before = ReadMigrationStatus(url, TestTypes());
  REQUIRE(before.ok());
  CHECK(before->applied == 0);
  CHECK(before->head == MigrationHead());
  CHECK(before->pending.size() == postgres::Migrations().size());
  CHECK(before->types_missing == std::vector<int64_t>{1, 2});
  const auto first = MigrateUp(url, TestTypes());
  INFO(first.status());
  REQUIRE(first.ok());
  CHECK(first->size() == postgres::Migrations().size() + TestTypes().size());
  const auto after = ReadMigrationStatus(url, TestTypes());
  REQUIRE(after.ok());
  CHECK(after->complete());
  CHECK(after->applied == MigrationHead());
  const auto second = MigrateUp(url, TestTypes());
  REQUIRE(second.ok());
  CHECK(second->empty());
}

TEST_CASE("of five that migrate at once each step is done by one, and all succeed") {
  const std::string url = EmptyDatabase("contended");
  constexpr int kMigrators = 5;
  std::vector<absl::StatusOr<std::vector<std::string>>> done(kMigrators);
  RunWorkers(kMigrators,
             [&](int worker) { done[static_cast<size_t>(worker)] = MigrateUp(url, TestTypes()); });
  size_t steps = 0;
  for (const auto& one : done) {
    INFO(one.status());
    REQUIRE(one.ok());
    steps += one->size();
  }
  CHECK(steps == postgres::Migrations().size() + TestTypes().size());
  CHECK(OpenTestStore(url)->Health().ok());
}

TEST_CASE("a new item type is made by migrating again, beside the old ones") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  REQUIRE(Like(*store, 1, 10).ok());
  std::vector<ItemType> more = TestTypes();
  more.push_back(ItemType{9});
  const auto status = ReadMigrationStatus(url, more);
  REQUIRE(status.ok());
  CHECK(status->pending.empty());
  CHECK(status->types_missing == std::vector<int64_t>{9});
  REQUIRE(MigrateUp(url, more)->size() == 1);
  // A store that was open all the time goes on, and can use the new type.
  CHECK(Like(*store, 2, 10)->count == 2);
  const auto of_new_type = ApplyOne(*store, {{1}, {ItemType{9}, 10}, Action::kLike});
  INFO(of_new_type.status());
  CHECK(of_new_type.ok());
}

TEST_CASE("a migration that fails leaves nothing behind, and the next one starts from there") {
  const std::string url = EmptyDatabase("spoiled");
  REQUIRE(SharedPostgres().Psql(url, "CREATE TABLE counters ()").ok());
  const auto failed = MigrateUp(url, TestTypes());
  REQUIRE_FALSE(failed.ok());
  CHECK(std::string(failed.status().message()).find("0001_likes") != std::string::npos);
  CHECK(*SharedPostgres().Psql(url, "SELECT to_regclass('user_likes') IS NULL") == "t");
  REQUIRE(SharedPostgres().Psql(url, "DROP TABLE counters").ok());
  CHECK(MigrateUp(url, TestTypes()).ok());
}

TEST_CASE("an owner without the right to make roles can migrate all the same") {
  const std::string url = EmptyDatabase("owned");
  REQUIRE(SharedPostgres()
              .Psql(url,
                    "CREATE ROLE plain_owner LOGIN; ALTER DATABASE owned OWNER TO plain_owner; "
                    "ALTER SCHEMA public OWNER TO plain_owner")
              .ok());
  const auto migrated = MigrateUp(absl::StrCat(url, " user=plain_owner"), TestTypes());
  INFO(migrated.status());
  CHECK(migrated.ok());
}

TEST_CASE("migrate works through a transaction pooler") {
  const std::string url = EmptyDatabase("pooled");
  const auto bouncer = PgBouncer::Start(SharedPostgres());
  INFO(bouncer.status());
  REQUIRE(bouncer.ok());
  const auto migrated = MigrateUp((*bouncer)->Url("pooled"), TestTypes());
  INFO(migrated.status());
  CHECK(migrated.ok());
}

TEST_CASE("migrations are numbered from one without a gap") {
  int64_t number = 0;
  for (const postgres::Migration& migration : postgres::Migrations()) {
    CHECK(migration.number == ++number);
    CHECK_FALSE(postgres::SplitStatements(migration.sql).empty());
  }
}

TEST_CASE("a migration is split where a semicolon ends a paragraph, and nowhere else") {
  const auto statements = postgres::SplitStatements(
      "-- A comment; and more.\n\nCREATE FUNCTION f() AS $$\nBEGIN\n  x;\nEND $$;\n\nSELECT 1;\n"
      "SELECT 2;\n\n\n-- The end.\n");
  REQUIRE(statements.size() == 2);
  CHECK(statements[0].find("END $$;") != std::string::npos);
  CHECK(statements[1] == "SELECT 1;\nSELECT 2;\n");
}

}  // namespace
}  // namespace counter::testing
