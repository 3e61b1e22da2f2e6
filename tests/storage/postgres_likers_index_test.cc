// The optional index of likers on a real PostgreSQL: made beside a store that works, once, again,
// many at once, for new types, and after a run that failed.
#include "storage/postgres/migrate_likers_index.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/error.h"
#include "storage/postgres/migrate.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using postgres::MakeLikersIndex;
using postgres::TypesWithoutLikersIndex;

constexpr Item kItem = {kPost, 10};

absl::StatusOr<LikersPage> Likers(LikeStore& store, const Item& item, int likers_max = 1000) {
  return BlockingWait(
      store.ListLikers({item, std::nullopt, likers_max}, Within(absl::Seconds(20))));
}

std::string Sql(const std::string& url, const std::string& sql) {
  const auto answer = SharedPostgres().Psql(url, sql);
  INFO(answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

TEST_CASE("the index is made for each type, and the second time there is nothing to do") {
  const std::string url = MigratedDatabase();
  CHECK(*TypesWithoutLikersIndex(url, TestTypes()) == std::vector<int64_t>{1, 2});
  const auto first = MakeLikersIndex(url, TestTypes());
  INFO(first.status());
  REQUIRE(first.ok());
  CHECK(first->size() == TestTypes().size());
  CHECK(MakeLikersIndex(url, TestTypes())->empty());
  CHECK(TypesWithoutLikersIndex(url, TestTypes())->empty());
}

TEST_CASE("a store that was open all the time lists likers as soon as the index is there") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  REQUIRE(Like(*store, 1, kItem.id).ok());
  CHECK(ReasonOf(Likers(*store, kItem).status()) == ErrorReason::kLikersNotIndexed);
  REQUIRE(MakeLikersIndex(url, {kPost}).ok());
  REQUIRE(Like(*store, 2, kItem.id).ok());
  CHECK(Likers(*store, kItem)->likers.size() == 2);
  CHECK(ReasonOf(Likers(*store, {kReel, 10}).status()) == ErrorReason::kLikersNotIndexed);
  // And no more when it is gone.
  Sql(url, "DROP INDEX user_likes_1_likers");
  CHECK(ReasonOf(Likers(*store, kItem).status()) == ErrorReason::kLikersNotIndexed);
}

TEST_CASE("likes go on while the index is made, and all of them are in it") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  std::atomic<bool> stop = false;
  std::atomic<int64_t> liked = 0;
  std::thread writer([&] {
    while (!stop) {
      if (Like(*store, liked + 1, kItem.id).ok()) ++liked;
    }
  });
  const auto made = MakeLikersIndex(url, TestTypes());
  stop = true;
  writer.join();
  INFO(made.status());
  REQUIRE(made.ok());
  REQUIRE(liked > 0);
  const auto page = Likers(*store, kItem, static_cast<int>(liked) + 1);
  REQUIRE(page.ok());
  CHECK(static_cast<int64_t>(page->likers.size()) == liked);
}

TEST_CASE("of five that make the index at once each part is made by one, and all succeed") {
  const std::string url = MigratedDatabase();
  constexpr int kMakers = 5;
  std::vector<absl::StatusOr<std::vector<std::string>>> done(kMakers);
  RunWorkers(kMakers, [&](int worker) {
    done[static_cast<size_t>(worker)] = MakeLikersIndex(url, TestTypes());
  });
  size_t steps = 0;
  for (const auto& one : done) {
    INFO(one.status());
    REQUIRE(one.ok());
    steps += one->size();
  }
  CHECK(steps == TestTypes().size());
  CHECK(BadWords(SharedPostgres()).empty());
}

TEST_CASE("what a run that failed left behind is not used, and is made anew") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  REQUIRE(Like(*store, 1, 10).ok());
  REQUIRE(Like(*store, 2, 10).ok());
  // Fails on the second row, and leaves an index that is not valid.
  const auto failed = SharedPostgres().Psql(
      url, "CREATE UNIQUE INDEX CONCURRENTLY user_likes_1_likers ON user_likes_1 (item_id)");
  REQUIRE_FALSE(failed.ok());
  REQUIRE(Sql(url, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == "1");
  CHECK(ReasonOf(Likers(*store, kItem).status()) == ErrorReason::kLikersNotIndexed);
  CHECK(*TypesWithoutLikersIndex(url, {kPost}) == std::vector<int64_t>{1});
  const auto made = MakeLikersIndex(url, {kPost});
  INFO(made.status());
  REQUIRE(made.ok());
  CHECK(made->size() == 2);
  CHECK(Likers(*store, kItem)->likers.size() == 2);
}

TEST_CASE("the index of a new item type is made by making it again") {
  const std::string url = MigratedDatabase();
  REQUIRE(MakeLikersIndex(url, TestTypes()).ok());
  std::vector<ItemType> more = TestTypes();
  more.push_back(ItemType{9});
  REQUIRE(postgres::MigrateUp(url, more).ok());
  CHECK(*TypesWithoutLikersIndex(url, more) == std::vector<int64_t>{9});
  CHECK(MakeLikersIndex(url, more)->size() == 1);
}

TEST_CASE("through a transaction pooler the index is refused with what to do instead") {
  MigratedDatabase();
  const auto bouncer = PgBouncer::Start(SharedPostgres());
  INFO(bouncer.status());
  REQUIRE(bouncer.ok());
  const auto made = MakeLikersIndex((*bouncer)->Url("migrated"), TestTypes());
  REQUIRE_FALSE(made.ok());
  CHECK(absl::StrContains(made.status().message(), "pooler"));
}

TEST_CASE("a page of a popular item reads as many likes as it shows, not all of the item's") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  REQUIRE(MakeLikersIndex(url, {kPost}).ok());
  // The planner is told nothing of it: no ANALYZE.
  Sql(url,
      "INSERT INTO user_likes (user_id, item_id, created_at, item_type) "
      "SELECT n, 10, 1000000 + n / 10, 1 FROM generate_series(1, 100000) n");
  Sql(url, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
  Sql(url, "SELECT pg_stat_statements_reset()");
  REQUIRE(Likers(*store, kItem, 100)->likers.size() == 100);
  const std::string pages =
      Sql(url,
          "SELECT sum(shared_blks_hit + shared_blks_read) FROM pg_stat_statements "
          "WHERE query LIKE '%UNION ALL%created_at, user_id FROM user_likes_1%'");
  int64_t read = 0;
  REQUIRE(absl::SimpleAtoi(pages, &read));
  // All likes of the item are on some 700 pages of the table.
  CHECK(read > 0);
  CHECK(read < 250);
}

}  // namespace
}  // namespace counter::testing
