// The faults of the design card's own code (design.md section 1), by name, on two servers over one
// PostgreSQL and one Redis, or a Redis Cluster; and known faults K27 and K28. D8 needs a Redis that
// fails: full_stack_redis_test.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/full_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::Item;
using client::Mutation;
using client::Source;

// Whether both servers come to answer `count` from the cache, within the bound of cached reads.
bool BothCome(const FullStack& stack, const Item& item, int64_t count) {
  return Eventually(absl::Seconds(1) * Slowness(), [&] {
    for (int i = 0; i < FullStack::kServers; ++i) {
      const auto read = stack.client(i).Count(item);
      if (!read.ok() || read->count.count != count) return false;
    }
    return true;
  });
}

// Whether both servers come to say from what is cached that the user likes the item, or not, within
// the bound of cached reads: Redis is told of a like or unlike without waiting for it.
bool BothComeToSay(const FullStack& stack, int64_t user, const Item& item, bool liked) {
  return Eventually(absl::Seconds(1) * Slowness(), [&] {
    for (int i = 0; i < FullStack::kServers; ++i) {
      const auto read = stack.client(i).HasLiked(user, {item});
      if (!read.ok() || read->liked[0] != liked) return false;
    }
    return true;
  });
}

TEST_CASE("D1: a like of an item whose cached count has expired does not make it 1") {
  FullStack stack;
  REQUIRE(stack.client(0).WriteLikes(LikesOf(Post(1), 50)).ok());
  REQUIRE(stack.client(1).Count(Post(1)).value().count.count == 50);
  REQUIRE(stack.CachedCount(1) == 50);
  REQUIRE(stack.redis_of("counter:post:1").Command({"PEXPIRE", "counter:post:1", "1"}) == "1");
  REQUIRE(Eventually(absl::Seconds(5), [&] { return !stack.CachedCount(1).has_value(); }));
  CHECK(stack.client(0).Like(51, Post(1)).value().count == 51);
  CHECK(BothCome(stack, Post(1), 51));
  CHECK(stack.CachedCount(1) == 51);
}

TEST_CASE("D3: an unlike of an item that is not cached leaves no negative count") {
  FullStack stack;
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  REQUIRE_FALSE(stack.CachedCount(1).has_value());
  CHECK(stack.client(1).Unlike(1, Post(1)).value().count == 0);
  CHECK(stack.client(0).Unlike(1, Post(1)).value().count == 0);
  CHECK(stack.client(0).Unlike(1, Post(2)).value().count == 0);
  CHECK(BothCome(stack, Post(1), 0));
  CHECK(BothCome(stack, Post(2), 0));
  CHECK(stack.CachedCount(1).value_or(0) == 0);
  CHECK(stack.CachedCount(2).value_or(0) == 0);
}

TEST_CASE("D4: a fill after a miss at one server does not overwrite a newer count of the other") {
  FullStack stack;
  const int items = Sized(150, 5000);
  std::atomic<int> failed = 0;
  for (int64_t id = 1; id <= items; ++id) {
    RunWorkers(4, [&](int worker) {
      if (worker == 0 && !stack.client(0).Like(1, Post(id)).ok()) ++failed;
      if (worker != 0 && !stack.client(worker % 2).Count(Post(id)).ok()) ++failed;
    });
  }
  REQUIRE(failed == 0);
  for (int64_t id = 1; id <= items; ++id) {
    CAPTURE(id);
    REQUIRE(BothCome(stack, Post(id), 1));
  }
  CHECK(stack.CacheDifferences().empty());
}

TEST_CASE("D5: a like after an unlike is stored, whatever Redis remembers of the user") {
  FullStack stack;
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const Client& one = stack.client(i % 2);
    const Client& other = stack.client((i + 1) % 2);
    REQUIRE(one.Like(1, Post(1)).value().changed);
    REQUIRE(BothComeToSay(stack, 1, Post(1), true));
    REQUIRE(StronglyLiked(other, 1, Post(1)));
    REQUIRE(other.Unlike(1, Post(1)).value().changed);
    REQUIRE(BothComeToSay(stack, 1, Post(1), false));
    REQUIRE_FALSE(StronglyLiked(one, 1, Post(1)));
  }
}

TEST_CASE("D5: a like that Redis says is there and PostgreSQL does not have is stored") {
  FullStack stack;
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  REQUIRE(stack.client(0).HasLiked(1, {Post(1)}).value().liked[0]);
  // As after a failover of Redis that lost the unlike.
  stack.Sql("DELETE FROM user_likes; UPDATE counters SET count = 0, digest = 0");
  CHECK(stack.client(1).Like(1, Post(1)).value().changed);
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == "1");
}

TEST_CASE("D6: a late addition to what Redis remembers does not bring an unliked like back") {
  FullStack stack;
  const int items = Sized(100, 3000);
  std::atomic<int> failed = 0;
  for (int64_t id = 1; id <= items; ++id) {
    REQUIRE(stack.client(0).Like(1, Post(id)).ok());
    RunWorkers(4, [&](int worker) {
      if (worker == 0 && !stack.client(1).Unlike(1, Post(id)).ok()) ++failed;
      if (worker != 0 && !stack.client(worker % 2).HasLiked(1, {Post(id)}).ok()) ++failed;
    });
    CAPTURE(id);
    REQUIRE(failed == 0);
    REQUIRE(BothComeToSay(stack, 1, Post(id), false));
    REQUIRE(stack.client(0).Like(1, Post(id)).value().changed);
  }
}

TEST_CASE("D9: a rate limit in Redis that has lost its expiry does not lock its user out") {
  FullStack stack({{"RATE_LIMIT_REQUESTS", "3"}, {"RATE_LIMIT_WINDOW_SECONDS", "1"}});
  int64_t post = 1;
  for (int window = 0; window < Sized(3, 20); ++window) {
    CAPTURE(window);
    bool limited = false;
    for (int i = 0; i < 100 && !limited; ++i)
      limited = !stack.client(i % 2).Like(1, Post(post++)).ok();
    REQUIRE(limited);
    stack.redis_of("rate:{1}:likes").Command({"PERSIST", "rate:{1}:likes"});
    REQUIRE(Eventually(absl::Seconds(3) * Slowness(),
                       [&] { return stack.client(window % 2).Like(1, Post(post++)).ok(); }));
  }
}

TEST_CASE("D10: two servers share a user's quota, and refused calls and repeats eat none of it") {
  FullStack stack({{"RATE_LIMIT_REQUESTS", "6"}, {"RATE_LIMIT_WINDOW_SECONDS", "60"}});
  for (int i = 0; i < 20; ++i) REQUIRE(stack.client(i % 2).Like(1, Post(1)).ok());  // Charged once.
  for (int i = 0; i < 20; ++i) REQUIRE(stack.client(i % 2).Unlike(1, Post(9)).ok());
  for (int i = 0; i < 20; ++i) REQUIRE_FALSE(stack.client(i % 2).Like(1, {"nothing", 1}).ok());
  for (int64_t id = 2; id <= 6; ++id) REQUIRE(stack.client(id % 2).Like(1, Post(id)).ok());
  for (int i = 0; i < FullStack::kServers; ++i) {
    const auto refused = stack.client(i).Like(1, Post(7));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().kind == client::ErrorKind::kRateLimited);
    CHECK(refused.error().retry_after.has_value());
  }
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == "6");
}

TEST_CASE("D11: calls of many items and users are served from the cache, wherever their keys are") {
  // Nobody reaches it; but a like asks Redis for it.
  const Settings limited = {{"RATE_LIMIT_REQUESTS", "1000000"}};
  FullStack stack(limited);
  constexpr int64_t kPosts = 200;
  std::vector<Item> posts;
  std::vector<Mutation> mutations;
  for (int64_t post = 1; post <= kPosts; ++post) {
    posts.push_back(Post(post));
    for (int64_t user = post; user < post + 2; ++user) mutations.push_back({user, Post(post)});
  }
  const auto written = stack.client(0).WriteLikes(mutations);
  REQUIRE(written.ok());
  for (const auto& result : written->results) REQUIRE(result.ok());
  // The first read fills; the next one, through the other server, finds all of it.
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
    for (int i = 0; i < FullStack::kServers; ++i) {
      const auto read = stack.client(i).Counts(posts);
      if (!read.ok()) return false;
      for (const auto& count : read->counts) {
        if (count.source != Source::kCache || count.count != 2) return false;
      }
    }
    return true;
  }));
  CHECK(stack.CachedCounts().size() >= kPosts);
  CHECK(stack.CacheDifferences().empty());
  // A busy machine makes calls miss the cache's budget: such a one is tried again.
  CHECK(Eventually(absl::Seconds(10) * Slowness(), [&] {
    const double before = MetricOf(stack.server(0), "counter_rate_limit_fallbacks_total");
    REQUIRE(stack.client(0).WriteLikes(mutations).ok());
    return MetricOf(stack.server(0), "counter_rate_limit_fallbacks_total") == before;
  }));
  for (int i = 0; i < FullStack::kServers; ++i)
    CHECK(MetricOf(stack.server(i), "counter_redis_redirects_total") == 0);
}

TEST_CASE("D12: nothing is clamped: counts stay exact through unlikes of what is not there") {
  FullStack stack;
  REQUIRE(stack.client(0).WriteLikes(LikesOf(Post(1), 3)).ok());
  for (int64_t user = 1; user <= 20; ++user)
    REQUIRE(stack.client(static_cast<int>(user % 2)).Unlike(user, Post(1)).ok());
  REQUIRE(stack.client(1).WriteLikes(LikesOf(Post(1), 2)).ok());
  CHECK(StrongCount(stack.client(0), Post(1)) == 2);
  CHECK(BothCome(stack, Post(1), 2));
  stack.RequireSound();
}

TEST_CASE("D14: a duplicate in a batch fails neither itself nor its neighbours") {
  FullStack stack;
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  const auto reply = stack.client(1).WriteLikes(
      {{1, Post(1)}, {2, Post(1)}, {1, Post(1)}, {2, Post(1)}, {3, Post(2)}, {1, Post(1)}});
  REQUIRE(reply.ok());
  std::vector<bool> changed;
  for (const auto& result : reply->results) {
    REQUIRE(result.ok());
    changed.push_back(result->changed);
  }
  CHECK(changed == std::vector<bool>{false, true, false, false, true, false});
  CHECK(StrongCount(stack.client(0), Post(1)) == 2);
  CHECK(StrongCount(stack.client(0), Post(2)) == 1);
}

TEST_CASE("D15: a count of zero is cached for all servers like any other") {
  FullStack stack;
  CHECK(stack.client(0).Count(Post(1)).value().count.source == Source::kPrimary);
  const auto again = stack.client(1).Count(Post(1));
  CHECK(again.value().count.source == Source::kCache);
  CHECK(again.value().count.count == 0);
  CHECK(stack.CachedCount(1) == 0);
}

TEST_CASE("D17: of more than 1000 likes Redis forgets the oldest, and answers none wrongly") {
  FullStack stack;
  constexpr int64_t kKept = 1000;
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  std::vector<Mutation> mutations;
  std::vector<Item> newer;
  for (int64_t id = 2; id <= 1 + kKept; ++id) {
    mutations.push_back({1, Post(id)});
    newer.push_back(Post(id));
  }
  REQUIRE(stack.client(0).WriteLikes(mutations).ok());
  // Redis is told of them without waiting for it.
  CHECK(Eventually(absl::Seconds(1) * Slowness(), [&] {
    const auto recent = stack.client(1).HasLiked(1, newer);
    return recent.ok() && recent->liked == std::vector<bool>(kKept, true) &&
           recent->source == Source::kCache;
  }));
  const auto oldest = stack.client(1).HasLiked(1, {Post(1)});
  REQUIRE(oldest.ok());
  CHECK(oldest->liked[0]);
  CHECK(oldest->source == Source::kPrimary);
}

TEST_CASE("K27: of many likes of one pair through two servers exactly one makes the change") {
  FullStack stack;
  constexpr int kCallers = 64;
  const int likes_each = Sized(4, 16);
  std::atomic<int> changed = 0;
  std::atomic<int> wrong = 0;
  RunWorkers(kCallers, [&](int worker) {
    for (int i = 0; i < likes_each; ++i) {
      const auto reply = stack.client(worker % 2).Like(7, Post(1));
      if (!reply.ok() || reply->count != 1) ++wrong;
      if (reply.ok() && reply->changed) ++changed;
    }
  });
  CHECK(changed == 1);
  CHECK(wrong == 0);
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == "1");
  stack.RequireSound();
}

TEST_CASE(
    "K28: of many unlikes of one like exactly one makes the change, and no count is negative") {
  FullStack stack;
  CHECK(stack.client(0).Unlike(1, Post(2)).value().count == 0);
  CHECK_FALSE(stack.client(1).Unlike(1, Post(2)).value().changed);
  for (int round = 0; round < Sized(3, 50); ++round) {
    REQUIRE(stack.client(0).Like(7, Post(1)).value().changed);
    std::atomic<int> changed = 0;
    std::atomic<int> wrong = 0;
    RunWorkers(64, [&](int worker) {
      const Client& client = stack.client(worker % 2);
      if (worker % 8 == 7) {
        const auto read = client.Count(Post(1));
        if (!read.ok() || read->count.count < 0 || read->count.count > 1) ++wrong;
        return;
      }
      const auto reply = client.Unlike(7, Post(1));
      if (!reply.ok() || reply->count != 0) ++wrong;
      if (reply.ok() && reply->changed) ++changed;
    });
    CHECK(changed == 1);
    CHECK(wrong == 0);
  }
  CHECK(BothCome(stack, Post(1), 0));
  stack.RequireSound();
}

}  // namespace
}  // namespace counter::testing
