// kill -9 under load: nothing that was acknowledged is lost, and what is stored is exact.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/integration/fixture.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::Action;
using client::Item;
using client::Mutation;

constexpr int kCallers = 32;
constexpr int64_t kPosts = 60;  // Per caller; post 1 is everybody's.

// What one caller knows of its user's pairs. Only this caller writes them.
struct Caller {
  // Absent: its last write ended with an unknown outcome.
  std::map<int64_t, std::optional<bool>> liked;
  bool failed = false;
  int acknowledged = 0;
};

// Writes at random, alone and in batches, until a call fails.
void WriteUntilKilled(const Client& client, int64_t user, uint64_t seed, Caller& caller) {
  std::mt19937_64 random(seed);
  while (!caller.failed) {
    const size_t n = random() % 3 == 0 ? 1 + random() % 40 : 1;
    std::vector<Mutation> mutations;
    for (size_t i = 0; i < n; ++i) {
      const int64_t post = random() % 4 == 0 ? 1 : 1 + static_cast<int64_t>(random() % kPosts);
      mutations.push_back({user, Post(post), random() % 3 == 0 ? Action::kUnlike : Action::kLike});
    }
    const auto reply = client.WriteLikes(mutations, {.deadline = absl::Seconds(30)});
    caller.failed = !reply.ok();
    for (size_t i = 0; i < n; ++i) {
      const bool known = reply.ok() && reply->results[i].ok();
      std::optional<bool>& liked = caller.liked[mutations[i].item.id];
      liked = known ? std::optional<bool>(mutations[i].action == Action::kLike) : std::nullopt;
      if (known) ++caller.acknowledged;
      if (!known) caller.failed = true;
    }
  }
}

// Learns from the store what is unknown, and fails the case where it contradicts what is known.
void CompareWithStore(const Client& client, int64_t user, Caller& caller) {
  std::vector<Item> items;
  for (const auto& [post, liked] : caller.liked) items.push_back(Post(post));
  const auto stored = client.HasLiked(user, items, {.consistency = client::Consistency::kStrong});
  REQUIRE(stored.ok());
  size_t i = 0;
  for (auto& [post, liked] : caller.liked) {
    CAPTURE(user, post);
    if (liked.has_value()) REQUIRE(stored->liked[i] == *liked);
    liked = stored->liked[i];
    ++i;
  }
}

TEST_CASE("kill -9 under load loses nothing that was acknowledged, and counts stay exact") {
  auto server = StartServer();
  std::mt19937_64 random(TestSeed());
  std::vector<Caller> callers(kCallers);
  const int rounds = Sized(3, 50);
  for (int round = 0; round < rounds; ++round) {
    {
      const Client client = ConnectTo(*server);
      std::jthread load([&, seed = random()] {
        RunWorkers(kCallers, [&](int i) {
          Caller& caller = callers[static_cast<size_t>(i)];
          caller.failed = false;
          WriteUntilKilled(client, 1 + i, seed + static_cast<uint64_t>(i), caller);
        });
      });
      absl::SleepFor(absl::Milliseconds(100 + random() % 700));
      server->Kill9();
    }
    RestartServer(*server);
    const Client client = ConnectTo(*server);
    std::map<int64_t, int64_t> counts;
    int acknowledged = 0;
    for (int i = 0; i < kCallers; ++i) {
      Caller& caller = callers[static_cast<size_t>(i)];
      CompareWithStore(client, 1 + i, caller);
      acknowledged += caller.acknowledged;
      for (const auto& [post, liked] : caller.liked) counts[post] += *liked ? 1 : 0;
    }
    CAPTURE(round, acknowledged);
    REQUIRE(acknowledged > 0);
    for (const auto& [post, count] : counts) {
      CAPTURE(post);
      REQUIRE(StrongCount(client, Post(post)) == count);
    }
  }
  server->Kill9();
  RequireSoundStore(*server);
}

TEST_CASE("A store that was closed in order is found again as it was") {
  auto server = StartServer();
  {
    const Client client = ConnectTo(*server);
    REQUIRE(client.Like(1, Post(1)).ok());
    REQUIRE(client.Like(2, Post(1)).ok());
    REQUIRE(client.Unlike(1, Post(1)).ok());
  }
  StopServer(*server);
  RestartServer(*server);
  const Client client = ConnectTo(*server);
  CHECK(StrongCount(client, Post(1)) == 1);
  CHECK_FALSE(StronglyLiked(client, 1, Post(1)));
  CHECK(StronglyLiked(client, 2, Post(1)));
  CHECK_FALSE(client.Like(2, Post(1)).value().changed);
}

}  // namespace
}  // namespace counter::testing
