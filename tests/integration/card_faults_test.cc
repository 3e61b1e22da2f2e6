// The faults of the design card's own code (design.md section 1), by name, on the whole server with
// the embedded store. D8 and D11 are Redis's; D9 and D10 are in rate_limit_test.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::Item;
using client::Mutation;
using client::Source;

// Reads what is cached, after the bound in which a cached answer may be old.
bool CachedCountBecomes(const Client& client, const Item& item, int64_t count) {
  return Eventually(absl::Seconds(1) * Slowness(), [&] {
    const auto read = client.Count(item);
    return read.ok() && read->count.count == count;
  });
}

TEST_CASE("D1: a like of an item whose cached count has expired does not make it 1") {
  auto server = StartServer({{"CACHE_TTL_SECONDS", "1"}});
  const Client client = ConnectTo(*server);
  REQUIRE(client.WriteLikes(LikesOf(Post(1), 50)).ok());
  REQUIRE(client.Count(Post(1)).value().count.count == 50);  // Cached.
  // A witness that is cached later and expires twice (0.9 to 1.1 s each): then the item has, too.
  int expired = 0;
  REQUIRE(Eventually(absl::Seconds(5), [&] {
    if (client.Count(Post(2)).value().count.source == Source::kPrimary) ++expired;
    return expired == 3;
  }));
  REQUIRE(client.Like(51, Post(1)).value().count == 51);
  CHECK(CachedCountBecomes(client, Post(1), 51));
  CHECK(client.Count(Post(1)).value().count.count == 51);
}

TEST_CASE("D1, D3: a like and an unlike of items that are in no cache leave the true counts") {
  auto server = StartServer();
  {
    const Client client = ConnectTo(*server);
    REQUIRE(client.WriteLikes(LikesOf(Post(1), 50)).ok());
    REQUIRE(client.Like(1, Post(2)).ok());
  }
  StopServer(*server);
  RestartServer(*server);  // With an empty cache.
  const Client client = ConnectTo(*server);
  CHECK(client.Like(51, Post(1)).value().count == 51);
  CHECK(client.Unlike(1, Post(2)).value().count == 0);
  CHECK(client.Unlike(1, Post(2)).value().count == 0);
  CHECK(client.Unlike(1, Post(3)).value().count == 0);
  CHECK(CachedCountBecomes(client, Post(1), 51));
  CHECK(CachedCountBecomes(client, Post(2), 0));
  CHECK(CachedCountBecomes(client, Post(3), 0));
}

TEST_CASE("D4: a fill after a miss does not overwrite a newer count") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const int items = Sized(150, 5000);
  std::atomic<int> failed = 0;
  // For each cold item: readers that fill and a writer, at the same time.
  for (int64_t id = 1; id <= items; ++id) {
    RunWorkers(4, [&](int worker) {
      if (worker == 0 && !client.Like(1, Post(id)).ok()) ++failed;
      if (worker != 0 && !client.Count(Post(id)).ok()) ++failed;
    });
  }
  REQUIRE(failed == 0);
  for (int64_t id = 1; id <= items; ++id) {
    CAPTURE(id);
    REQUIRE(CachedCountBecomes(client, Post(id), 1));
  }
}

TEST_CASE("D5: a like after an unlike is stored, whatever is remembered of the user") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(client.Like(1, Post(1)).value().changed);
    REQUIRE(client.HasLiked(1, {Post(1)}).value().liked[0]);  // Remembered.
    REQUIRE(StronglyLiked(client, 1, Post(1)));
    REQUIRE(client.Unlike(1, Post(1)).value().changed);
    REQUIRE_FALSE(client.HasLiked(1, {Post(1)}).value().liked[0]);
    REQUIRE_FALSE(StronglyLiked(client, 1, Post(1)));
  }
}

TEST_CASE("D6: a late addition to what is remembered does not bring an unliked like back") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const int items = Sized(100, 3000);
  std::atomic<int> failed = 0;
  for (int64_t id = 1; id <= items; ++id) {
    REQUIRE(client.Like(1, Post(id)).ok());
    // Readers that remember the like, and the unlike, at the same time.
    RunWorkers(4, [&](int worker) {
      if (worker == 0 && !client.Unlike(1, Post(id)).ok()) ++failed;
      if (worker != 0 && !client.HasLiked(1, {Post(id)}).ok()) ++failed;
    });
    CAPTURE(id);
    REQUIRE(failed == 0);
    REQUIRE_FALSE(client.HasLiked(1, {Post(id)}).value().liked[0]);
    REQUIRE(client.Like(1, Post(id)).value().changed);
  }
}

TEST_CASE("D12: nothing is clamped: counts stay exact through unlikes of what is not there") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  REQUIRE(client.WriteLikes(LikesOf(Post(1), 3)).ok());
  for (int64_t user = 1; user <= 20; ++user) REQUIRE(client.Unlike(user, Post(1)).ok());
  REQUIRE(client.WriteLikes(LikesOf(Post(1), 2)).ok());
  CHECK(StrongCount(client, Post(1)) == 2);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("D14: a duplicate in a batch fails neither itself nor its neighbours") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(1, Post(1)).ok());
  const auto reply = client.WriteLikes(
      {{1, Post(1)}, {2, Post(1)}, {1, Post(1)}, {2, Post(1)}, {3, Post(2)}, {1, Post(1)}});
  REQUIRE(reply.ok());
  std::vector<bool> changed;
  for (const auto& result : reply->results) {
    REQUIRE(result.ok());
    changed.push_back(result->changed);
  }
  CHECK(changed == std::vector<bool>{false, true, false, false, true, false});
  CHECK(StrongCount(client, Post(1)) == 2);
  CHECK(StrongCount(client, Post(2)) == 1);
}

TEST_CASE("D15: a count of zero is cached like any other") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  CHECK(client.Count(Post(1)).value().count.source == Source::kPrimary);
  const auto again = client.Count(Post(1));
  CHECK(again.value().count.source == Source::kCache);
  CHECK(again.value().count.count == 0);
}

TEST_CASE(
    "D17: of more than 1000 likes the oldest is forgotten, and forgetting is no wrong answer") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  constexpr int64_t kKept = 1000;
  REQUIRE(client.Like(1, Post(1)).ok());
  REQUIRE(client.HasLiked(1, {Post(1)}).ok());  // The set begins with a read that finds a like.
  std::vector<Mutation> mutations;
  std::vector<Item> newer;
  for (int64_t id = 2; id <= 1 + kKept; ++id) {
    mutations.push_back({1, Post(id)});
    newer.push_back(Post(id));
  }
  REQUIRE(client.WriteLikes(mutations).ok());
  const auto recent = client.HasLiked(1, newer);
  REQUIRE(recent.ok());
  CHECK(recent->liked == std::vector<bool>(kKept, true));
  CHECK(recent->source == Source::kCache);
  const auto oldest = client.HasLiked(1, {Post(1)});
  REQUIRE(oldest.ok());
  CHECK(oldest->liked[0]);
  CHECK(oldest->source == Source::kPrimary);
}

}  // namespace
}  // namespace counter::testing
