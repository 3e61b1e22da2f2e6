// The cache protocol over a cluster under simulation: the product's decisions hold on every
// schedule, and each fault that is planted is found.
#include "tests/simulation/cluster/cluster_simulation.h"

#include <ctime>
#include <iostream>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/test_settings.h"

namespace counter::simulation::cluster {
namespace {

using counter::testing::Sized;
using counter::testing::TestSeed;

// What a search met, up to the first schedule that breaks something.
struct Searched {
  uint64_t seed = 0;
  int64_t schedules = 0;
  std::string violation;
  int64_t hits = 0;
  Met met;
};

Searched Search(int64_t schedules, const Decisions& decisions, const Faults& faults) {
  Searched searched;
  while (searched.schedules < schedules && searched.violation.empty()) {
    searched.seed = TestSeed() + static_cast<uint64_t>(searched.schedules++);
    const ClusterOutcome played = Play(searched.seed, decisions, faults);
    searched.violation = played.outcome.violation;
    searched.hits += played.outcome.hits;
    searched.met.failovers += played.met.failovers;
    searched.met.redirected += played.met.redirected;
    searched.met.put_again += played.met.put_again;
  }
  return searched;
}

Searched RequireHolds(int64_t schedules, const Faults& faults) {
  Searched searched = Search(schedules, {}, faults);
  if (!searched.violation.empty()) {
    FAIL("COUNTER_TEST_SEED=" << searched.seed << ": " << searched.violation << "\n"
                              << Play(searched.seed, {}, faults, true).outcome.trace);
  }
  return searched;
}

// ---- The product's decisions -------------------------------------------------------------------

TEST_CASE("cluster simulation: the protocol holds on every schedule with every fault") {
  const int64_t schedules = Sized<int64_t>(8000, 1'000'000);
  // Time on the processor, so that a busy machine does not count.
  const std::clock_t start = std::clock();
  const Searched searched = RequireHolds(schedules, {});
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const double a_minute = static_cast<double>(schedules) * 60 / took_s;
  std::cout << "cluster simulation: " << static_cast<int64_t>(a_minute)
            << " schedules a minute; a hundred of them: counts shown "
            << searched.hits * 100 / schedules << ", failovers "
            << searched.met.failovers * 100 / schedules << ", commands sent on "
            << searched.met.redirected * 100 / schedules << ", items put again "
            << searched.met.put_again * 100 / schedules << "\n";
  CHECK(a_minute * counter::testing::Slowness() >= 50'000);
  CHECK(searched.hits > schedules / 2);
  CHECK(searched.met.failovers > schedules / 10);
  CHECK(searched.met.redirected > schedules / 10);
  CHECK(searched.met.put_again > schedules / 10);
}

TEST_CASE("cluster simulation: slots that move lose nothing") {
  (void)RequireHolds(Sized<int64_t>(2000, 100'000), {.losses = false,
                                                     .evictions = true,
                                                     .crashes = false,
                                                     .failovers = false,
                                                     .restarts = false,
                                                     .migrations = true});
}

TEST_CASE("cluster simulation: a schedule can be replayed from its seed") {
  const Outcome once = Play(TestSeed(), {}, {}, true).outcome;
  CHECK(once.trace == Play(TestSeed(), {}, {}, true).outcome.trace);
  CHECK(once.trace != Play(TestSeed() + 1, {}, {}, true).outcome.trace);
}

// ---- Each fault, planted -----------------------------------------------------------------------

// A fault must be found within so many schedules.
constexpr int64_t kSearch = 30'000;

std::string Found(const char* name, const Decisions& wrong, const Faults& faults = {}) {
  const Searched searched = Search(kSearch, wrong, faults);
  std::cout << name << ": schedule " << searched.schedules << ": " << searched.violation << "\n";
  return searched.violation;
}

// Nodes start anew, and nothing else happens.
constexpr Faults kRestarts = {.losses = true,
                              .evictions = false,
                              .crashes = false,
                              .failovers = false,
                              .restarts = true,
                              .migrations = false};

TEST_CASE("cluster simulation: a map that is never asked for again is found") {
  Decisions wrong;
  wrong.refreshes_map = false;
  CHECK_FALSE(Found("no refresh of the map", wrong).empty());
}

TEST_CASE("cluster simulation: a node's new run after which nothing is put again is found") {
  Decisions wrong;
  wrong.puts_again_on_new_run = false;
  // What is older than the start is not believed, so it takes a file of the last second.
  CHECK_FALSE(Found("nothing put again on a new run", wrong, kRestarts).empty());
}

TEST_CASE("cluster simulation: a new owner to whom nothing is put again is found") {
  Decisions wrong;
  wrong.puts_again_on_new_owner = false;
  CHECK_FALSE(Found("nothing put again to a new owner", wrong).empty());
}

TEST_CASE(
    "cluster simulation: a node that says it owns nothing, to a server that is deaf, is found") {
  Decisions wrong;
  wrong.hears_heartbeats = false;
  CHECK_FALSE(Found("deaf to heartbeats", wrong).empty());
}

TEST_CASE("cluster simulation: an old file that is believed is found") {
  Decisions wrong;
  wrong.doubts_old_files = false;
  CHECK_FALSE(Found("an old file", wrong, kRestarts).empty());
}

// What is not sent on costs speed: a put that does not arrive is owed, and put again.
TEST_CASE("cluster simulation: who follows no redirection breaks nothing, and is shown less") {
  Decisions wrong;
  wrong.follows_redirections = false;
  const Searched searched = Search(2000, wrong, {});
  CHECK(searched.violation.empty());
  CHECK(searched.met.redirected == 0);
}

}  // namespace
}  // namespace counter::simulation::cluster
