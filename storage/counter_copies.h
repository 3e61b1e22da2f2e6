// CounterCopies: what each copy of an item's counter says, and what its likes add up to.
//
// Use it to compare them with each other and with caches (server/check); each store that has likes
// implements it. It is no read for callers: nothing is routed, retried or combined, and a replica
// is asked however far behind it is.
//
// Errors: those of LikeStore, and kStoreUnavailable where a replica cannot be asked, or is not, or
// not yet, of the primary's history: what it says cannot be compared.
//
// Limits, threads and ownership: as LikeStore. A store has connections of its own for this, which
// it makes when it is asked first.
#ifndef COUNTER_STORAGE_COUNTER_COPIES_H_
#define COUNTER_STORAGE_COUNTER_COPIES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "storage/like.h"

namespace counter {

// A stored counter. All 0: there is none.
struct CounterRow {
  int64_t count = 0;
  int64_t version = 0;
  int64_t digest = 0;

  friend bool operator==(const CounterRow&, const CounterRow&) = default;
};

// How much a recount may cost.
struct RecountBounds {
  // Likes of the item, as its counter says. Requires >= 1.
  int64_t likes_max = 10'000;
  // Likes of the item's type, where no index names those of the item: all of them are looked at.
  // A store may know the number by the room that they take. Requires >= 1.
  int64_t scanned_max = 1'000'000;
};

// A counter and its likes, of one snapshot of the primary.
struct RecountedCounter {
  CounterRow stored;
  bool recounted = false;  // False: that would have cost more than it may.
  // Of an item with more than likes_max likes whose counter says less: of so many and one more.
  int64_t count = 0;
  int64_t digest = 0;

  friend bool operator==(const RecountedCounter&, const RecountedCounter&) = default;
};

class CounterCopies {
 public:
  virtual ~CounterCopies() = default;

  // How many replicas there are; they are named 0, 1, and so on.
  virtual int replicas() const = 0;

  // Row i is of items[i], as the replica has it. Requires replica < replicas(), and items.
  virtual Task<absl::StatusOr<std::vector<CounterRow>>> ReplicaRows(int replica,
                                                                    std::vector<Item> items,
                                                                    CallLimits limits) = 0;

  // Answer i is of items[i], each of a snapshot of its own. Requires items.
  virtual Task<absl::StatusOr<std::vector<RecountedCounter>>> RecountSome(std::vector<Item> items,
                                                                          RecountBounds bounds,
                                                                          CallLimits limits) = 0;
};

}  // namespace counter

#endif  // COUNTER_STORAGE_COUNTER_COPIES_H_
