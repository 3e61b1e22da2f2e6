#include "storage/queue_patience.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <iterator>

namespace counter {
namespace {

constexpr absl::Duration kWaitMax = absl::Milliseconds(500);
constexpr int kRows = 100;
constexpr MonotonicTime kNoDeadline = MonotonicTime::max();
const MonotonicTime kStart = MonotonicTime() + absl::Hours(1);

MonotonicTime At(int ms) { return kStart + absl::Milliseconds(ms); }

QueuePatience MakePatience(int batches_at_once = 1) {
  return QueuePatience(
      {.wait_max = kWaitMax, .batch_rows_max = kRows, .batches_at_once = batches_at_once});
}

// Batches one after the other, each of which takes so long; the last ends at At(0).
QueuePatience WithPace(int ms) {
  QueuePatience patience = MakePatience();
  for (int i = 20; i > 0; --i) patience.Ended(At(-i * ms), At((1 - i) * ms));
  return patience;
}

TEST_CASE("What would leave at once is taken, whatever the pace was and however short its time") {
  const QueuePatience patience = WithPace(60'000);
  CHECK(patience.Takes({}, At(1), At(0)));
}

TEST_CASE("A newcomer waits for the batch at work, for those in front, and for its own") {
  const QueuePatience patience = WithPace(20);
  CHECK(patience.Wait({.waiting = 0, .under_way = 1, .since = At(0)}, At(5)) ==
        absl::Milliseconds(15 + 20));
  CHECK(patience.Wait({.waiting = kRows - 1, .under_way = 1, .since = At(0)}, At(5)) ==
        absl::Milliseconds(15 + 20));
  CHECK(patience.Wait({.waiting = 3 * kRows, .under_way = 1, .since = At(0)}, At(5)) ==
        absl::Milliseconds(15 + 4 * 20));
  CHECK(patience.Wait({.waiting = 0, .under_way = 2, .since = At(0)}, At(5)) ==
        absl::Milliseconds(15 + 2 * 20));
}

TEST_CASE("A newcomer that would wait for longer than the queue's patience is refused") {
  const QueuePatience patience = WithPace(50);
  // The batch at work, eight in front, its own: 500 ms.
  CHECK(patience.Takes({.waiting = 9 * kRows - 1, .under_way = 1, .since = At(0)}, kNoDeadline,
                       At(0)));
  CHECK_FALSE(
      patience.Takes({.waiting = 9 * kRows, .under_way = 1, .since = At(0)}, kNoDeadline, At(0)));
}

TEST_CASE("A newcomer whose own deadline would pass is refused, and its neighbour is not") {
  const QueuePatience patience = WithPace(50);
  const QueuePatience::Queue queue = {.waiting = 3 * kRows, .under_way = 1, .since = At(0)};
  CHECK_FALSE(patience.Takes(queue, At(250), At(0)));
  CHECK(patience.Takes(queue, At(251), At(0)));
}

TEST_CASE("A store slower than the patience still gets its next batches full") {
  const QueuePatience patience = WithPace(3000);
  const auto takes = [&](int waiting) {
    return patience.Takes({.waiting = waiting, .under_way = 1, .since = At(0)}, kNoDeadline,
                          At(10));
  };
  CHECK(takes(kRows - 1));
  CHECK_FALSE(takes(kRows));
}

TEST_CASE("As many batches as may be under way at once are kept full") {
  QueuePatience patience = MakePatience(2);
  patience.Ended(At(-3000), At(0));
  const auto takes = [&](int waiting) {
    return patience.Takes({.waiting = waiting, .under_way = 2, .since = At(0)}, kNoDeadline,
                          At(10));
  };
  CHECK(takes(2 * kRows - 1));
  CHECK_FALSE(takes(2 * kRows));
}

TEST_CASE("Batches that travel together are counted by when they end, not by how long each took") {
  QueuePatience patience = MakePatience(2);
  // Two at a time over a slow line: a pair of them each 100 ms, so 50 ms each.
  for (int i = 20; i > 0; --i) {
    patience.Ended(At(-100 * i), At(100 - 100 * i));
    patience.Ended(At(-100 * i), At(100 - 100 * i));
  }
  const absl::Duration wait =
      patience.Wait({.waiting = 8 * kRows, .under_way = 2, .since = At(0)}, At(0));
  CHECK(wait > absl::Milliseconds(350));
  CHECK(wait < absl::Milliseconds(650));
}

TEST_CASE("A batch that takes much longer than those before is expected to go on so") {
  const QueuePatience patience = WithPace(5);
  const QueuePatience::Queue queue = {.waiting = 2 * kRows, .under_way = 1, .since = At(0)};
  CHECK(patience.Takes(queue, kNoDeadline, At(100)));
  CHECK_FALSE(patience.Takes(queue, kNoDeadline, At(500)));
  // Its rest may take another 400 ms.
  CHECK(patience.Takes(queue, At(1000), At(400)));
  CHECK_FALSE(patience.Takes(queue, At(700), At(400)));
}

TEST_CASE("A pace that was measured in bad times is forgotten within a few batches") {
  QueuePatience patience = WithPace(5000);
  int batches = 0;
  MonotonicTime now = At(0);
  while (
      !patience.Takes({.waiting = 0, .under_way = 1, .since = now}, now + absl::Seconds(1), now)) {
    // Each is let in alone and takes 2 ms.
    const MonotonicTime sent = now;
    now = now + absl::Milliseconds(2);
    patience.Ended(sent, now);
    REQUIRE(++batches < 20);
  }
  CHECK(batches > 0);
}

TEST_CASE("Without a patience only deadlines refuse") {
  QueuePatience patience(QueuePatience::Options{.batch_rows_max = kRows});
  patience.Ended(At(-100), At(0));
  const QueuePatience::Queue queue = {.waiting = 1000 * kRows, .under_way = 1, .since = At(0)};
  CHECK(patience.Takes(queue, kNoDeadline, At(0)));
  CHECK_FALSE(patience.Takes(queue, At(5000), At(0)));
}

// What becomes of ten times what the store can do, each write with 2 s of time, in steps of a ms.
TEST_CASE("Under ten times the load all that is taken is served in time and the store stays full") {
  QueuePatience patience = MakePatience();
  constexpr int kTakesMs = 100;  // So the store does 1000 a second.
  std::deque<MonotonicTime> waiting;
  std::deque<MonotonicTime> at_work;
  MonotonicTime sent;
  int served = 0;
  absl::Duration slowest;
  constexpr int kMs = 20'000;
  for (int ms = 0; ms < kMs; ++ms) {
    const MonotonicTime now = At(ms);
    if (!at_work.empty() && Between(sent, now) >= absl::Milliseconds(kTakesMs)) {
      patience.Ended(sent, now);
      for (const MonotonicTime pushed : at_work) slowest = std::max(slowest, Between(pushed, now));
      served += static_cast<int>(at_work.size());
      at_work.clear();
    }
    for (int i = 0; i < 10; ++i) {
      const QueuePatience::Queue queue = {.waiting = static_cast<int>(waiting.size()),
                                          .under_way = at_work.empty() ? 0 : 1,
                                          .since = sent};
      if (patience.Takes(queue, now + absl::Seconds(2), now)) waiting.push_back(now);
    }
    if (at_work.empty()) {
      const auto leave = waiting.begin() + std::min<ptrdiff_t>(kRows, std::ssize(waiting));
      at_work.assign(waiting.begin(), leave);
      waiting.erase(waiting.begin(), leave);
      sent = now;
    }
  }
  // The first batch has little in it, and one is at work at the end.
  CHECK(served >= (kMs / kTakesMs - 2) * kRows);
  // The first crowd comes before the pace is known.
  CHECK(slowest <= absl::Milliseconds(1200));
}

}  // namespace
}  // namespace counter
