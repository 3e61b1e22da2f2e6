#include "tests/contract/rate_limiter_contract.h"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/task.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr UserId kUser{123};
constexpr UserId kOtherUser{124};
constexpr int64_t kLimit = 10;
constexpr absl::Duration kWindow = absl::Seconds(2);

struct Fixture {
  explicit Fixture(int64_t limit = kLimit, absl::Duration window = kWindow)
      : under_test(MakeRateLimiterUnderTest(limit, window)) {}

  LikeGrant Reserve(int64_t likes, UserId user = kUser) {
    std::vector<LikeGrant> grants =
        BlockingWait(under_test->limiter().Reserve({LikeCharge{user, likes}}));
    REQUIRE(grants.size() == 1);
    return grants[0];
  }
  void GiveBack(int64_t likes, uint64_t window, UserId user = kUser) {
    BlockingWait(under_test->limiter().GiveBack({LikeRefund{user, likes, window}}));
  }

  std::unique_ptr<RateLimiterUnderTest> under_test;
};

// ---- Grants ------------------------------------------------------------------------------------

TEST_CASE("rate limiter: a user is granted so many likes in a window and no more") {
  Fixture fixture;
  for (int64_t i = 1; i <= kLimit; ++i) {
    const LikeGrant grant = fixture.Reserve(1);
    REQUIRE(grant.granted == 1);
    REQUIRE(grant.limit == kLimit);
    REQUIRE(grant.remaining == kLimit - i);
  }
  const LikeGrant refused = fixture.Reserve(1);
  CHECK(refused.granted == 0);
  CHECK(refused.limit == kLimit);
  CHECK(refused.remaining == 0);
  CHECK(refused.resets_after > absl::ZeroDuration());
  CHECK(refused.resets_after <= kWindow);
}

TEST_CASE("rate limiter: what is left of many likes is granted, the rest refused") {
  Fixture fixture;
  CHECK(fixture.Reserve(7).granted == 7);
  const LikeGrant grant = fixture.Reserve(7);
  CHECK(grant.granted == 3);
  CHECK(grant.remaining == 0);
}

TEST_CASE("rate limiter: more likes than a window has are granted up to the limit") {
  Fixture fixture;
  CHECK(fixture.Reserve(1000).granted == kLimit);
}

TEST_CASE("rate limiter: every user has a window of his own, and grant i is of charge i") {
  Fixture fixture;
  fixture.Reserve(kLimit, kOtherUser);
  std::vector<LikeGrant> grants = BlockingWait(fixture.under_test->limiter().Reserve(
      {LikeCharge{kOtherUser, 2}, LikeCharge{kUser, 3}, LikeCharge{UserId{125}, 4}}));
  REQUIRE(grants.size() == 3);
  CHECK(grants[0].granted == 0);
  CHECK(grants[1].granted == 3);
  CHECK(grants[2].granted == 4);
  CHECK(BlockingWait(fixture.under_test->limiter().Reserve({})).empty());
}

TEST_CASE("rate limiter: a limit of 0 grants everything") {
  Fixture fixture(0);
  for (int i = 0; i < 3; ++i) {
    const LikeGrant grant = fixture.Reserve(1'000'000);
    CHECK(grant.granted == 1'000'000);
    CHECK(grant.limit == 0);
    fixture.GiveBack(5, grant.window);
  }
}

// ---- Windows -----------------------------------------------------------------------------------

TEST_CASE("rate limiter: a window starts with the first like and ends its length later") {
  Fixture fixture;
  fixture.Reserve(1);
  fixture.under_test->Elapse(kWindow * 0.8);
  const LikeGrant last = fixture.Reserve(kLimit);
  CHECK(last.granted == kLimit - 1);
  CHECK(last.resets_after <= kWindow * 0.2);
  fixture.under_test->Elapse(kWindow * 0.3);
  const LikeGrant next = fixture.Reserve(1);
  CHECK(next.granted == 1);
  CHECK(next.remaining == kLimit - 1);
  CHECK(next.resets_after > kWindow * 0.5);
  CHECK(next.window != last.window);
}

TEST_CASE("rate limiter: a window begins when it is asked for, not when the former one ended") {
  Fixture fixture;
  fixture.Reserve(kLimit);
  fixture.under_test->Elapse(kWindow * 1.6);
  fixture.Reserve(kLimit);
  fixture.under_test->Elapse(kWindow * 0.6);
  CHECK(fixture.Reserve(1).granted == 0);
}

TEST_CASE("rate limiter: D9: refused likes do not put off the end of a window") {
  Fixture fixture;
  fixture.Reserve(kLimit);
  for (int i = 0; i < 9; ++i) {
    fixture.under_test->Elapse(kWindow * 0.1);
    REQUIRE(fixture.Reserve(1).granted == 0);
  }
  fixture.under_test->Elapse(kWindow * 0.2);
  CHECK(fixture.Reserve(kLimit).granted == kLimit);
}

TEST_CASE("rate limiter: D9: a user whose grants are never used nor given back is free again") {
  Fixture fixture;
  for (int window = 0; window < 3; ++window) {
    CHECK(fixture.Reserve(kLimit).granted == kLimit);
    CHECK(fixture.Reserve(1).granted == 0);
    fixture.under_test->Elapse(kWindow * 1.1);
  }
}

TEST_CASE("rate limiter: D9: an evicted user is not locked out") {
  Fixture fixture;
  const LikeGrant grant = fixture.Reserve(kLimit);
  fixture.under_test->Evict(kUser);
  fixture.GiveBack(kLimit, grant.window);
  CHECK(fixture.Reserve(1).granted == 1);
}

// ---- Refunds -----------------------------------------------------------------------------------

TEST_CASE("rate limiter: D10: refused likes are free") {
  Fixture fixture;
  const LikeGrant grant = fixture.Reserve(kLimit);
  for (int i = 0; i < 100; ++i) fixture.Reserve(5);
  fixture.GiveBack(1, grant.window);
  CHECK(fixture.Reserve(1).granted == 1);
}

TEST_CASE("rate limiter: D10: repeated likes that are given back eat no quota") {
  Fixture fixture;
  for (int i = 0; i < 10 * kLimit; ++i) {
    const LikeGrant grant = fixture.Reserve(2);
    REQUIRE(grant.granted == 2);
    fixture.GiveBack(2, grant.window);
  }
  CHECK(fixture.Reserve(kLimit).granted == kLimit);
}

TEST_CASE("rate limiter: D10: part of a grant can be given back") {
  Fixture fixture;
  const LikeGrant grant = fixture.Reserve(kLimit);
  fixture.GiveBack(4, grant.window);
  CHECK(fixture.Reserve(kLimit).granted == 4);
}

TEST_CASE("rate limiter: a refund to a window that has ended is dropped") {
  Fixture fixture;
  const LikeGrant old = fixture.Reserve(kLimit);
  fixture.under_test->Elapse(kWindow * 1.1);
  SECTION("when the next one is open") {
    CHECK(fixture.Reserve(kLimit).granted == kLimit);
    fixture.GiveBack(kLimit, old.window);
    CHECK(fixture.Reserve(1).granted == 0);
  }
  SECTION("when none is open") {
    fixture.GiveBack(kLimit, old.window);
    CHECK(fixture.Reserve(2 * kLimit).granted == kLimit);
  }
}

TEST_CASE("rate limiter: a refund to a window that was lost is dropped") {
  Fixture fixture;
  const LikeGrant lost = fixture.Reserve(kLimit);
  fixture.under_test->Evict(kUser);
  fixture.Reserve(kLimit);
  fixture.GiveBack(kLimit, lost.window);
  CHECK(fixture.Reserve(1).granted == 0);
}

TEST_CASE("rate limiter: a refund of more than was granted gives no more than the limit") {
  Fixture fixture;
  const LikeGrant grant = fixture.Reserve(3);
  fixture.GiveBack(100, grant.window);
  CHECK(fixture.Reserve(2 * kLimit).granted == kLimit);
}

TEST_CASE("rate limiter: a refund to one user is not another's") {
  Fixture fixture;
  const LikeGrant grant = fixture.Reserve(kLimit);
  fixture.Reserve(kLimit, kOtherUser);
  fixture.GiveBack(kLimit, grant.window);
  CHECK(fixture.Reserve(1, kOtherUser).granted == 0);
  CHECK(fixture.Reserve(1).granted == 1);
}

// ---- K24: random order -------------------------------------------------------------------------

TEST_CASE("rate limiter: K24, D9: in any order of calls and losses nobody is locked out") {
  constexpr int kCalls = 10'000;
  constexpr int kCallsBetweenSteps = 250;
  constexpr int64_t kUsers = 5;
  const absl::Duration window = absl::Seconds(1);
  const absl::Duration step = window * 0.3;
  Fixture fixture(kLimit, window);
  const uint64_t seed = TestSeed();
  std::mt19937_64 random(seed);

  std::map<uint64_t, int64_t> used[kUsers];  // By window: granted less given back.
  std::vector<LikeGrant> unsettled[kUsers];
  int64_t refused = 0;
  for (int call = 0; call < kCalls; ++call) {
    INFO("seed " << seed << ", call " << call);
    const auto i = static_cast<int64_t>(random() % kUsers);
    const UserId user{1 + i};
    const uint64_t what = random() % 100;
    if (what < 50) {
      const LikeGrant grant = fixture.Reserve(1 + static_cast<int64_t>(random() % 4), user);
      used[i][grant.window] += grant.granted;
      REQUIRE(used[i][grant.window] <= kLimit);
      REQUIRE(grant.remaining == kLimit - used[i][grant.window]);
      REQUIRE(grant.resets_after <= window);
      if (grant.granted > 0) unsettled[i].push_back(grant);
      if (grant.granted == 0) ++refused;
    } else if (what < 95 && !unsettled[i].empty()) {
      const size_t chosen = random() % unsettled[i].size();
      const LikeGrant grant = unsettled[i][chosen];
      unsettled[i].erase(unsettled[i].begin() + static_cast<std::ptrdiff_t>(chosen));
      // A third is used up, a third is given back, of a third nothing is heard any more.
      if (random() % 3 == 0) {
        fixture.GiveBack(grant.granted, grant.window, user);
        used[i][grant.window] -= grant.granted;
      }
    } else if (what == 99) {
      fixture.under_test->Evict(user);
    }
    if (call % kCallsBetweenSteps == 0) fixture.under_test->Elapse(step);
  }
  CHECK(refused > 100);
  fixture.under_test->Elapse(window * 1.1);
  for (int64_t i = 0; i < kUsers; ++i) CHECK(fixture.Reserve(1, UserId{1 + i}).granted == 1);
}

}  // namespace
}  // namespace counter::testing
