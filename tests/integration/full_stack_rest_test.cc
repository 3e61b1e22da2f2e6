// The gateway in front of PostgreSQL and Redis: K27, K30 and K31 on two servers, and what /health
// says of a part that is gone.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/hostile_types.h"
#include "tests/integration/rest_calls.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

TEST_CASE("K27: parallel likes of one pair by gRPC and REST on two servers are one like") {
  FullStack stack;
  constexpr int kThreads = 64;
  constexpr int kCalls = 1000;
  std::atomic<int> next = 0;
  std::atomic<int> liked = 0;
  std::atomic<int> failed = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const int server = thread % FullStack::kServers;
      HttpClient rest(stack.server(server).http_port());
      while (next++ < kCalls) {
        if (thread % 4 < 2) {
          const auto reply = stack.client(server).Like(1, Post(1));
          if (!reply.ok()) ++failed;
          if (reply.ok() && reply->changed) ++liked;
        } else {
          const HttpClient::Answer answer =
              rest.Post("/v1/like", R"({"user_id": 1, "item_id": 1})");
          if (answer.status != 200) ++failed;
          if (absl::StrContains(answer.body, "\"liked\"")) ++liked;
        }
      }
    });
  }
  threads.clear();
  CHECK(failed == 0);
  CHECK(liked == 1);
  CHECK(StrongCount(stack.client(0), Post(1)) == 1);
  stack.RequireSound();
  // No key column lets a NULL through, which no unique index would see.
  CHECK(stack.Sql("SELECT count(*) FROM information_schema.columns WHERE is_nullable = 'YES' AND "
                  "table_name IN ('user_likes', 'counters') AND column_name IN ('user_id', "
                  "'item_id', 'item_type')") == "0");
}

// The names of the commands that Redis was ever sent.
std::set<std::string> CommandsOf(const RedisServer& redis) {
  std::set<std::string> names;
  for (const absl::string_view line :
       absl::StrSplit(redis.Command({"INFO", "commandstats"}), '\n')) {
    if (absl::StartsWith(line, "cmdstat_")) names.emplace(line.substr(0, line.find(':')));
  }
  return names;
}

TEST_CASE("K30: what a hostile item type holds reaches Redis neither as a command nor as a key") {
  FullStack stack;
  HttpClient client(stack.server(0).http_port());
  // All that the product says to Redis.
  const std::string like = LikeBody(1, 1);
  const auto call_all = [&] {
    REQUIRE(client.Post("/v1/like", like).status == 200);
    REQUIRE(client.Post("/v1/unlike", like).status == 200);
    REQUIRE(client.Post("/v1/write_likes", MutationsBody({MutationOf(1, 2, "like")})).status ==
            200);
    REQUIRE(client.Get("/v1/counts?item_ids=1,2,3").status == 200);
    REQUIRE(client.Get("/v1/has_liked?user_id=1&item_ids=1,2,3").status == 200);
    REQUIRE_FALSE(stack.redis().Command({"DBSIZE"}).empty());
  };
  call_all();
  const std::set<std::string> commands = CommandsOf(stack.redis());
  REQUIRE(commands.contains("cmdstat_mget"));
  const std::string keys = stack.redis().Command({"DBSIZE"});
  for (const std::string& type : HostileTypes()) RequireRefusedEverywhere(client, type);
  CHECK(stack.redis().Command({"DBSIZE"}) == keys);
  CHECK(CommandsOf(stack.redis()) == commands);
  CHECK(StrongCount(stack.client(1), Post(2)) == 1);
  stack.RequireSound();
}

TEST_CASE("K31: a batch over the cap asks PostgreSQL nothing, and one of equal ids is one") {
  FullStack stack;
  stack.Sql("CREATE EXTENSION pg_stat_statements");
  HttpClient client(stack.server(0).http_port());
  REQUIRE(client.Post("/v1/like", LikeBody(1, 3)).status == 200);
  // Statements that read the likes of a user, and the rows that came.
  const auto statements = [&] {
    return stack.Sql(
        "SELECT coalesce(sum(calls), 0)::int8, coalesce(sum(rows), 0)::int8 FROM "
        "pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = "
        "current_database() AND query LIKE '%user_likes%' AND query NOT LIKE "
        "'%pg_stat_statements%'");
  };
  const auto liked = [&](const std::string& list) {
    return client.Post("/v1/has_liked", absl::StrCat(R"({"user_id":2,"item_ids":[)", list, "]}"));
  };
  const std::string before = statements();
  CHECK(FieldsOf(liked(IdList(1001))) == Fields{"item_ids"});
  CHECK(client.Post("/v1/write_likes", R"({"mutations":[)" + std::string(300'000, ' ')).status ==
        413);
  CHECK(statements() == before);
  std::string equal = "3";
  for (int i = 1; i < 1000; ++i) equal += ",3";
  CHECK(liked(equal).body == "{\"liked\":{\"3\":false}}");
  CHECK(statements() != before);
}

TEST_CASE("health names the part that is gone, and is well again when it is back") {
  FullStack stack;
  HttpClient client(stack.server(0).http_port());
  const auto health_is = [&](const std::string& body) {
    return Eventually(absl::Seconds(20) * Slowness(),
                      [&] { return client.Get("/health").body == body; });
  };
  CHECK(health_is(R"({"status":"ok","database":"healthy","redis":"healthy"})"));
  stack.redis().Kill9();
  CHECK(health_is(R"({"status":"degraded","database":"healthy","redis":"unhealthy"})"));
  CHECK(client.Get("/health").status == 200);
  CHECK(client.Post("/v1/like", R"({"user_id": 1, "item_id": 1})").status == 200);
}

}  // namespace
}  // namespace counter::testing
