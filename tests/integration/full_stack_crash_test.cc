// What is true after a crash of a server between its commit and its word to the cache.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// That of server/upkeep/failpoint.h.
constexpr int kFailpointExit = 86;

// Whether within the bound of a crash all servers that live answer `count` from the cache.
bool CachedCountBecomes(const FullStack& stack, const client::Item& item, int64_t count) {
  constexpr absl::Duration kBoundAfterCrash = absl::Seconds(5);
  return Eventually(kBoundAfterCrash, [&] {
    for (int i = 0; i < FullStack::kServers; ++i) {
      const auto read = stack.client(i).Count(item);
      if (!read.ok() || read->count.count != count ||
          read->count.source != client::Source::kCache) {
        return false;
      }
    }
    return true;
  });
}

TEST_CASE("A server dies between commit and write-through: the cached count is right within 5 s") {
  FullStack stack;
  for (int64_t round = 1; round <= Sized(2, 20); ++round) {
    CAPTURE(round);
    REQUIRE(stack.client(0).Count(Post(1)).ok());  // Cached.
    REQUIRE(stack.CachedCount(1) == round - 1);
    const auto dying = stack.StartAnother({{"COUNTER_FAILPOINT", "exit-after-commit"}});
    const auto reply = ConnectTo(*dying).Like(round, Post(1));
    const auto exit = dying->WaitExit(absl::Seconds(10));
    REQUIRE(exit == ExitStatus{kFailpointExit, 0});
    // The caller does not know what became of the like. It was applied, and the cache not told.
    REQUIRE_FALSE(reply.ok());
    CHECK_FALSE(reply.error().not_applied);
    REQUIRE(stack.Sql("SELECT count FROM counters") == absl::StrCat(round));
    CHECK(CachedCountBecomes(stack, Post(1), round));
  }
  // What was made good is not made good again and again.
  CHECK(Eventually(absl::Seconds(5), [&] {
    return stack.Sql("SELECT count(*) FROM cache_outbox WHERE at < now() - interval '3 s'") == "0";
  }));
}

TEST_CASE("A server dies at a commit under load: counts and cache are exact all the same") {
  FullStack stack;
  const auto dying = stack.StartAnother({{"COUNTER_FAILPOINT", "exit-after-commit:100"}});
  const Client client = ConnectTo(*dying);
  MixedLoad load(stack, {.single_writers = 8, .batch_writers = 2, .users = 900});
  // Users of its own: whether the last like was applied is for PostgreSQL to say.
  int64_t user = 1000;
  while (client.Like(user, Post(1 + user % 30)).ok()) ++user;
  REQUIRE(dying->WaitExit(absl::Seconds(10)) == ExitStatus{kFailpointExit, 0});
  const MixedLoadReport report = load.Stop();
  for (const std::string& fault : report.faults) FAIL_CHECK(fault);
  CHECK(report.writes.errors.empty());
  const auto theirs = stack.Sql("SELECT count(*) FROM user_likes WHERE user_id >= 1000");
  CHECK(theirs == absl::StrCat(user - 1000 + 1));
  stack.RequireSound();
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
}

}  // namespace
}  // namespace counter::testing
