// LikeMaintenance: what an operator has done to the truth, and a caller never asks for: counters
// that have drifted are corrected, and likes are found that no index names.
//
// Use it beside LikeStore, which each store that has this implements too; one contract suite
// (tests/contract) holds both. Likes are removed by LikeStore's Apply, as always: nothing here
// changes the likes.
//
// Errors: those of LikeStore. Limits, threads and ownership: as LikeStore.
#ifndef COUNTER_STORAGE_LIKE_MAINTENANCE_H_
#define COUNTER_STORAGE_LIKE_MAINTENANCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "storage/counter_copies.h"
#include "storage/like.h"
#include "storage/like_store.h"

namespace counter {

// A counter that was corrected.
struct RepairedCounter {
  AuditFinding found;
  // After the correction. The count may be another one than found.actual_count: likes went on.
  int64_t count = 0;
  int64_t version = 0;

  friend bool operator==(const RepairedCounter&, const RepairedCounter&) = default;
};

// A place in the order in which the likes of a type are stored: by user, then by item id.
struct LikePosition {
  UserId user;
  int64_t item_id = 0;

  friend auto operator<=>(const LikePosition&, const LikePosition&) = default;
};

// Some of the likers of an item.
struct LikerScan {
  std::vector<UserId> likers;
  int64_t likes_scanned = 0;  // Likes of the item's type that were looked at.
  // Where to go on. Absent when all likes were looked at.
  std::optional<LikePosition> next;
};

class LikeMaintenance {
 public:
  virtual ~LikeMaintenance() = default;

  // Recounts the items, and corrects the counters of those that differ from their likes, all in one
  // transaction. A counter is corrected by the difference that one snapshot shows: every like and
  // unlike changes both sides alike, so the difference is as true when the counter is locked as
  // when it was seen, whatever was written meanwhile. The version rises. Items that are sound are
  // left out of the answer and are not touched. Repairs exclude each other. If the outcome is
  // unknown, repeat it: what was corrected is sound.
  //
  // Its cost is a pass over the likes of the items' types, whatever the number of items. Requires
  // at least one item, each once.
  virtual Task<absl::StatusOr<std::vector<RepairedCounter>>> Repair(std::vector<Item> items,
                                                                    CallLimits limits) = 0;

  // Up to items_max items that the user likes, of every type that the store holds, configured or
  // not; in no order. Who takes these likes back and asks again comes to the end. Requires
  // items_max >= 1.
  virtual Task<absl::StatusOr<std::vector<Item>>> SomeLikes(UserId user, int items_max,
                                                            CallLimits limits) = 0;

  // Looks at up to scan_max likes of the item's type, those after `after` (absent: from the first),
  // for up to likers_max likers of the item. A like that is there from the first scan to the last
  // is found; one that is made meanwhile may be. Requires both limits >= 1.
  virtual Task<absl::StatusOr<LikerScan>> ScanLikers(Item item, std::optional<LikePosition> after,
                                                     int scan_max, int likers_max,
                                                     CallLimits limits) = 0;
};

// A store with both, whose copies can be compared.
class MaintainedStore : public LikeStore, public LikeMaintenance, public CounterCopies {};

}  // namespace counter

#endif  // COUNTER_STORAGE_LIKE_MAINTENANCE_H_
