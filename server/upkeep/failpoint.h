// Failpoint: ends this process between a commit and the word of it to the cache. FOR TESTS ONLY.
//
// It stands between a store's outbox and its listener, and is there only when the environment
// variable COUNTER_FAILPOINT says so when the process starts: `exit-after-commit`, or
// `exit-after-commit:N` for the N-th batch that changed something. It is no setting: it has no
// flag, no line in a file, no default, and an operator has no use for it.
//
// Threads: as OutboxListener. Ownership: borrows the listener.
#ifndef COUNTER_SERVER_UPKEEP_FAILPOINT_H_
#define COUNTER_SERVER_UPKEEP_FAILPOINT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/cache_outbox.h"

namespace counter {

class Failpoint final : public OutboxListener {
 public:
  // What the process ends with, so that a test knows it from other ends.
  static constexpr int kExitStatus = 86;

  // Before `next` hears of the batch number `batches`. Requires batches >= 1.
  Failpoint(OutboxListener& next, int64_t batches) : next_(next), left_(batches) {}

  void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) override;

 private:
  OutboxListener& next_;
  std::atomic<int64_t> left_;
};

// What COUNTER_FAILPOINT asks for: the number of the batch, 0 if it asks for nothing. An error if
// it asks for something that there is not: a test would wait for it in vain.
absl::StatusOr<int64_t> ParseFailpoint(absl::string_view text);

}  // namespace counter

#endif  // COUNTER_SERVER_UPKEEP_FAILPOINT_H_
