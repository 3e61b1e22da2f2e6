// Many callers, one item: K13, K27 and K28 of the fault list, on the embedded store. On PostgreSQL:
// postgres_race_test.
#include <atomic>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/integration/fixture.h"
#include "tests/integration/hot_item_cases.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::Action;

TEST_CASE("500 users who like one item at once are counted once each") {
  auto server = StartServer();
  LikeByManyUsersAtOnce({server.get()}, Post(1));
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("500 equal likes at once: one made it, all answer a count that includes it") {
  auto server = StartServer();
  LikeEquallyAtOnce({server.get()}, Post(1));
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("1000 likes of one pair from 64 threads and in batches: one like, one LIKED") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  std::atomic<int> made = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> wrong_count = 0;
  std::atomic<int> left = 1000;
  RunWorkers(64, [&](int worker) {
    while (left.fetch_sub(1) > 0) {
      // Every eighth worker comes through the other door, with duplicates in one request.
      if (worker % 8 == 0) {
        const auto reply = client.WriteLikes({{7, Post(1)}, {7, Post(1)}, {7, Post(1)}});
        if (!reply.ok()) ++failed;
        if (!reply.ok()) continue;
        for (const auto& result : reply->results) {
          if (!result.ok()) ++failed;
          if (result.ok() && result->changed) ++made;
          if (result.ok() && result->count != 1) ++wrong_count;
        }
        continue;
      }
      const auto reply = client.Like(7, Post(1));
      if (!reply.ok()) ++failed;
      if (reply.ok() && reply->changed) ++made;
      if (reply.ok() && reply->count != 1) ++wrong_count;
    }
  });
  CHECK(made == 1);
  CHECK(failed == 0);
  CHECK(wrong_count == 0);
  CHECK(StrongCount(client, Post(1)) == 1);
  CHECK(StronglyLiked(client, 7, Post(1)));
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("An unlike of what was never liked changes nothing") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  for (int i = 0; i < 2; ++i) {
    const auto reply = client.Unlike(1, Post(1));
    REQUIRE(reply.ok());
    CHECK_FALSE(reply->changed);
    CHECK(reply->count == 0);
  }
  // Neither does one of somebody else's like.
  REQUIRE(client.Like(1, Post(2)).ok());
  const auto reply = client.Unlike(2, Post(2));
  REQUIRE(reply.ok());
  CHECK_FALSE(reply->changed);
  CHECK(reply->count == 1);
  CHECK(StrongCount(client, Post(1)) == 0);
  CHECK(StrongCount(client, Post(2)) == 1);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("64 unlikes of one like at once: one UNLIKED, and no reading below zero at any time") {
  auto server = StartServer();
  UnlikeEquallyAtOnce({server.get()}, Post(1));
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("The mutations of one request on one pair apply in their order") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(2, Post(1)).ok());
  const auto reply = client.WriteLikes({{1, Post(1), Action::kLike},
                                        {1, Post(1), Action::kLike},
                                        {1, Post(1), Action::kUnlike},
                                        {1, Post(1), Action::kUnlike},
                                        {1, Post(1), Action::kLike}});
  REQUIRE(reply.ok());
  std::vector<bool> changed;
  std::vector<int64_t> counts;
  for (const auto& result : reply->results) {
    REQUIRE(result.ok());
    changed.push_back(result->changed);
    counts.push_back(result->count);
  }
  CHECK(changed == std::vector<bool>{true, false, true, false, true});
  CHECK(counts == std::vector<int64_t>{2, 2, 1, 1, 2});
}

}  // namespace
}  // namespace counter::testing
