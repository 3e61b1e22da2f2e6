// A Redis that keeps files, as it does unless it is told not to, and is started again from an old
// one: it shows counts and likes of then, and nobody is left who remembers what it has lost.
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/integration/full_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using client::Source;

constexpr absl::Duration kPatience = absl::Seconds(10);

bool IsCached(const Client& client, int64_t post, int64_t count) {
  const auto read = client.Count(Post(post));
  return read.ok() && read->count.count == count && read->count.source == Source::kCache;
}

// What is cached of the post is 3 in the file, and 4 after it; user 1 likes it in the file only.
void WriteAcrossFile(const FullStack& stack, const RedisServer& redis, int64_t post) {
  const auto writer = stack.StartAnother({});
  const Client client = ConnectTo(*writer);
  REQUIRE(client.WriteLikes(LikesOf(Post(post), 3)).ok());
  CHECK(client.HasLiked(1, {Post(post)}).value().liked[0]);
  REQUIRE(Eventually(kPatience * Slowness(), [&] { return IsCached(client, post, 3); }));
  REQUIRE(Eventually(kPatience * Slowness(), [&] {
    return redis.Command({"ZSCORE", "recent_likes:{1}", absl::StrCat("post:", post)}) != "";
  }));
  REQUIRE(redis.Command({"SAVE"}) == "OK");
  REQUIRE(client.Unlike(1, Post(post)).ok());
  for (int64_t user = 4; user <= 5; ++user) REQUIRE(client.Like(user, Post(post)).ok());
  // It remembers what it has told for 10 s, and would tell it again.
  StopServer(*writer);
}

TEST_CASE("D8: a Redis that is started from an old file is not believed, and serves again") {
  FullStack stack;
  constexpr int64_t kPost = 77;
  WriteAcrossFile(stack, stack.redis(), kPost);
  // Else the file's values and Redis's start fall into the same second, for which a value may be of
  // either; those are told again by the servers that told them.
  const absl::Time saved = absl::Now();
  REQUIRE(Eventually(kPatience, [&] { return absl::Now() - saved > absl::Seconds(1.1); }));
  stack.redis().Kill9();
  REQUIRE(stack.redis().Restart().ok());
  // Or the case is about nothing.
  REQUIRE(stack.CachedCount(kPost) == 3);
  for (int i = 0; i < FullStack::kServers; ++i) {
    REQUIRE(Eventually(kPatience * Slowness(),
                       [&] { return MetricOf(stack.server(i), "counter_redis_connected") == 1; }));
    CHECK_FALSE(stack.client(i).HasLiked(1, {Post(kPost)}).value().liked[0]);
    CHECK(stack.client(i).Count(Post(kPost)).value().count.count == 4);
    CHECK(Eventually(kPatience * Slowness(), [&] { return IsCached(stack.client(i), kPost, 4); }));
  }
  stack.RequireSound();
}

}  // namespace
}  // namespace counter::testing
