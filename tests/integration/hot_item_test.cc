// Many callers, one item: K13, K27 and K28 of the fault list.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/integration/fixture.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using Stub = v1::CounterService::Stub;
using client::Action;
using client::Mutation;

TEST_CASE("500 users who like one item at once are counted once each") {
  auto server = StartServer();
  std::vector<v1::LikeRequest> requests;
  for (int64_t user = 1; user <= 500; ++user) requests.push_back(LikeRequestOf(user, Post(1)));
  const auto ended = CallAtOnce(ChannelTo(*server), &Stub::PrepareAsyncLike, requests);
  for (const auto& call : ended) {
    INFO(call.status.error_message());
    REQUIRE(call.status.ok());
    REQUIRE(call.response.status() == v1::LIKE_STATUS_LIKED);
    REQUIRE(call.response.count() >= 1);
    REQUIRE(call.response.count() <= 500);
  }
  CHECK(StrongCount(ConnectTo(*server), Post(1)) == 500);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("500 equal likes at once: one made it, all answer a count that includes it") {
  auto server = StartServer();
  const std::vector<v1::LikeRequest> requests(500, LikeRequestOf(7, Post(1)));
  const auto ended = CallAtOnce(ChannelTo(*server), &Stub::PrepareAsyncLike, requests);
  int made = 0;
  for (const auto& call : ended) {
    INFO(call.status.error_message());
    REQUIRE(call.status.ok());
    REQUIRE(call.response.count() == 1);
    if (call.response.status() == v1::LIKE_STATUS_LIKED) ++made;
  }
  CHECK(made == 1);
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
  const Client client = ConnectTo(*server);
  std::atomic<bool> done = false;
  std::atomic<int> below_zero = 0;
  std::atomic<int> readings = 0;
  std::jthread reader([&] {
    for (int i = 0; !done; ++i) {
      const auto strong = i % 2 == 0 ? client::Consistency::kStrong : client::Consistency::kCached;
      const auto count = client.Count(Post(1), {.consistency = strong});
      if (count.ok() && (count->count.count < 0 || count->count.count > 1)) ++below_zero;
      ++readings;
    }
  });
  const int rounds = Sized(20, 500);
  for (int round = 0; round < rounds; ++round) {
    REQUIRE(client.Like(1, Post(1)).value().changed);
    const std::vector<v1::UnlikeRequest> requests(64, UnlikeRequestOf(1, Post(1)));
    const auto ended = CallAtOnce(ChannelTo(*server), &Stub::PrepareAsyncUnlike, requests);
    int made = 0;
    for (const auto& call : ended) {
      REQUIRE(call.status.ok());
      REQUIRE(call.response.count() == 0);
      if (call.response.status() == v1::UNLIKE_STATUS_UNLIKED) ++made;
    }
    REQUIRE(made == 1);
  }
  done = true;
  reader.join();
  CHECK(below_zero == 0);
  CHECK(readings > 0);
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
