// StoreObserver: what a store tells of its work, for metrics.
//
// Pass one to a store's options; override what you want to know. It is not for logs and must not
// change what the store does.
//
// Threads: called from any thread of the store and from callers' threads, also at the same time.
// Calls must return quickly: a store waits for them. Ownership: must outlive the store.
#ifndef COUNTER_STORAGE_STORE_OBSERVER_H_
#define COUNTER_STORAGE_STORE_OBSERVER_H_

#include "absl/time/time.h"
#include "base/error.h"

namespace counter {

// The queues of a store.
enum class StoreQueue { kWrites, kReads };

// A write transaction that was committed.
struct CommittedBatch {
  int units = 0;            // Statements.
  int rows = 0;             // Pairs that were liked or unliked, or found so.
  int mutations = 0;        // That these rows answered.
  absl::Duration duration;  // From the begin of the transaction to the end of its flush.
};

class StoreObserver {
 public:
  virtual ~StoreObserver() = default;

  virtual void OnBatchCommitted(const CommittedBatch& batch) { (void)batch; }

  // `count` mutations or reads ended with an error: dropped before they were sent (kOverloaded,
  // kDeadlineExceeded, kCancelled, kShuttingDown) or failed (the other reasons).
  virtual void OnErrors(StoreQueue queue, ErrorReason reason, int count) {
    (void)queue, (void)reason, (void)count;
  }

  // Mutations or reads that were taken and have not ended. Told at each change of a batch, not at
  // each change of one.
  virtual void OnQueueDepth(StoreQueue queue, int depth) { (void)queue, (void)depth; }

  // How long a write that came now would wait for its commit, as far as can be told. Told now and
  // then.
  virtual void OnWriteWait(absl::Duration wait) { (void)wait; }
};

}  // namespace counter

#endif  // COUNTER_STORAGE_STORE_OBSERVER_H_
