// Repairs that meet each other, and likes, on a real PostgreSQL: what has to hold at the moment
// between the snapshot in which a repair sees a difference and the lock under which it puts it
// right. Somebody else holds the counter for just so long, so that each case is that moment. And
// what an audit reads.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using Repaired = absl::StatusOr<std::vector<RepairedCounter>>;

// A store whose repairs wait longer for a lock than anybody here holds one.
std::unique_ptr<postgres::PostgresStore> OpenPatientStore(const std::string& url) {
  postgres::StoreOptions options = TestStoreOptions(url);
  options.lock_timeout = absl::Seconds(30) * Slowness();
  return OpenTestStore(options);
}

Repaired Repair(postgres::PostgresStore& store, std::vector<Item> items) {
  return BlockingWait(store.Repair(std::move(items), Within(absl::Seconds(60) * Slowness())));
}

std::string Ask(const std::string& url, const std::string& sql) {
  const auto answer = SharedPostgres().Psql(url, sql);
  INFO(answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

// psql that begins with `hold`, goes on with `then` once so many sessions wait for locks, and
// commits. Ends the case unless `hold` is done when this returns.
Process HoldUntilWaitedFor(const std::string& url, const std::string& hold, int waiters,
                           const std::string& then) {
  auto psql = SharedPostgres().PsqlProcess(
      url, absl::StrCat("BEGIN; ", hold,
                        "; DO $$ BEGIN WHILE (SELECT count(*) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND wait_event_type = 'Lock') < ",
                        waiters,
                        " LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; "
                        "END $$; ",
                        then, "; COMMIT"));
  REQUIRE(psql.ok());
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] {
    return Ask(url,
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event = 'PgSleep'") == "1";
  }));
  return *std::move(psql);
}

void RequireGoodEnd(Process& psql) {
  const auto exit = psql.Wait(absl::Seconds(20) * Slowness());
  REQUIRE(exit.has_value());
  CHECK(ToString(*exit) == "exit 0");
}

constexpr char kHoldCounter[] = "SELECT FROM counters WHERE item_id = 10 FOR UPDATE";

TEST_CASE("two repairs of one difference at once, by two servers, put it right once") {
  const std::string url = MigratedDatabase();
  const auto first = OpenPatientStore(url);
  const auto second = OpenPatientStore(url);
  for (int64_t user = 1; user <= 10; ++user) REQUIRE(Like(*first, user, 10).ok());
  Ask(url, "UPDATE counters SET count = count + 5");
  // Both have come as far as they come before either has the counter.
  Process psql = HoldUntilWaitedFor(url, kHoldCounter, 2, "SELECT 1");
  std::vector<Repaired> repaired(2, std::vector<RepairedCounter>());
  RunWorkers(2, [&](int worker) {
    repaired[worker] = Repair(worker == 0 ? *first : *second, {{kPost, 10}});
  });
  RequireGoodEnd(psql);
  for (const Repaired& one : repaired) {
    INFO(one.status());
    REQUIRE(one.ok());
  }
  CHECK(repaired[0]->size() + repaired[1]->size() == 1);
  CHECK(CountOf(*first, 10)->count == 10);
  RequireSound(*first, SharedPostgres());
}

TEST_CASE("a like that is committed between a repair's snapshot and its lock is not lost") {
  const std::string url = MigratedDatabase();
  const auto store = OpenPatientStore(url);
  REQUIRE(Like(*store, 1, 10).ok());
  Ask(url, "UPDATE counters SET count = count + 5");
  Process psql = HoldUntilWaitedFor(
      url, kHoldCounter, 1,
      "INSERT INTO user_likes (user_id, item_id, item_type) VALUES (2, 10, 1); UPDATE counters "
      "SET count = count + 1, digest = digest # counter_liker_mix(2), version = version + 1");
  const Repaired repaired = Repair(*store, {{kPost, 10}});
  RequireGoodEnd(psql);
  INFO(repaired.status());
  REQUIRE(repaired.ok());
  REQUIRE(repaired->size() == 1);
  // What was found is of the snapshot, what is there now has the like.
  CHECK((*repaired)[0].found.stored_count == 6);
  CHECK((*repaired)[0].found.actual_count == 1);
  CHECK((*repaired)[0].count == 2);
  const auto count = CountOf(*store, 10);
  CHECK(count->count == 2);
  CHECK(count->version == (*repaired)[0].version);
  RequireSound(*store, SharedPostgres());
}

TEST_CASE("a counter that is made by a like while a repair makes it has both") {
  const std::string url = MigratedDatabase();
  const auto store = OpenPatientStore(url);
  // Likes of an item that nobody counts.
  Ask(url, "INSERT INTO user_likes (user_id, item_id, item_type) VALUES (1, 10, 1), (2, 10, 1)");
  Process psql = HoldUntilWaitedFor(
      url,
      "INSERT INTO user_likes (user_id, item_id, item_type) VALUES (3, 10, 1); INSERT INTO "
      "counters (item_id, count, version, digest, item_type) VALUES (10, 1, 1, "
      "counter_liker_mix(3), 1)",
      1, "SELECT 1");
  const Repaired repaired = Repair(*store, {{kPost, 10}});
  RequireGoodEnd(psql);
  INFO(repaired.status());
  REQUIRE(repaired.ok());
  CHECK(CountOf(*store, 10)->count == 3);
  RequireSound(*store, SharedPostgres());
}

TEST_CASE("repairs by two servers while both write to the same items correct each drift once") {
  const std::string url = MigratedDatabase();
  const auto first = OpenPatientStore(url);
  const auto second = OpenPatientStore(url);
  constexpr int kWriters = 6;
  for (int64_t user = 1000; user < 1010; ++user) {
    for (const int64_t item : {10, 11}) REQUIRE(Like(*first, user, item).ok());
  }
  const int rounds = Sized(3, 200);
  std::vector<int> failed(kWriters);
  for (int round = 0; round < rounds; ++round) {
    Ask(url, "UPDATE counters SET count = count + 5, digest = digest # 77");
    std::atomic<int> repairing{2};
    std::vector<Repaired> repaired(2, std::vector<RepairedCounter>());
    RunWorkers(kWriters + 2, [&](int worker) {
      if (worker >= kWriters) {
        const int repairer = worker - kWriters;
        repaired[repairer] = Repair(repairer == 0 ? *first : *second, {{kPost, 10}, {kPost, 11}});
        --repairing;
        return;
      }
      for (int64_t i = 0; repairing > 0 || i < 20; ++i) {
        auto& store = (worker + i) % 2 == 0 ? *first : *second;
        const int64_t user = 1 + worker * 100 + i / 3 % 50;
        const int64_t item = 10 + i % 2;
        const auto applied = i % 3 == 2 ? Unlike(store, user, item) : Like(store, user, item);
        if (!applied.ok()) ++failed[worker];
      }
    });
    size_t corrected = 0;
    for (const Repaired& one : repaired) {
      INFO(one.status());
      REQUIRE(one.ok());
      corrected += one->size();
    }
    CHECK(corrected == 2);
    CHECK(Findings(*first).empty());
  }
  for (const int some : failed) CHECK(some == 0);
  RequireSound(*first, SharedPostgres());
}

// How often the likes of a type were looked through, as far as the server's statistics have it.
int Passes(const std::string& url, const std::string& partition) {
  return std::stoi(Ask(url, absl::StrCat("SELECT seq_scan + coalesce(idx_scan, 0) FROM "
                                         "pg_stat_user_tables WHERE relid = '",
                                         partition, "'::regclass")));
}

TEST_CASE("a page of an audit is one pass over the likes of its types, and of no others") {
  const std::string url = MigratedDatabase();
  // Post and reel n are liked by user n. Reel 150 has no counter, reel 90 no likes.
  Ask(url,
      "INSERT INTO user_likes (user_id, item_id, item_type) SELECT n, n, t FROM "
      "generate_series(1, 100) n, generate_series(1, 2) t");
  Ask(url,
      "INSERT INTO counters (item_id, count, version, digest, item_type) SELECT item_id, 1, 1, "
      "counter_liker_mix(user_id), item_type FROM user_likes");
  Ask(url, "INSERT INTO user_likes (user_id, item_id, item_type) VALUES (1, 150, 2)");
  Ask(url, "DELETE FROM user_likes WHERE item_id = 90 AND item_type = 2");
  Ask(url, "ANALYZE");
  const auto partition = [&](int type) {
    return Ask(url, absl::StrCat("SELECT DISTINCT tableoid::regclass FROM user_likes WHERE "
                                 "item_type = ",
                                 type));
  };
  const std::string posts = partition(1);
  const std::string reels = partition(2);
  auto store = OpenTestStore(url);
  // A session's statistics are there when it has gone.
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] {
    return Ask(url,
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "application_name = 'psql' AND pid <> pg_backend_pid()") == "0";
  }));
  const int posts_before = Passes(url, posts);
  const int reels_before = Passes(url, reels);
  const auto page =
      BlockingWait(store->Audit(Item{kReel, 50}, 45, Within(absl::Seconds(20) * Slowness())));
  REQUIRE(page.ok());
  CHECK(page->items_checked == 45);
  REQUIRE(page->findings.size() == 1);
  CHECK(page->findings[0].item == Item{kReel, 90});
  REQUIRE(page->next.has_value());
  CHECK(*page->next == Item{kReel, 95});
  store.reset();
  REQUIRE(Eventually(absl::Seconds(30) * Slowness(),
                     [&] { return Passes(url, reels) > reels_before; }));
  CHECK(Passes(url, reels) == reels_before + 1);
  CHECK(Passes(url, posts) == posts_before);
  store = OpenTestStore(url);
  const auto rest =
      BlockingWait(store->Audit(page->next, 45, Within(absl::Seconds(20) * Slowness())));
  REQUIRE(rest.ok());
  CHECK(rest->items_checked == 6);
  CHECK_FALSE(rest->next.has_value());
  CHECK(rest->findings.size() == 1);
}

}  // namespace
}  // namespace counter::testing
