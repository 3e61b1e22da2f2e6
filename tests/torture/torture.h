// Torture: load that can be judged, faults by a schedule, and the judgement.
//
// The schedule comes from the seed: which fault, when, for how long. After each fault the service
// must serve again within `heal_max`. A failure leaves a folder: the schedule, the log of each
// offending pair, the logs of the servers.
//
// Threads: the test's own.
#ifndef COUNTER_TESTS_TORTURE_TORTURE_H_
#define COUNTER_TESTS_TORTURE_TORTURE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/verify/checker.h"
#include "clients/verify/history.h"
#include "clients/verify/pair_load.h"
#include "tests/torture/fault.h"
#include "tests/torture/stage.h"

namespace counter::testing {

struct TortureOptions {
  // Each fault once, in an order by chance; then others by chance until the time is over.
  std::vector<Fault> faults;
  absl::Duration duration = absl::ZeroDuration();
  absl::Duration calm_max = absl::Milliseconds(400);  // Before each.
  absl::Duration heal_max = absl::Seconds(15);
  // Whether the load ends with the last fault; else it goes on until all must have healed.
  bool load_ends_first = false;
  verify::PairLoadOptions load = {};
};

struct TortureReport {
  verify::History history;
  verify::PairLoad::Totals totals;
  std::vector<verify::Finding> findings;
  std::vector<std::string> complaints;  // That a service did not come back, and the like.
  std::string schedule;                 // What was done, a line each.
};

// Ends the servers of the stage. A report with findings or complaints has been written to the
// folder of the stage, which stays.
TortureReport Torture(Stage& stage, const TortureOptions& options);

// Fails the case unless the report is clean, and says how much was done.
void RequireClean(const TortureReport& report, const Stage& stage);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_TORTURE_TORTURE_H_
