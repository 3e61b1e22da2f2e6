#include "tests/storage/postgres_fixture.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/task.h"
#include "storage/postgres/migrate.h"
#include "tests/support/eventually.h"

namespace counter::testing {

std::vector<ItemType> TestTypes() { return {kPost, kReel}; }

PostgresServer& SharedPostgres() {
  static const std::unique_ptr<PostgresServer> server = [] {
    PostgresServer::Options options;
    options.settings["shared_preload_libraries"] = "'pg_stat_statements'";
    absl::StatusOr<std::unique_ptr<PostgresServer>> started = PostgresServer::Start(options);
    INFO(started.status());
    REQUIRE(started.ok());
    return *std::move(started);
  }();
  return *server;
}

std::string MigratedDatabase(PostgresServer& server) {
  // Migrated once a server; the others are copies.
  static std::map<std::string, int> made;
  int& number = made[server.socket_directory()];
  if (number == 0) {
    const absl::StatusOr<std::string> original = server.MakeDatabase("migrated");
    INFO(original.status());
    REQUIRE(original.ok());
    const auto migrated = postgres::MigrateUp(*original, TestTypes());
    INFO(migrated.status());
    REQUIRE(migrated.ok());
  }
  const std::string name = absl::StrCat("test", ++number);
  absl::StatusOr<std::string> copied;
  // The connection that migrated may not have gone yet.
  const bool in_time = Eventually(absl::Seconds(20), [&] {
    copied =
        server.Psql(server.Url(), absl::StrCat("CREATE DATABASE ", name, " TEMPLATE migrated"));
    return copied.ok();
  });
  INFO(copied.status());
  REQUIRE(in_time);
  std::string url = server.Url(name);
  // Another store, not the same one.
  REQUIRE(server.Psql(url, "UPDATE store_identity SET store_id = md5(random()::text)").ok());
  return url;
}

postgres::StoreOptions TestStoreOptions(const std::string& url) {
  postgres::StoreOptions options;
  options.url = url;
  options.item_types = TestTypes();
  options.open_wait = absl::Seconds(20);
  options.say = [](const std::string& text) { std::fprintf(stderr, "store: %s\n", text.c_str()); };
  return options;
}

std::unique_ptr<postgres::PostgresStore> OpenTestStore(const postgres::StoreOptions& options) {
  auto store = postgres::PostgresStore::Open(options);
  INFO(store.status());
  REQUIRE(store.ok());
  INFO((*store)->Health());
  REQUIRE((*store)->Health().ok());
  return *std::move(store);
}

CallLimits Within(absl::Duration duration) {
  CallLimits limits;
  limits.deadline = Clock::System().MonotonicNow() + duration;
  return limits;
}

Mutation LikeOf(int64_t user, int64_t item) { return {{user}, {kPost, item}, Action::kLike}; }
Mutation UnlikeOf(int64_t user, int64_t item) { return {{user}, {kPost, item}, Action::kUnlike}; }

absl::StatusOr<Applied> ApplyOne(LikeStore& store, const Mutation& mutation,
                                 absl::Duration within) {
  return BlockingWait(store.Apply({mutation}, Within(within)))[0];
}
absl::StatusOr<Applied> Like(LikeStore& store, int64_t user, int64_t item, absl::Duration within) {
  return ApplyOne(store, LikeOf(user, item), within);
}
absl::StatusOr<Applied> Unlike(LikeStore& store, int64_t user, int64_t item,
                               absl::Duration within) {
  return ApplyOne(store, UnlikeOf(user, item), within);
}

absl::StatusOr<ItemCount> CountOf(LikeStore& store, int64_t item, absl::Duration within) {
  const auto read =
      BlockingWait(store.Counts({{{kPost, item}, 0}}, Consistency::kStrong, Within(within)));
  if (!read.ok()) return read.status();
  return read->counts[0];
}

std::vector<AuditFinding> Findings(LikeStore& store) {
  std::vector<AuditFinding> findings;
  std::optional<Item> after;
  do {
    const auto page = BlockingWait(store.Audit(after, 10'000, Within(absl::Minutes(5))));
    INFO(page.status());
    REQUIRE(page.ok());
    findings.insert(findings.end(), page->findings.begin(), page->findings.end());
    after = page->next;
  } while (after.has_value());
  return findings;
}

void RequireSound(LikeStore& store, const PostgresServer& server) {
  CHECK(Findings(store).empty());
  CHECK(BadWords(server) == "");
}

Process CauseDeadlock(const PostgresServer& server, const std::string& url, int64_t first,
                      int64_t second) {
  const auto ask = [&](const std::string& sql) {
    const auto answer = server.Psql(url, sql);
    INFO(answer.status());
    REQUIRE(answer.ok());
    return *answer;
  };
  ask(absl::StrCat("ALTER DATABASE ", ask("SELECT current_database()"),
                   " SET deadlock_timeout = '200ms'"));
  auto psql = server.PsqlProcess(
      url, absl::StrCat(
               "SET deadlock_timeout = '60s'; BEGIN; SELECT FROM counters WHERE item_id = ", second,
               " FOR UPDATE; DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity "
               "WHERE datname = current_database() AND wait_event_type = 'Lock') LOOP "
               "PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$; "
               "SELECT FROM counters WHERE item_id = ",
               first, " FOR UPDATE; SELECT pg_sleep(0.3); COMMIT"));
  REQUIRE(psql.ok());
  REQUIRE(Eventually(absl::Seconds(20), [&] {
    return ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event = 'PgSleep'") == "1";
  }));
  return *std::move(psql);
}

std::pair<int64_t, int64_t> PostsOfOneLane() {
  const auto lane = [](int64_t post) {
    const int lanes = postgres::StoreOptions().lanes;
    return BucketOf({kPost, post}) * lanes / kBuckets;
  };
  std::pair<int64_t, int64_t> posts = {10, 11};
  while (lane(posts.second) != lane(posts.first)) ++posts.second;
  return posts;
}

std::string BadWords(const PostgresServer& server) {
  const std::string log = server.Log();
  std::string bad;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    for (const char* word : {"deadlock detected", " 40P01 ", " 21000 ", " 22021 ", " 26000 "})
      if (absl::StrContains(line, word)) absl::StrAppend(&bad, line, "\n");
  }
  return bad;
}

}  // namespace counter::testing
