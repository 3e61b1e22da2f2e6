// The data tier under simulation: the product's decisions keep the contract on every schedule, and
// each fault that is planted is found.
#include "tests/simulation/tier/tier_simulation.h"

#include <ctime>
#include <iostream>
#include <string>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "tests/support/test_settings.h"

namespace counter::simulation::tier {
namespace {

using counter::testing::Sized;
using counter::testing::TestSeed;

// What a search met, up to the first schedule that breaks something.
struct Met {
  uint64_t seed = 0;
  int64_t schedules = 0;
  Outcome sum;  // Its violation is that of the last schedule.
};

Met Search(int64_t schedules, const Decisions& decisions, const Faults& faults) {
  Met met;
  while (met.schedules < schedules && met.sum.violation.empty()) {
    met.seed = TestSeed() + static_cast<uint64_t>(met.schedules++);
    Outcome outcome = Play(met.seed, decisions, faults);
    met.sum.violation = std::move(outcome.violation);
    met.sum.from_cache += outcome.from_cache;
    met.sum.from_replica += outcome.from_replica;
    met.sum.from_primary += outcome.from_primary;
    met.sum.strong += outcome.strong;
    met.sum.with_token += outcome.with_token;
    met.sum.with_token_of_lost += outcome.with_token_of_lost;
    met.sum.failovers += outcome.failovers;
    met.sum.lost += outcome.lost;
    met.sum.doubted += outcome.doubted;
  }
  return met;
}

Outcome RequireHolds(int64_t schedules, const Faults& faults) {
  Met met = Search(schedules, {}, faults);
  if (!met.sum.violation.empty()) {
    FAIL("COUNTER_TEST_SEED=" << met.seed << ": " << met.sum.violation << "\n"
                              << Play(met.seed, {}, faults, true).trace);
  }
  return std::move(met.sum);
}

// ---- The product's decisions -------------------------------------------------------------------

TEST_CASE("tier simulation: every read keeps the contract on every schedule with every fault") {
  const int64_t schedules = Sized<int64_t>(6000, 1'000'000);
  // Time on the processor, so that a busy machine does not count.
  const std::clock_t start = std::clock();
  const Outcome met = RequireHolds(schedules, {});
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const double a_minute = static_cast<double>(schedules) * 60 / took_s;
  std::cout << "tier simulation: " << static_cast<int64_t>(a_minute)
            << " schedules a minute; a hundred of them: answers of caches "
            << met.from_cache * 100 / schedules << ", replicas "
            << met.from_replica * 100 / schedules << ", the primary "
            << met.from_primary * 100 / schedules << ", of these strong "
            << met.strong * 100 / schedules << "; with tokens " << met.with_token * 100 / schedules
            << ", of lost writes " << met.with_token_of_lost * 100 / schedules << "; failovers "
            << met.failovers * 100 / schedules << ", acknowledged writes lost "
            << met.lost * 100 / schedules << ", cached counts doubted "
            << met.doubted * 100 / schedules << "\n";
  CHECK(a_minute * counter::testing::Slowness() >= 50'000);
  CHECK(met.from_cache > schedules / 2);
  CHECK(met.from_replica > schedules / 2);
  CHECK(met.strong > schedules / 2);
  CHECK(met.with_token > schedules / 2);
  CHECK(met.failovers > schedules / 4);
  CHECK(met.lost > schedules / 100);
  CHECK(met.doubted > schedules / 100);
}

TEST_CASE("tier simulation: while all is well nothing shown is older than 1 s") {
  (void)RequireHolds(Sized<int64_t>(1000, 100'000), {.losses = false,
                                                     .evictions = true,
                                                     .crashes = false,
                                                     .replicas = false,
                                                     .failovers = false});
}

TEST_CASE("tier simulation: beside replicas nothing is older than their lag and a short fill") {
  (void)RequireHolds(
      Sized<int64_t>(1000, 100'000),
      {.losses = false, .evictions = true, .crashes = false, .replicas = true, .failovers = false});
}

// Words get lost and keys die, and all of it is about one item.
constexpr Faults kLossesOfOneItem = {.losses = true,
                                     .evictions = true,
                                     .crashes = false,
                                     .replicas = true,
                                     .failovers = false,
                                     .fences = true,
                                     .one_item = true};

TEST_CASE("tier simulation: what is put, read and filled about one item keeps the contract") {
  (void)RequireHolds(Sized<int64_t>(2000, 200'000), kLossesOfOneItem);
}

TEST_CASE("tier simulation: a schedule can be replayed from its seed") {
  const Outcome once = Play(TestSeed(), {}, {}, true);
  CHECK(once.trace == Play(TestSeed(), {}, {}, true).trace);
  CHECK(once.trace != Play(TestSeed() + 1, {}, {}, true).trace);
}

// ---- Each fault, planted -----------------------------------------------------------------------

// A fault must be found within so many schedules.
constexpr int64_t kSearch = 30'000;

// The violation that was found.
std::string Found(const char* name, const Decisions& wrong, const Faults& faults = {},
                  int64_t schedules = kSearch) {
  const Met met = Search(schedules, wrong, faults);
  std::cout << name << ": schedule " << met.schedules << ": " << met.sum.violation << "\n";
  return met.sum.violation;
}

TEST_CASE("tier simulation: a replica that is read without a bound of its lag is found") {
  Decisions wrong;
  wrong.bounds_lag = false;
  CHECK_FALSE(Found("no bound of the lag", wrong).empty());
}

TEST_CASE("tier simulation: a lag that is judged by what was replayed last is found") {
  Decisions wrong;
  wrong.measures_by_log = false;
  CHECK_FALSE(Found("lag by replay", wrong).empty());
}

TEST_CASE("tier simulation: a position that is asked after the snapshot is found") {
  Decisions wrong;
  wrong.asks_position_first = false;
  CHECK_FALSE(Found("position after the snapshot", wrong).empty());
}

TEST_CASE("tier simulation: a standby that was left behind and is read is found") {
  Decisions wrong;
  wrong.checks_timeline = false;
  CHECK_FALSE(Found("standby left behind", wrong).empty());
}

TEST_CASE("tier simulation: a token that is checked in a question of its own is found") {
  Decisions wrong;
  wrong.checks_token_of_what_was_read = false;
  CHECK_FALSE(Found("token checked apart", wrong).empty());
}

TEST_CASE("tier simulation: a primary that is not asked for what the replica lacks is found") {
  Decisions wrong;
  wrong.asks_primary_for_token = false;
  CHECK_FALSE(Found("primary not asked", wrong).empty());
}

TEST_CASE("tier simulation: tokens of another history that count as satisfied are found") {
  Decisions wrong;
  wrong.tokens_name_timeline = false;
  CHECK_FALSE(Found("tokens of another history", wrong).empty());
}

TEST_CASE("tier simulation: a fill of a replica that stays for the long time is found") {
  Decisions wrong;
  wrong.replica_fills_are_short = false;
  CHECK_FALSE(Found("long fills", wrong).empty());
}

TEST_CASE("tier simulation: a short fill that a put makes long is found") {
  Decisions wrong;
  wrong.short_fills_keep_their_end = false;
  // It takes three reads and a write in one order: nothing else shall happen, and one schedule in
  // some thousands has it.
  CHECK_FALSE(Found("short fills made long", wrong, kLossesOfOneItem, 4 * kSearch).empty());
}

TEST_CASE("tier simulation: an answer of a replica that is dated by its arrival is found") {
  Decisions wrong;
  wrong.dates_by_replica = false;
  CHECK_FALSE(Found("dated by arrival", wrong).empty());
}

TEST_CASE("tier simulation: a near cache without a bound is found") {
  Decisions wrong;
  wrong.near_is_bounded = false;
  CHECK_FALSE(Found("near without a bound", wrong).empty());
}

TEST_CASE("tier simulation: an outbox that is not swept is found") {
  Decisions wrong;
  wrong.sweeps_outbox = false;
  CHECK_FALSE(Found("no sweep", wrong).empty());
}

TEST_CASE("tier simulation: caches that believe what a failover may have lost are found") {
  Decisions wrong;
  wrong.doubts_after_failover = false;
  CHECK_FALSE(Found("no doubt after a failover", wrong).empty());
}

TEST_CASE("tier simulation: a server that serves before it knows of a failover is found") {
  Decisions wrong;
  wrong.waits_for_note = false;
  // It takes a count that nobody has looked at since the failover.
  const Faults few = {
      .losses = false, .evictions = false, .crashes = true, .replicas = false, .failovers = true};
  CHECK_FALSE(Found("serves before it knows", wrong, few).empty());
}

TEST_CASE("tier simulation: a server that goes back to the old primary is found") {
  Decisions wrong;
  wrong.leaves_old_primary = false;
  CHECK_FALSE(Found("the old primary", wrong).empty());
}

TEST_CASE("tier simulation: a row of a lost history that deletes another one is found") {
  Decisions wrong;
  wrong.rows_have_history = false;
  CHECK_FALSE(Found("rows of a lost history", wrong).empty());
}

TEST_CASE("tier simulation: replicated durability that does not wait for the standby is found") {
  Decisions wrong;
  wrong.waits_for_standby = false;
  CHECK(
      absl::StrContains(Found("no wait for the standby", wrong), "synchronous failover has lost"));
}

// Not a fault of the product, but of whoever fails over: docs/operations.md says to stop the old
// primary or to cut it off, and that read-only is not enough.
TEST_CASE("tier simulation: an old primary that is only made read-only is found to answer") {
  Faults faults;
  faults.fences = false;
  CHECK_FALSE(Found("a read-only old primary", {}, faults).empty());
}

}  // namespace
}  // namespace counter::simulation::tier
