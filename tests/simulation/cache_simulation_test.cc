// The cache protocol under simulation: the product's decisions hold on every schedule, and each of
// the published code's faults, put back one at a time, is found.
#include "tests/simulation/cache_simulation.h"

#include <ctime>
#include <iostream>
#include <string>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "tests/support/test_settings.h"

namespace counter::simulation {
namespace {

using counter::testing::Sized;
using counter::testing::TestSeed;

// Of the first schedule that breaks something: its seed and what it broke.
struct Found {
  bool any = false;
  uint64_t seed = 0;
  std::string violation;
  int64_t hits = 0;
};

Found Search(int64_t schedules, const Decisions& decisions, const Faults& faults = {}) {
  Found found;
  for (int64_t i = 0; i < schedules; ++i) {
    const uint64_t seed = TestSeed() + static_cast<uint64_t>(i);
    const Outcome outcome = Play(seed, decisions, faults);
    found.hits += outcome.hits;
    if (outcome.violation.empty()) continue;
    return {true, seed, outcome.violation, found.hits};
  }
  return found;
}

void RequireHolds(int64_t schedules, const Faults& faults) {
  const Found found = Search(schedules, {}, faults);
  if (found.any) {
    FAIL("schedule " << found.seed << ": " << found.violation << "\n"
                     << Play(found.seed, {}, faults, true).trace);
  }
  CHECK(found.hits > schedules / 2);
}

// A fault must be found within so many schedules.
constexpr int64_t kSearch = 50'000;

std::string FirstViolation(const Decisions& wrong, const Faults& faults = {}) {
  const Found found = Search(kSearch, wrong, faults);
  return found.violation;
}

// ---- The product's decisions -------------------------------------------------------------------

TEST_CASE("simulation: the protocol holds on every schedule with every fault") {
  const int64_t schedules = Sized<int64_t>(20'000, 1'000'000);
  // Time on the processor, so that a busy machine does not count.
  const std::clock_t start = std::clock();
  RequireHolds(schedules, {});
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const double a_minute = static_cast<double>(schedules) * 60 / took_s;
  std::cout << "cache simulation: " << static_cast<int64_t>(a_minute) << " schedules a minute\n";
  CHECK(a_minute * counter::testing::Slowness() >= 100'000);
}

TEST_CASE("simulation: without losses nothing shown is older than 1 s") {
  RequireHolds(Sized<int64_t>(5000, 200'000),
               {.losses = false, .evictions = true, .crashes = false, .failovers = false});
}

TEST_CASE("simulation: a schedule can be replayed from its seed") {
  const Outcome once = Play(TestSeed(), {}, {}, true);
  CHECK(once.trace == Play(TestSeed(), {}, {}, true).trace);
  CHECK(once.trace != Play(TestSeed() + 1, {}, {}, true).trace);
}

// ---- Each fault, put back ----------------------------------------------------------------------

CountCell Value(int64_t count, const CountPut& put) {
  CountCell cell;
  cell.kind = CountCell::Kind::kValue;
  cell.count = count;
  cell.version = put.entry.version;
  cell.read_at = put.entry.read_at;
  return cell;
}
using Effect = CountPutStep::Effect;

TEST_CASE("simulation: D1: INCR of a key that is not there is found") {
  Decisions wrong;
  wrong.put = [](const CountCell& cell, const CountPut& put, int64_t delta) -> CountPutStep {
    if (put.token == 0 && delta == 1 && cell.kind == CountCell::Kind::kAbsent) {
      return {Effect::kStored, Value(1, put)};
    }
    return StepPut(cell, put);
  };
  CHECK(absl::StrContains(FirstViolation(wrong), "never stored"));
}

TEST_CASE("simulation: D3: DECR of a key that is not there is found") {
  Decisions wrong;
  wrong.put = [](const CountCell& cell, const CountPut& put, int64_t delta) -> CountPutStep {
    if (put.token == 0 && delta == -1 && cell.kind == CountCell::Kind::kAbsent) {
      return {Effect::kStored, Value(-1, put)};
    }
    return StepPut(cell, put);
  };
  CHECK(absl::StrContains(FirstViolation(wrong), "never stored: -1"));
}

TEST_CASE("simulation: D4: a fill that overwrites whatever is there is found") {
  Decisions wrong;
  wrong.put = [](const CountCell& cell, const CountPut& put, int64_t) -> CountPutStep {
    if (put.token != 0) return {Effect::kStored, Value(put.entry.count, put)};
    return StepPut(cell, put);
  };
  CHECK_FALSE(FirstViolation(wrong).empty());
}

TEST_CASE("simulation: D4: a fill that ignores the minimum of its lease is found") {
  Decisions wrong;
  wrong.put = [](const CountCell& cell, const CountPut& put, int64_t) -> CountPutStep {
    CountCell without_minimum = cell;
    if (cell.kind == CountCell::Kind::kLease) without_minimum.version = 0;
    return StepPut(without_minimum, put);
  };
  CHECK_FALSE(FirstViolation(wrong).empty());
}

TEST_CASE("simulation: D4: a write-through that creates the key is found") {
  Decisions wrong;
  wrong.put = [](const CountCell& cell, const CountPut& put, int64_t) -> CountPutStep {
    if (cell.kind == CountCell::Kind::kAbsent)
      return {Effect::kStored, Value(put.entry.count, put)};
    return StepPut(cell, put);
  };
  CHECK_FALSE(FirstViolation(wrong).empty());
}

TEST_CASE("simulation: D5: a like that is answered from the recent likes is found") {
  Decisions wrong;
  wrong.like_believes_recent = true;
  CHECK(absl::StrContains(FirstViolation(wrong), "not so at any instant"));
}

TEST_CASE("simulation: D6: a late like that comes back after its unlike is found") {
  Decisions wrong;
  wrong.fact = [](const LikeFact& fact, absl::Time now) {
    LikeFact last_wins = fact;
    last_wins.item_version = absl::ToUnixMicros(now);
    last_wins.verified_at = now;
    return last_wins;
  };
  CHECK(absl::StrContains(FirstViolation(wrong), "remembered that has ended"));
}

TEST_CASE("simulation: D8: a cache error that fails a durable like is found") {
  Decisions wrong;
  wrong.fails_on_cache_error = true;
  CHECK(absl::StrContains(FirstViolation(wrong), "D8"));
}

TEST_CASE("simulation: rule 5: without the outbox a lost write-through is found") {
  Decisions wrong;
  wrong.sweeps_outbox = false;
  CHECK_FALSE(FirstViolation(wrong).empty());
}

TEST_CASE("simulation: rule 6: without putting again a failover is found") {
  Decisions wrong;
  wrong.puts_again_on_new_run = false;
  CHECK_FALSE(FirstViolation(wrong).empty());
}

TEST_CASE("simulation: a get that does not lease is found out by nobody being shown anything") {
  Decisions wrong;
  wrong.get = [](const CountCell& cell, FillToken token) {
    CountGetStep step = StepGet(cell, token);
    if (step.answer == CountLookup::Kind::kLease)
      return CountGetStep{CountLookup::Kind::kMiss, cell};
    return step;
  };
  CHECK(Search(100, wrong).hits == 0);
}

}  // namespace
}  // namespace counter::simulation
