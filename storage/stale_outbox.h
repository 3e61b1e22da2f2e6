// StaleOutbox: the rows of a store's outbox that nobody has acknowledged in time.
//
// Use it beside CacheOutbox to make good what was lost: a server that died between its commit and
// its word to the cache has left a row, and any server may take it up. It looks for rows by their
// age, never by their number: a later number may become visible before an earlier one.
//
// Errors: those of LikeStore. Threads and ownership: as LikeStore.
#ifndef COUNTER_STORAGE_STALE_OUTBOX_H_
#define COUNTER_STORAGE_STALE_OUTBOX_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "storage/like.h"

namespace counter {

struct StaleRow {
  int64_t id = 0;
  std::vector<Item> items;  // That changed; may repeat.
};

class StaleOutbox {
 public:
  virtual ~StaleOutbox() = default;

  // Up to rows_max rows that were made, or taken last, at least min_age ago. Whoever is given a row
  // has it to himself for min_age; rows that somebody else is taking just now are left out, not
  // waited for. Requires rows_max >= 1.
  virtual Task<absl::StatusOr<std::vector<StaleRow>>> TakeStale(absl::Duration min_age,
                                                                int rows_max,
                                                                CallLimits limits) = 0;

  // The cache has been told of these rows. Rows that are gone already are no error.
  virtual Task<absl::Status> DeleteStale(std::vector<int64_t> ids, CallLimits limits) = 0;
};

}  // namespace counter

#endif  // COUNTER_STORAGE_STALE_OUTBOX_H_
