// Fault: one thing that goes wrong with a stage, and how it is put right again.
//
// Begin and end are called on the test's thread, at most one fault's at a time between a Begin and
// its End of another one that touches the same part. After End() all is as it was, but for what has
// to heal by itself.
//
// Values that refer to the stage they were made for.
#ifndef COUNTER_TESTS_TORTURE_FAULT_H_
#define COUNTER_TESTS_TORTURE_FAULT_H_

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/torture/stage.h"

namespace counter::testing {

using Random = std::mt19937_64;

struct Fault {
  std::string name;
  std::function<void(Random& random)> begin;
  std::function<void()> end;
  absl::Duration shortest = absl::Milliseconds(200);
  absl::Duration longest = absl::Milliseconds(1500);
  // Whether the caches may be told late because of it.
  bool ages_cache = true;
};

// Processes that are killed, stopped and restarted.
std::vector<Fault> ProcessFaults(Stage& stage);
// Whatever lines can do, on each kind of line.
std::vector<Fault> LineFaults(Stage& stage);
// Wall clocks that are set forward and back by an hour, of all kinds of process.
std::vector<Fault> ClockFaults(Stage& stage);
// What a machine runs out of, or loses: disk, flushes, file descriptors, network. Those that cannot
// be had here are left out.
std::vector<Fault> MachineFaults(Stage& stage);
std::vector<Fault> AllFaults(Stage& stage);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_TORTURE_FAULT_H_
