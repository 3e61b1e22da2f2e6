// When to connect and when to ask: back-off, runs of the server, the breaker.
#include "cache/redis/link_state.h"

#include <set>

#include <catch2/catch.hpp>

namespace counter::redis::testing {
namespace {

const MonotonicTime kStart = MonotonicTime(std::chrono::hours(1));
MonotonicTime At(int64_t ms) { return kStart + absl::Milliseconds(ms); }

using Phase = LinkState::Phase;
using State = Breaker::State;

TEST_CASE("back-off: pauses double up to the longest, each within half of itself") {
  BackOff back_off(absl::Milliseconds(20), absl::Milliseconds(100), 7);
  for (const int64_t full : {20, 40, 80, 100, 100, 100}) {
    const absl::Duration pause = back_off.Next();
    CHECK(pause >= absl::Milliseconds(full) / 2);
    CHECK(pause <= absl::Milliseconds(full));
  }
  back_off.Reset();
  CHECK(back_off.Next() <= absl::Milliseconds(20));
}

TEST_CASE("back-off: servers with different seeds do not return together") {
  std::set<absl::Duration> pauses;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    pauses.insert(BackOff(absl::Seconds(1), absl::Seconds(1), seed).Next());
  }
  CHECK(pauses.size() == 20);
}

TEST_CASE("link: the first attempt begins at once, and one that hangs is broken off") {
  LinkState link({.attempt_max = absl::Seconds(1)}, 1);
  CHECK(link.phase() == Phase::kPausing);
  CHECK(link.wakes_at() <= kStart);
  link.OnAttempt(kStart);
  CHECK(link.phase() == Phase::kAttempting);
  CHECK(link.wakes_at() == At(1000));
}

// connect, greet, break: failed at each step.
TEST_CASE("link: wherever it breaks, the next attempt comes after a pause") {
  const int broken_after = GENERATE(1, 2);
  LinkState link({.pause_first = absl::Milliseconds(20)}, 1);
  link.OnAttempt(kStart);
  if (broken_after == 2) link.OnReady("a");
  link.OnBroken(At(5));
  CHECK(link.phase() == Phase::kPausing);
  CHECK(link.wakes_at() >= At(15));
  CHECK(link.wakes_at() <= At(25));
}

TEST_CASE("link: failures in a row are answered with longer pauses, success with the first") {
  LinkState link({.pause_first = absl::Milliseconds(20), .pause_longest = absl::Seconds(1)}, 1);
  for (int i = 0; i < 20; ++i) {
    link.OnAttempt(kStart);
    link.OnBroken(kStart);
  }
  CHECK(link.wakes_at() >= At(500));
  CHECK(link.wakes_at() <= At(1000));
  link.OnAttempt(At(2000));
  link.OnReady("a");
  link.OnBroken(At(3000));
  CHECK(link.wakes_at() <= At(3020));
}

TEST_CASE("link: another run of the server is told from the same one, and the first is none") {
  LinkState link({}, 1);
  const auto reconnect = [&](const char* run_id) {
    link.OnBroken(kStart);
    link.OnAttempt(kStart);
    return link.OnReady(run_id);
  };
  link.OnAttempt(kStart);
  CHECK_FALSE(link.OnReady("a"));
  CHECK_FALSE(reconnect("a"));
  CHECK(reconnect("b"));
  CHECK_FALSE(reconnect("b"));
  CHECK(reconnect(""));
  CHECK(reconnect(""));
}

TEST_CASE("breaker: only timeouts in a row open it") {
  Breaker breaker({.timeouts_to_open = 3}, 1);
  CHECK_FALSE(breaker.OnTimeout(At(0)));
  CHECK_FALSE(breaker.OnTimeout(At(100)));
  breaker.OnAnswer(At(100));
  CHECK_FALSE(breaker.OnTimeout(At(200)));
  CHECK_FALSE(breaker.OnTimeout(At(300)));
  CHECK(breaker.state() == State::kClosed);
  CHECK(breaker.OnTimeout(At(400)));
  CHECK(breaker.state() == State::kOpen);
  CHECK_FALSE(breaker.OnTimeout(At(500)));  // It is open already.
}

TEST_CASE("breaker: many that time out together are no more than one, until the silence is long") {
  Breaker breaker({.timeouts_to_open = 3, .silence_to_open = absl::Milliseconds(40)}, 1);
  breaker.OnAnswer(At(0));
  for (int i = 0; i < 100; ++i) CHECK_FALSE(breaker.OnTimeout(At(20)));
  CHECK_FALSE(breaker.OnTimeout(At(39)));
  CHECK(breaker.OnTimeout(At(40)));
  breaker.OnProbe();
  breaker.OnProbeEnd(true, At(90));
  for (int i = 0; i < 100; ++i) CHECK_FALSE(breaker.OnTimeout(At(129)));
  CHECK(breaker.OnTimeout(At(130)));
}

TEST_CASE("breaker: a probe that is answered closes it, one that is not lengthens the pause") {
  Breaker breaker({.timeouts_to_open = 1,
                   .pause_first = absl::Milliseconds(50),
                   .pause_longest = absl::Milliseconds(200)},
                  1);
  REQUIRE(breaker.OnTimeout(kStart));
  CHECK(breaker.probe_at() >= At(25));
  CHECK(breaker.probe_at() <= At(50));
  for (const int64_t full : {100, 200, 200}) {
    breaker.OnProbe();
    CHECK(breaker.state() == State::kProbing);
    breaker.OnProbeEnd(false, kStart);
    CHECK(breaker.state() == State::kOpen);
    CHECK(breaker.probe_at() >= At(full / 2));
    CHECK(breaker.probe_at() <= At(full));
  }
  breaker.OnProbe();
  breaker.OnProbeEnd(true, kStart);
  CHECK(breaker.state() == State::kClosed);
  REQUIRE(breaker.OnTimeout(At(1000)));
  CHECK(breaker.probe_at() <= At(1050));
}

TEST_CASE("breaker: a late answer does not close it, a new connection does") {
  Breaker breaker({.timeouts_to_open = 1}, 1);
  breaker.OnTimeout(kStart);
  breaker.OnAnswer(kStart);
  CHECK(breaker.state() == State::kOpen);
  breaker.Reset(kStart);
  CHECK(breaker.state() == State::kClosed);
}

}  // namespace
}  // namespace counter::redis::testing
