// World: what the parts of a schedule share: its database, its time, its luck and its journal.
//
// Threads: one. Ownership: values only, but for the decisions, which are borrowed.
#ifndef COUNTER_TESTS_SIMULATION_TIER_TIER_WORLD_H_
#define COUNTER_TESTS_SIMULATION_TIER_TIER_WORLD_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/like.h"
#include "tests/simulation/tier/database.h"
#include "tests/simulation/tier/tier_simulation.h"
#include "tests/simulation/world.h"

namespace counter::simulation::tier {

inline constexpr int kServers = 2;
// As the product's settings and their defaults.
inline constexpr absl::Duration kLagMax = absl::Seconds(1);
inline constexpr absl::Duration kProbeInterval = absl::Milliseconds(100);
inline constexpr absl::Duration kNearFresh = absl::Milliseconds(400);
inline constexpr absl::Duration kNearStale = absl::Milliseconds(600);
inline constexpr absl::Duration kTtl = absl::Hours(1);
inline constexpr absl::Duration kOutboxAge = absl::Seconds(2);
inline constexpr absl::Duration kTick = absl::Seconds(1);  // Of sweeps.

inline int IndexOf(const Item& item) { return static_cast<int>(item.id) - 1; }

// The schedule's time.
class SimulatedClock final : public Clock {
 public:
  absl::Time WallNow() const override { return Wall(now); }
  MonotonicTime MonotonicNow() const override { return Monotonic(now); }

  absl::Duration now;
};
inline absl::Duration SinceBegin(absl::Time time) { return time - Wall(absl::ZeroDuration()); }

struct World {
  World(uint64_t seed, const Decisions& which, const Faults& what, bool is_traced)
      : random(seed),
        decisions(which),
        faults(what),
        is_synchronous(Chance(50)),
        database(is_synchronous),
        traced(is_traced) {}

  uint64_t Random(uint64_t below) { return random() % below; }
  bool Chance(uint64_t percent) { return Random(100) < percent; }
  absl::Duration now() const { return clock.now; }
  // Writes down what happened. `text` is called only if somebody will read it.
  template <class Text>
  void Note(Text text) {
    if (traced) absl::StrAppend(&outcome.trace, absl::FormatDuration(now()), " ", text(), "\n");
  }

  std::mt19937_64 random;
  const Decisions& decisions;
  const Faults faults;
  const bool is_synchronous;  // DURABILITY=replicated.
  SimulatedClock clock;
  Database database;
  const bool traced;
  Outcome outcome;
  int answering_node = kNone;  // Of the answer that is being given.
};

}  // namespace counter::simulation::tier

#endif  // COUNTER_TESTS_SIMULATION_TIER_TIER_WORLD_H_
