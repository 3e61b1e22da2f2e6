// CopyReader: asks every layer that holds a count of an item what it says.
//
// Use it under CopyChecker. The caches are looked at first, then the replicas, and the primary
// last, with a recount in the same snapshot: so what a sound layer says is never newer than what
// the primary says afterwards, but for a replica that shows a commit a moment before it.
//
// A count that a failover of the store may have lost (failover_doubt.h) is absent: a read would not
// believe it either. A replica that did not answer is left alone for a while, so that one that
// hangs does not make every check late.
//
// Threads: any. Ownership: borrows everything.
#ifndef COUNTER_SERVER_CHECK_COPY_READER_H_
#define COUNTER_SERVER_CHECK_COPY_READER_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "cache/count_peek.h"
#include "server/check/copy_verdict.h"
#include "storage/counter_copies.h"
#include "storage/like_store.h"

namespace counter {

// A cache, and which layer it is.
struct CheckedCache {
  CopyLayer layer = CopyLayer::kLocal;
  CountPeek* cache = nullptr;
};

class CopyReader {
 public:
  struct Parts {
    const LikeStore& store;
    CounterCopies& copies;  // Of the same store.
    std::vector<CheckedCache> caches;
    const Clock& clock;
  };
  struct Options {
    RecountBounds recount;
    absl::Duration replica_budget = absl::Milliseconds(200);
    absl::Duration replica_rest = absl::Seconds(1);
  };

  CopyReader(Parts parts, const Options& options);

  // The copies of items[i], in the order of their layers, as answer i. An error if the primary does
  // not answer. Requires distinct items.
  Task<absl::StatusOr<std::vector<std::vector<Copy>>>> Read(std::vector<Item> items,
                                                            CallLimits limits);

  // One copy of each layer, unanswered: what a read has that asked nobody.
  std::vector<Copy> Unanswered() const;

 private:
  Task<std::vector<Copy>> ReadCache(CheckedCache cache, std::vector<Item> items);
  Task<std::vector<Copy>> ReadReplica(int replica, std::vector<Item> items, CallLimits limits);
  bool IsResting(int replica);

  const Parts parts_;
  const Options options_;
  Mutex mutex_;
  std::vector<MonotonicTime> rest_until_ ABSL_GUARDED_BY(mutex_);  // By replica.
};

}  // namespace counter

#endif  // COUNTER_SERVER_CHECK_COPY_READER_H_
