// CopyChecker: shows that every layer says the same of a count, or names the first that does not.
//
// Use one a server. In the background, on a thread of its own, it compares the copies of the writes
// that were sampled (sampled_writes.h), 0.1, 1, 10 and 60 s after each was acknowledged, and counts
// what it found (check_tally.h): how many nines hold is computed from that. It logs the first item
// whose copies diverge, with all versions, and then one in 10 s at most. An operator has it check
// any items at once.
//
// It changes nothing and leaves no trace in what it looks at. A check that would come later than it
// may is not made, and counted as unanswered.
//
// Bounds: checks_max checks of a round; the reading has kReadBudget.
//
// Threads: Check, tally and FirstDiverging any; Start and Stop one at a time. Ownership: borrows
// everything; stop it before its parts.
#ifndef COUNTER_SERVER_CHECK_COPY_CHECKER_H_
#define COUNTER_SERVER_CHECK_COPY_CHECKER_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/task.h"
#include "server/check/check_tally.h"
#include "server/check/copy_reader.h"
#include "server/check/copy_verdict.h"
#include "server/check/sampled_writes.h"
#include "server/item_types.h"

namespace counter {

class CopyChecker {
 public:
  struct Options {
    CopyReader::Options reader;
    size_t checks_max = 100;  // Of a round.
    // What is ahead is read again so often, after such a pause.
    int reads_again_max = 3;
    absl::Duration pause = absl::Milliseconds(50);
    // How long a check may be late, or a tenth of its age if that is more.
    absl::Duration late_max = absl::Milliseconds(50);
  };
  // A sampled write whose copies diverged.
  struct Finding {
    CheckedItem item;
    absl::Time found;
    int age = 0;  // Which of CheckAges().
  };

  CopyChecker(CopyReader::Parts parts, SampledWrites& writes, ItemTypes item_types,
              const Options& options);
  ~CopyChecker();  // Stops.

  // The items as their copies are now, once each. An error if the primary does not answer. Requires
  // distinct items.
  Task<absl::StatusOr<std::vector<CheckedItem>>> Check(std::vector<Item> items, CallLimits limits);

  // Begins and ends the background.
  void Start();
  void Stop();

  // What happens there when checks are due; for tests. Blocks.
  void CheckDue();

  const CheckTally& tally() const { return tally_; }
  // The layers that there are, each once, in order.
  const std::vector<CopyLayer>& layers() const { return layers_; }
  const SampledWrites& writes() const { return writes_; }
  std::optional<Finding> FirstDiverging() const;

 private:
  void Run();
  bool Pause(absl::Duration duration);
  bool IsLate(const DueCheck& due, MonotonicTime now) const;
  std::vector<CheckedItem> CheckWrites(const std::vector<DueCheck>& dues);
  void Record(const DueCheck& due, CheckedItem checked);

  const Clock& clock_;
  CopyReader reader_;
  SampledWrites& writes_;
  const ItemTypes item_types_;
  const Options options_;
  std::vector<CopyLayer> layers_;
  CheckTally tally_;
  LogThrottle log_{absl::Seconds(10)};

  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Finding> first_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_CHECK_COPY_CHECKER_H_
