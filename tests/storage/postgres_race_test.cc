// Many callers at once on few rows: known faults K12, K13, K14, K27 and K28, and two servers'
// stores on one database, on a real PostgreSQL.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/postgres_load.h"
#include "tests/support/process.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

std::string Ask(const std::string& url, const std::string& sql) {
  const auto answer = SharedPostgres().Psql(url, sql);
  INFO(answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

struct Tally {
  std::atomic<int> changed{0};
  std::atomic<int> failed{0};
  std::atomic<int> negative{0};
  std::atomic<int> beside{0};  // Counts that cannot be.

  void Add(const absl::StatusOr<Applied>& result, int64_t least, int64_t most) {
    if (!result.ok()) {
      ++failed;
      return;
    }
    if (result->changed) ++changed;
    if (result->count < 0) ++negative;
    if (result->count < least || result->count > most) ++beside;
  }
};

TEST_CASE(
    "K27: of a thousand likes of one pair through two servers exactly one is told it changed") {
  const std::string url = MigratedDatabase();
  const auto first = OpenTestStore(url);
  const auto second = OpenTestStore(url);
  constexpr int kThreads = 64;
  Tally tally;
  RunWorkers(kThreads, [&](int worker) {
    for (int i = 0; i < 1000 / kThreads + 1; ++i)
      tally.Add(Like(worker % 2 == 0 ? *first : *second, 7, 10), 1, 1);
  });
  CHECK(tally.failed == 0);
  CHECK(tally.changed == 1);
  CHECK(tally.beside == 0);
  CHECK(CountOf(*first, 10)->count == 1);
  CHECK(Ask(url, "SELECT count(*) FROM user_likes") == "1");
  RequireSound(*second, SharedPostgres());
}

TEST_CASE("K28: an unlike of what was never liked changes nothing, of many of one like only one") {
  const std::string url = MigratedDatabase();
  const auto first = OpenTestStore(url);
  const auto second = OpenTestStore(url);
  const auto never = Unlike(*first, 1, 10);
  REQUIRE(never.ok());
  CHECK(*never == Applied{false, 0, 0});
  const int rounds = Sized(5, 50);
  for (int round = 1; round <= rounds; ++round) {
    REQUIRE(Like(*first, 1, 10)->changed);
    Tally tally;
    RunWorkers(64, [&](int worker) {
      tally.Add(Unlike(worker % 2 == 0 ? *first : *second, 1, 10), 0, 0);
    });
    CHECK(tally.failed == 0);
    CHECK(tally.changed == 1);
    CHECK(tally.beside == 0);
    CHECK(CountOf(*first, 10)->count == 0);
  }
  RequireSound(*first, SharedPostgres());
}

TEST_CASE("K13: likes of one item, and equal ones, combine without touching a row twice") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  constexpr int kUsers = 500;
  std::vector<Mutation> different;
  std::vector<Mutation> equal;
  for (int user = 1; user <= kUsers; ++user) {
    different.push_back(LikeOf(user, 10));
    equal.push_back(LikeOf(1, 11));
  }
  Tally tally_different;
  for (const auto& result : BlockingWait(store->Apply(different, Within(absl::Seconds(20)))))
    tally_different.Add(result, 1, kUsers);
  Tally tally_equal;
  for (const auto& result : BlockingWait(store->Apply(equal, Within(absl::Seconds(20)))))
    tally_equal.Add(result, 1, 1);
  CHECK(tally_different.failed == 0);
  CHECK(tally_different.changed == kUsers);
  CHECK(tally_different.beside == 0);
  CHECK(CountOf(*store, 10)->count == kUsers);
  CHECK(tally_equal.failed == 0);
  CHECK(tally_equal.changed == 1);
  CHECK(tally_equal.beside == 0);
  RequireSound(*store, SharedPostgres());
}

TEST_CASE("K12: of a hundred likes with one poisoned item among them only that one fails") {
  const std::string url = MigratedDatabase();
  constexpr int64_t kPoison = 666;
  Ask(url, absl::StrCat("ALTER TABLE user_likes ADD CHECK (item_id <> ", kPoison, ")"));
  const auto store = OpenTestStore(url);
  const int rounds = Sized(20, 1000);
  int wrong_rounds = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Mutation> likes;
    for (int i = 0; i < 100; ++i) likes.push_back(LikeOf(round + 1, 1000 + i));
    const size_t poisoned = static_cast<size_t>(round * 37) % likes.size();
    likes[poisoned] = LikeOf(round + 1, kPoison);
    const auto results = BlockingWait(store->Apply(likes, Within(absl::Seconds(20))));
    bool right = true;
    for (size_t i = 0; i < likes.size(); ++i) {
      if (i == poisoned) {
        right = right && !results[i].ok() && IsNotApplied(results[i].status());
      } else {
        right = right && results[i].ok() && results[i]->changed;
      }
    }
    if (!right) ++wrong_rounds;
  }
  CHECK(wrong_rounds == 0);
  CHECK(Ask(url, "SELECT count(*) FROM user_likes") == absl::StrCat(rounds * 99));
  RequireSound(*store, SharedPostgres());
}

TEST_CASE("K14: two servers' likes and unlikes of fifty hot items never deadlock") {
  const std::string url = MigratedDatabase();
  auto options = TestStoreOptions(url);
  options.lanes = 3;
  const auto first = OpenTestStore(options);
  const auto second = OpenTestStore(options);
  LoadOptions load;
  load.threads = 16;
  load.batch = 20;
  load.users = 200;
  load.items = 50;
  load.unlikes_percent = 50;
  load.duration = Sized(absl::Seconds(3), absl::Minutes(5));
  const LoadReport report = RunLoad({first.get(), second.get()}, load);
  INFO("ok " << report.ok);
  CHECK(report.ok > 100);
  CHECK(report.errors.empty());
  CHECK(absl::StrJoin(Contradictions(report, SharedPostgres(), url), "\n") == "");
  RequireSound(*first, SharedPostgres());
}

TEST_CASE("two servers on few users and items obey section 3, whoever asks and in what sizes") {
  const std::string url = MigratedDatabase();
  const auto first = OpenTestStore(url);
  const auto second = OpenTestStore(url);
  for (const int64_t items : {int64_t{1}, int64_t{30}, int64_t{1'000'000}}) {
    LoadOptions load;
    load.threads = Sized(16, 64);
    load.batch = items == 30 ? 7 : 1;
    load.items = items;
    load.duration = Sized(absl::Seconds(1), absl::Seconds(30));
    Ask(url, "TRUNCATE user_likes, counters");
    const LoadReport report = RunLoad({first.get(), second.get()}, load);
    INFO("items " << items << " ok " << report.ok);
    CHECK(report.ok > 0);
    CHECK(report.errors.empty());
    CHECK(absl::StrJoin(Contradictions(report, SharedPostgres(), url), "\n") == "");
    RequireSound(*first, SharedPostgres());
  }
}

// Last: it leaves a deadlock in the log.
TEST_CASE("K14: a deadlock that somebody else causes is tried again and the caller sees OK") {
  const std::string url = MigratedDatabase();
  const auto store = OpenTestStore(url);
  const auto [first, second] = PostsOfOneLane();
  for (const auto& result :
       BlockingWait(store->Apply({LikeOf(1, first), LikeOf(1, second)}, Within(absl::Seconds(20)))))
    REQUIRE(result.ok());
  const Process psql = CauseDeadlock(SharedPostgres(), url, first, second);
  const auto again = OpenTestStore(url);
  for (const auto& result : BlockingWait(
           again->Apply({LikeOf(2, first), LikeOf(2, second)}, Within(absl::Seconds(20))))) {
    INFO(result.status());
    CHECK(result.ok());
    CHECK(result->count == 2);
  }
  CHECK(SharedPostgres().CountLog("deadlock detected") >= 1);
  CHECK(again->Stats().write_retries.conflict >= 1);
  CHECK(Findings(*again).empty());
}

}  // namespace
}  // namespace counter::testing
