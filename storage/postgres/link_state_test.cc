#include "storage/postgres/link_state.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <set>

namespace counter::postgres {
namespace {

using Phase = LinkState::Phase;
using Step = LinkState::Step;

const MonotonicTime kStart(std::chrono::hours(1));
constexpr uint64_t kSeed = 7;

// Lets the link fail `times` times in a row, each attempt at the moment it is due; returns the
// waits.
std::vector<absl::Duration> FailInARow(LinkState& link, MonotonicTime& now, int times) {
  std::vector<absl::Duration> waits;
  for (int i = 0; i < times; ++i) {
    REQUIRE(link.Next(now) == Step::kConnect);
    link.Lost(now);
    waits.push_back(Between(now, link.next_wake()));
    now = link.next_wake();
  }
  return waits;
}

TEST_CASE("the first attempt is due at once, and only one runs at a time") {
  LinkState link({}, kSeed, kStart);
  CHECK(link.next_wake() == kStart);
  CHECK(link.Next(kStart) == Step::kConnect);
  CHECK(link.phase() == Phase::kConnecting);
  CHECK(link.Next(kStart) == Step::kNothing);
}

TEST_CASE("waits double up to their cap and lie in the upper half of it") {
  const LinkState::Limits limits;
  LinkState link(limits, kSeed, kStart);
  MonotonicTime now = kStart;
  absl::Duration longest = limits.backoff_first;
  for (const absl::Duration wait : FailInARow(link, now, 40)) {
    CHECK(wait >= longest / 2);
    CHECK(wait <= longest);
    longest = std::min(longest * 2, limits.backoff_max);
  }
}

TEST_CASE("two links that lost the same server do not come back together") {
  LinkState first({}, 1, kStart);
  LinkState second({}, 2, kStart);
  MonotonicTime first_now = kStart;
  MonotonicTime second_now = kStart;
  CHECK(FailInARow(first, first_now, 8) != FailInARow(second, second_now, 8));
}

TEST_CASE("an attempt that takes too long is given up") {
  const LinkState::Limits limits;
  LinkState link(limits, kSeed, kStart);
  REQUIRE(link.Next(kStart) == Step::kConnect);
  CHECK(link.next_wake() == kStart + limits.connect_timeout);
  CHECK(link.Next(kStart + limits.connect_timeout + -absl::Nanoseconds(1)) == Step::kNothing);
  CHECK(link.Next(kStart + limits.connect_timeout) == Step::kGiveUp);
  CHECK(link.phase() == Phase::kDown);
}

TEST_CASE("a server that accepts and drops is not hammered") {
  const LinkState::Limits limits;
  LinkState link(limits, kSeed, kStart);
  MonotonicTime now = kStart;
  for (int i = 0; i < 10; ++i) {
    REQUIRE(link.Next(now) == Step::kConnect);
    link.Ready(now);
    link.Lost(now);
    now = link.next_wake();
  }
  CHECK(link.attempts_failed() == 10);
  REQUIRE(link.Next(now) == Step::kConnect);
  link.Ready(now);
  link.Lost(now + limits.backoff_reset_after);
  CHECK(Between(now + limits.backoff_reset_after, link.next_wake()) <= limits.backoff_first);
}

TEST_CASE("a link is unready from the moment it broke until it is ready, over all attempts") {
  LinkState link({}, kSeed, kStart);
  REQUIRE(link.Next(kStart) == Step::kConnect);
  link.Ready(kStart);
  const MonotonicTime broke = kStart + absl::Seconds(10);
  CHECK(link.Unready(broke) == absl::ZeroDuration());
  link.Lost(broke);
  MonotonicTime now = link.next_wake();
  FailInARow(link, now, 3);
  CHECK(link.Unready(now) == Between(broke, now));
  REQUIRE(link.Next(now) == Step::kConnect);
  CHECK(link.Unready(now) == Between(broke, now));
  link.Ready(now);
  CHECK(link.Unready(now) == absl::ZeroDuration());
}

TEST_CASE("a quiet link is probed, one probe at a time, and its waiting is measured") {
  const LinkState::Limits limits;
  LinkState link(limits, kSeed, kStart);
  REQUIRE(link.Next(kStart) == Step::kConnect);
  link.Ready(kStart);
  CHECK(link.Next(kStart) == Step::kNothing);
  const MonotonicTime due = kStart + limits.probe_interval;
  CHECK(link.next_wake() == due);
  REQUIRE(link.Next(due) == Step::kProbe);
  link.ProbeSent(due);
  CHECK(link.Next(due + absl::Seconds(9)) == Step::kNothing);
  CHECK(link.ProbeWaiting(due + absl::Seconds(9)) == absl::Seconds(9));
  link.ProbeAnswered(due + absl::Seconds(9));
  CHECK(link.ProbeWaiting(due + absl::Seconds(10)) == absl::ZeroDuration());
  CHECK(link.Next(due + absl::Seconds(9) + limits.probe_interval) == Step::kProbe);
}

TEST_CASE("a link that breaks while a probe waits starts without one") {
  LinkState link({}, kSeed, kStart);
  REQUIRE(link.Next(kStart) == Step::kConnect);
  link.Ready(kStart);
  link.ProbeSent(kStart);
  link.Lost(kStart);
  CHECK(link.ProbeWaiting(kStart + absl::Seconds(5)) == absl::ZeroDuration());
  REQUIRE(link.Next(link.next_wake()) == Step::kConnect);
  link.Ready(kStart + absl::Seconds(5));
  CHECK(link.Next(kStart + absl::Seconds(9)) == Step::kProbe);
}

}  // namespace
}  // namespace counter::postgres
