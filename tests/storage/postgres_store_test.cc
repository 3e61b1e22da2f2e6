// What the PostgreSQL store does beyond the contract suite, on a real server.
#include "storage/postgres/store.h"

#include <catch2/catch.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

std::string Ask(const std::string& url, const std::string& sql) {
  const auto answer = SharedPostgres().Psql(url, sql);
  INFO(answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

// Whether some statement of the store on this database waits for a lock.
bool SomebodyWaits(const std::string& url) {
  return Ask(url,
             "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
             "application_name = 'counterd' AND wait_event_type = 'Lock'") != "0";
}

// A transaction in psql that does `sql`, and holds what it holds until it is let go.
class HeldTransaction {
 public:
  HeldTransaction(const std::string& url, const std::string& sql) : url_(url) {
    // It waits for a lock that the key of this test stands for, so that it can be let go.
    auto process = SharedPostgres().PsqlProcess(
        url, absl::StrCat("BEGIN; ", sql, "; CREATE TABLE held_", ++number_, "(); ",
                          "DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE "
                          "application_name = 'letgo' AND datname = current_database()) LOOP "
                          "PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$; ",
                          "COMMIT"));
    REQUIRE(process.ok());
    process_.emplace(*std::move(process));
    REQUIRE(Eventually(kPatience, [&] {
      return Ask(url_,
                 "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                 "query LIKE 'BEGIN;%' AND wait_event = 'PgSleep'") == "1";
    }));
  }
  // Commits, and waits until it has.
  void LetGo() {
    auto letting = SharedPostgres().PsqlProcess(absl::StrCat(url_, " application_name=letgo"),
                                                "SELECT pg_sleep(60)");
    REQUIRE(letting.ok());
    const auto exit = process_->Wait(kPatience);
    REQUIRE(exit.has_value());
    REQUIRE(exit->code == 0);
  }

 private:
  static inline int number_ = 0;
  const std::string url_;
  std::optional<Process> process_;
};

// Runs one mutation on a thread of its own, because it waits.
class Waiting {
 public:
  Waiting(LikeStore& store, const Mutation& mutation)
      : thread_([this, &store, mutation] { result_ = ApplyOne(store, mutation, kPatience); }) {}
  absl::StatusOr<Applied> Result() {
    thread_.join();
    return result_;
  }

 private:
  absl::StatusOr<Applied> result_;
  std::thread thread_;
};

TEST_CASE("a like counts once, and what is liked can be read at once") {
  const auto store = OpenTestStore(MigratedDatabase());
  const auto first = Like(*store, 1, 10);
  INFO(first.status());
  REQUIRE(first.ok());
  CHECK(first->changed);
  CHECK(first->count == 1);
  const auto again = Like(*store, 1, 10);
  REQUIRE(again.ok());
  CHECK(*again == Applied{false, 1, first->version});
  const auto count = CountOf(*store, 10);
  REQUIRE(count.ok());
  CHECK(count->count == 1);
  CHECK(count->version == first->version);
  const auto gone = Unlike(*store, 1, 10);
  REQUIRE(gone.ok());
  CHECK(gone->changed);
  CHECK(gone->count == 0);
  CHECK(gone->version > first->version);
  CHECK(Findings(*store).empty());
}

TEST_CASE("a repeat that waits for another session's first like answers a count that includes it") {
  const std::string url = MigratedDatabase();
  auto options = TestStoreOptions(url);
  options.lock_timeout = kPatience;
  options.statement_timeout = kPatience;
  const auto store = OpenTestStore(options);
  REQUIRE(Like(*store, 1, 10)->count == 1);
  HeldTransaction other(url,
                        "INSERT INTO user_likes (user_id, item_id, item_type) VALUES (2, 10, 1); "
                        "UPDATE counters SET count = count + 1, version = version + 5 "
                        "WHERE item_id = 10");
  Waiting repeat(*store, LikeOf(2, 10));
  REQUIRE(Eventually(kPatience, [&] { return SomebodyWaits(url); }));
  other.LetGo();
  const auto result = repeat.Result();
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK_FALSE(result->changed);
  CHECK(result->count == 2);
}

TEST_CASE("an unlike that waits for another session's answers a count without both") {
  const std::string url = MigratedDatabase();
  auto options = TestStoreOptions(url);
  options.lock_timeout = kPatience;
  options.statement_timeout = kPatience;
  const auto store = OpenTestStore(options);
  for (const int64_t user : {1, 2, 3}) REQUIRE(Like(*store, user, 10).ok());
  HeldTransaction other(url,
                        "DELETE FROM user_likes WHERE user_id = 2; "
                        "UPDATE counters SET count = count - 1, version = version + 5");
  SECTION("of the same pair: it changes nothing and sees the count after the other") {
    Waiting unlike(*store, UnlikeOf(2, 10));
    REQUIRE(Eventually(kPatience, [&] { return SomebodyWaits(url); }));
    other.LetGo();
    const auto result = unlike.Result();
    REQUIRE(result.ok());
    CHECK_FALSE(result->changed);
    CHECK(result->count == 2);
  }
  SECTION("of another user: it takes its own like from what the other left") {
    Waiting unlike(*store, UnlikeOf(3, 10));
    REQUIRE(Eventually(kPatience, [&] { return SomebodyWaits(url); }));
    other.LetGo();
    const auto result = unlike.Result();
    REQUIRE(result.ok());
    CHECK(result->changed);
    CHECK(result->count == 1);
  }
}

TEST_CASE("reads beyond the limit are refused at once, and the one that waits is answered") {
  const std::string url = MigratedDatabase();
  auto options = TestStoreOptions(url);
  options.lock_timeout = kPatience;
  options.statement_timeout = kPatience;
  options.reads_max = 1;
  const auto store = OpenTestStore(options);
  REQUIRE(Like(*store, 1, 10).ok());
  HeldTransaction other(url, "LOCK TABLE counters, user_likes");
  absl::StatusOr<ItemCount> first;
  std::thread waiting([&] { first = CountOf(*store, 10, kPatience); });
  const bool waits = Eventually(kPatience, [&] { return SomebodyWaits(url); });
  const auto count = CountOf(*store, 11, kPatience);
  const auto liked = BlockingWait(
      store->HasLiked({1}, {{{kPost, 10}, 0}}, Consistency::kStrong, Within(kPatience)));
  other.LetGo();
  waiting.join();
  CHECK(waits);
  CHECK(ReasonOf(count.status()) == ErrorReason::kOverloaded);
  CHECK(ReasonOf(liked.status()) == ErrorReason::kOverloaded);
  REQUIRE(first.ok());
  CHECK(first->count == 1);
  CHECK(CountOf(*store, 11)->count == 0);
}

TEST_CASE("versions rise although the server's clock stands behind the last one") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  REQUIRE(Like(*store, 1, 10).ok());
  constexpr int64_t kFuture = 4'000'000'000'000'000;
  Ask(url, absl::StrCat("UPDATE counters SET version = ", kFuture));
  CHECK(Like(*store, 2, 10)->version == kFuture + 1);
  CHECK(Unlike(*store, 2, 10)->version == kFuture + 2);
  CHECK(Unlike(*store, 2, 10)->version == kFuture + 2);
}

TEST_CASE("the digests of the database are those of the code") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  int64_t digest = 0;
  for (const int64_t user : {int64_t{1}, int64_t{2}, int64_t{4294967296}, int64_t{2147483648},
                             int64_t{9223372036854775807}, int64_t{1234567890123456789}}) {
    REQUIRE(Like(*store, user, 10).ok());
    digest ^= LikerMix({user});
    CHECK(Ask(url, "SELECT digest FROM counters") == absl::StrCat(digest));
    CHECK(Findings(*store).empty());
  }
}

class Listener final : public OutboxListener {
 public:
  void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) override {
    MutexLock lock(mutex_);
    rows_.push_back(row);
    changed_.insert(changed_.end(), changed.begin(), changed.end());
  }
  std::vector<OutboxRow> rows() {
    MutexLock lock(mutex_);
    return rows_;
  }
  std::vector<ChangedItem> changed() {
    MutexLock lock(mutex_);
    return changed_;
  }

 private:
  Mutex mutex_;
  std::vector<OutboxRow> rows_;
  std::vector<ChangedItem> changed_;
};

TEST_CASE("what changed is in the outbox with the change, and goes once the cache was told") {
  const std::string url = MigratedDatabase();
  Listener listener;
  const auto store = OpenTestStore(url);
  store->SetListener(&listener);
  const auto results = BlockingWait(store->Apply(
      {LikeOf(1, 10), LikeOf(2, 10), {{1}, {kReel, 10}, Action::kLike}}, Within(kPatience)));
  for (const auto& result : results) REQUIRE(result.ok());
  const std::string everything =
      "SELECT string_agg(t || ':' || i, ' ' ORDER BY t, i) "
      "FROM cache_outbox, unnest(types, ids) AS x(t, i)";
  CHECK(Ask(url, everything) == "1:10 2:10");
  CHECK(listener.changed().size() == 2);
  // A repeat changes nothing.
  REQUIRE(Like(*store, 1, 10).ok());
  CHECK(Ask(url, everything) == "1:10 2:10");
  const auto gone = Unlike(*store, 1, 10);
  REQUIRE(gone.ok());
  CHECK(Ask(url, everything) == "1:10 1:10 2:10");
  CHECK(listener.changed().back().count == gone->count);
  CHECK(listener.changed().back().version == gone->version);
  for (const OutboxRow& row : listener.rows()) store->Acknowledge(row);
  // Each lane deletes with its next batch; these two items are of different lanes or the same.
  for (int64_t item = 100; item < 120; ++item) REQUIRE(Like(*store, 1, item).ok());
  CHECK(Ask(url, "SELECT count(*) FROM cache_outbox, unnest(ids) AS i WHERE i = 10") == "0");
  store->Stop();
}

TEST_CASE("outbox rows that nobody acknowledged are found by their age, by one server at a time") {
  const std::string url = MigratedDatabase();
  Listener listener;
  const auto store = OpenTestStore(url);
  const auto other = OpenTestStore(url);
  store->SetListener(&listener);
  REQUIRE(Like(*store, 1, 10).ok());
  const auto take = [](postgres::PostgresStore& from, absl::Duration age) {
    const auto rows = BlockingWait(from.TakeStale(age, 10, Within(kPatience)));
    INFO(rows.status());
    REQUIRE(rows.ok());
    return *rows;
  };
  CHECK(take(*other, absl::Hours(1)).empty());
  Ask(url, "UPDATE cache_outbox SET at = at - interval '2 hours'");
  const auto rows = take(*other, absl::Hours(1));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].id == listener.rows().at(0).id);
  CHECK(rows[0].items == std::vector<Item>{{kPost, 10}});
  // Taken: it is the taker's for as long again.
  CHECK(take(*store, absl::Hours(1)).empty());
  CHECK(BlockingWait(other->DeleteStale({rows[0].id, 12345}, Within(kPatience))).ok());
  CHECK(Ask(url, "SELECT count(*) FROM cache_outbox") == "0");
  store->Stop();
}

TEST_CASE(
    "the sweep of the outbox waits for nobody: a row that is locked is left to who holds it") {
  const std::string url = MigratedDatabase();
  Listener listener;
  const auto store = OpenTestStore(url);
  store->SetListener(&listener);
  REQUIRE(Like(*store, 1, 10).ok());
  REQUIRE(Like(*store, 1, 11).ok());
  Ask(url, "UPDATE cache_outbox SET at = at - interval '2 hours'");
  const int64_t held = listener.rows().at(0).id;
  const int64_t free = listener.rows().at(1).id;
  HeldTransaction other(url,
                        absl::StrCat("SELECT FROM cache_outbox WHERE id = ", held, " FOR UPDATE"));
  const auto rows = BlockingWait(store->TakeStale(absl::Hours(1), 10, Within(kPatience)));
  REQUIRE(rows.ok());
  REQUIRE(rows->size() == 1);
  CHECK(rows->at(0).id == free);
  CHECK(BlockingWait(store->DeleteStale({held, free}, Within(kPatience))).ok());
  CHECK(Ask(url, "SELECT id FROM cache_outbox") == absl::StrCat(held));
  other.LetGo();
  store->Stop();
}

TEST_CASE("without a listener the outbox stays as small as there are lanes") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  for (int64_t user = 1; user <= 50; ++user) REQUIRE(Like(*store, user, user).ok());
  CHECK(Ask(url, "SELECT count(*) <= 2 FROM cache_outbox") == "t");
}

TEST_CASE("a database that was not migrated, or not for an item type, is refused with what to do") {
  auto options = TestStoreOptions(*SharedPostgres().MakeDatabase("empty"));
  const auto empty = postgres::PostgresStore::Open(options);
  REQUIRE_FALSE(empty.ok());
  CHECK(std::string(empty.status().message()).find("counterd migrate up") != std::string::npos);
  options = TestStoreOptions(MigratedDatabase());
  options.item_types.push_back(ItemType{77});
  const auto missing = postgres::PostgresStore::Open(options);
  REQUIRE_FALSE(missing.ok());
  CHECK(std::string(missing.status().message()).find("77") != std::string::npos);
}

TEST_CASE("a wrong name of the database is refused, and the password is not told") {
  auto options = TestStoreOptions(absl::StrCat(SharedPostgres().Url("nowhere"), " password=xyzzy"));
  std::string said;
  options.say = [&said](const std::string& text) { said += text; };
  const auto store = postgres::PostgresStore::Open(options);
  REQUIRE_FALSE(store.ok());
  CHECK(std::string(store.status().message()).find("xyzzy") == std::string::npos);
  CHECK(said.find("xyzzy") == std::string::npos);
}

TEST_CASE("a member of the serving role can serve, and cannot change the schema") {
  const std::string url = MigratedDatabase();
  Ask(url, "CREATE ROLE server_login LOGIN IN ROLE counter_serving");
  const std::string as_server = absl::StrCat(url, " user=server_login");
  const auto store = OpenTestStore(as_server);
  REQUIRE(Like(*store, 1, 10).ok());
  REQUIRE(Like(*store, 2, 10).ok());
  REQUIRE(Unlike(*store, 1, 10)->changed);
  CHECK(CountOf(*store, 10)->count == 1);
  CHECK(Findings(*store).empty());
  CHECK_FALSE(SharedPostgres().Psql(as_server, "DROP TABLE counters").ok());
  CHECK_FALSE(SharedPostgres().Psql(as_server, "TRUNCATE user_likes").ok());
  CHECK_FALSE(SharedPostgres().Psql(as_server, "CREATE TABLE x ()").ok());
  CHECK_FALSE(SharedPostgres().Psql(as_server, "DELETE FROM counters").ok());
}

TEST_CASE("the shipped schema has no column that may be null in a key or a count") {
  const std::string url = MigratedDatabase();
  // One may: what a failover left behind, where nobody could say.
  CHECK(Ask(url,
            "SELECT string_agg(table_name || '.' || column_name, ' ') FROM "
            "information_schema.columns WHERE table_schema = 'public' AND is_nullable = 'YES'") ==
        "store_timelines.kept_until");
  CHECK_FALSE(SharedPostgres().Psql(url, "INSERT INTO counters VALUES (1, -1, 1, 0, 1)").ok());
}

TEST_CASE("a pooler is noticed without being told of it") {
  const std::string url = MigratedDatabase();
  const auto bouncer = PgBouncer::Start(SharedPostgres());
  INFO(bouncer.status());
  REQUIRE(bouncer.ok());
  const std::string name = Ask(url, "SELECT current_database()");
  const auto store = OpenTestStore((*bouncer)->Url(name));
  for (int64_t user = 1; user <= 20; ++user) REQUIRE(Like(*store, user, 10).ok());
  CHECK(CountOf(*store, 10)->count == 20);
}

TEST_CASE("the log of the server names no deadlock and no misuse") {
  CHECK(BadWords(SharedPostgres()).empty());
}

}  // namespace
}  // namespace counter::testing
