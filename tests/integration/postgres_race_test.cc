// Many callers at once on few rows, through two servers over one PostgreSQL: known faults K12, K13,
// K14 and K28. K27 is in full_stack_rest_test, the long load of K14 in full_stack_load_test.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/hot_item_cases.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using Stub = v1::CounterService::Stub;

Servers ServersOf(FullStack& stack) { return {&stack.server(0), &stack.server(1)}; }

// Whether both servers together come to count at least so much: stores add up what they have done
// ten times a second.
bool Count(FullStack& stack, const std::string& metric, const MetricsText::Labels& labels,
           double at_least) {
  return Eventually(absl::Seconds(5), [&] {
    return MetricOf(stack.server(0), metric, labels) + MetricOf(stack.server(1), metric, labels) >=
           at_least;
  });
}

TEST_CASE("K13: 500 users who like one item at once through two servers are counted once each") {
  FullStack stack;
  LikeByManyUsersAtOnce(ServersOf(stack), Post(1));
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == "500");
  stack.RequireSound();
}

TEST_CASE("K13: of 500 equal likes at once through two servers one is told that it made it") {
  FullStack stack;
  LikeEquallyAtOnce(ServersOf(stack), Post(1));
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == "1");
  stack.RequireSound();
}

TEST_CASE("K28: an unlike of what was never liked, through any server, changes nothing") {
  FullStack stack;
  REQUIRE(stack.client(0).Like(1, Post(2)).ok());
  for (int i = 0; i < FullStack::kServers; ++i) {
    const auto of_nothing = stack.client(i).Unlike(1, Post(1));
    REQUIRE(of_nothing.ok());
    CHECK_FALSE(of_nothing->changed);
    CHECK(of_nothing->count == 0);
    const auto of_anothers = stack.client(i).Unlike(2, Post(2));
    REQUIRE(of_anothers.ok());
    CHECK_FALSE(of_anothers->changed);
    CHECK(of_anothers->count == 1);
  }
  CHECK(StrongCount(stack.client(0), Post(1)) == 0);
  CHECK(StrongCount(stack.client(1), Post(2)) == 1);
  stack.RequireSound();
}

TEST_CASE("K28: of 64 unlikes of one like at once one is UNLIKED, and no count is below zero") {
  FullStack stack;
  UnlikeEquallyAtOnce(ServersOf(stack), Post(1));
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == "0");
  // What the shipped schema says to whoever would write it nevertheless.
  CHECK_FALSE(stack.postgres().Psql(stack.database(), "UPDATE counters SET count = -1").ok());
  stack.RequireSound();
}

TEST_CASE("K12: of a hundred concurrent likes with one of a poisoned item only that one fails") {
  FullStack stack;
  constexpr int64_t kPoison = 666;
  constexpr size_t kLikes = 100;
  stack.Sql(absl::StrCat("ALTER TABLE user_likes ADD CHECK (item_id <> ", kPoison, ")"));
  const std::vector<std::shared_ptr<grpc::Channel>> channels = {ChannelTo(stack.server(0)),
                                                                ChannelTo(stack.server(1))};
  const int rounds = Sized(30, 1000);
  for (int round = 1; round <= rounds; ++round) {
    CAPTURE(round);
    std::vector<v1::LikeRequest> likes;
    for (size_t i = 0; i < kLikes; ++i)
      likes.push_back(LikeRequestOf(round, Post(1000 + static_cast<int64_t>(i))));
    const size_t poisoned = static_cast<size_t>(round) * 37 % kLikes;
    likes[poisoned] = LikeRequestOf(round, Post(kPoison));
    const auto ended = CallAtOnce(channels, &Stub::PrepareAsyncLike, likes);
    for (size_t i = 0; i < kLikes; ++i) {
      CAPTURE(i, ended[i].status.error_message());
      if (i == poisoned) {
        REQUIRE(ended[i].status.error_code() == grpc::INTERNAL);
        REQUIRE(ended[i].not_applied);
      } else {
        REQUIRE(ended[i].status.ok());
        REQUIRE(ended[i].response.status() == v1::LIKE_STATUS_LIKED);
        REQUIRE(ended[i].response.count() <= round);
      }
    }
  }
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == absl::StrCat(rounds * (kLikes - 1)));
  CHECK(Count(stack, "counter_postgres_refusals_total", {}, rounds));
  CHECK(Count(stack, "counter_postgres_bisections_total", {}, 1));
  stack.RequireSound();
}

// Last: it leaves a deadlock in the log, which RequireSound() would find.
TEST_CASE("K14: a deadlock that somebody else causes is tried again and the callers see OK") {
  FullStack stack;
  REQUIRE(BadWords(stack.postgres()).empty());
  const auto [first, second] = PostsOfOneLane();
  const auto like_both = [&, first = first, second = second](int64_t user) {
    const auto reply = stack.client(0).WriteLikes({{user, Post(first)}, {user, Post(second)}});
    REQUIRE(reply.ok());
    for (const auto& result : reply->results) {
      INFO((result.ok() ? std::string() : result.error().ToString()));
      REQUIRE(result.ok());
      CHECK(result->count == user);
    }
  };
  like_both(1);
  const Process psql = CauseDeadlock(stack.postgres(), stack.database(), first, second);
  stack.Sql(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = "
      "'counterd' AND datname = current_database()");
  // A post of each lane that nobody holds.
  REQUIRE(Eventually(absl::Seconds(10) * Slowness(), [&] {
    for (int64_t post = 100; post < 110; ++post)
      if (!stack.client(0).Like(1, Post(post)).ok()) return false;
    return true;
  }));
  like_both(2);
  CHECK(stack.postgres().CountLog("deadlock detected") >= 1);
  CHECK(
      Count(stack, "counter_postgres_retries_total", {{"kind", "write"}, {"met", "conflict"}}, 1));
  const auto store = OpenTestStore(stack.database());
  CHECK(Findings(*store).empty());
}

}  // namespace
}  // namespace counter::testing
