// AdminService: WHAT the operator of the counter has done to it: audits and repairs, users and
// items that are erased, imports.
//
// It knows no gRPC: requests come as plain values, as unchecked as they came over the wire; errors
// go out as absl::Status of base/error.h. Each call does a part of the work and says where to go
// on.
//
// One call at a time is worked on, and so much work a second: what comes meanwhile, or too soon, is
// kOverloaded or kRateLimited with a hint when to come again. The caches are told of what a repair
// changes before its answer is given, as of every like.
//
// Threads: any. A task goes on on a thread of the store or of a cache once it has waited for one.
// Ownership: borrows everything; must outlive its tasks.
#ifndef COUNTER_SERVER_ADMIN_ADMIN_SERVICE_H_
#define COUNTER_SERVER_ADMIN_ADMIN_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/count_cache.h"
#include "server/admin/pacer.h"
#include "server/check/copy_checker.h"
#include "server/counter_service.h"
#include "server/item_types.h"
#include "server/request_check.h"
#include "storage/like_maintenance.h"
#include "storage/like_store.h"

namespace counter {

// Which part of all items an audit or a repair is for.
struct AuditPart {
  int items_max = 0;  // kAuditItemsDefault for 0.
  std::string page_token;
};

struct AuditAnswer {
  int64_t items_checked = 0;
  std::vector<AuditFinding> findings;  // The first kFindingsMax.
  int64_t findings_total = 0;
  std::string next_page_token;  // Empty when the last item was recounted.
};

struct RepairAnswer {
  int64_t items_checked = 0;
  std::vector<RepairedCounter> repaired;  // kFindingsMax at most.
  std::string next_page_token;
};

struct Erasure {
  int64_t user_id = 0;
  int likes_max = 0;  // kLikesMax for 0.
};

struct ErasureAnswer {
  int64_t likes_removed = 0;
  bool done = false;  // The user had no other like when these were looked for.
};

struct Deletion {
  ItemRef item;
  int likes_max = 0;  // kLikesMax for 0.
  std::string page_token;
};

struct DeletionAnswer {
  int64_t likes_removed = 0;
  int64_t count = 0;            // Of the item now.
  std::string next_page_token;  // Empty when all is done.
};

// Items whose copies are to be compared, as a caller says it.
struct CopyCheck {
  std::vector<ItemRef> items;  // None: those that were sampled last.
};

struct CopyCheckAnswer {
  std::vector<CheckedItem> items;
};

class AdminService {
 public:
  static constexpr int kAuditItemsMax = 1'000'000;
  static constexpr int kAuditItemsDefault = 100'000;
  static constexpr size_t kFindingsMax = 1000;
  static constexpr int kLikesMax = static_cast<int>(kBatchItemsMax);  // Of one call.
  // Likes that a deletion looks at in one call, where no index names those of the item; and how
  // many of them weigh as much as one that is written.
  static constexpr int kScanMax = 100'000;
  static constexpr int kScannedAWrite = 100;
  // Items of a check; and how many items of an audit one weighs as much as: it may be recounted by
  // a look at many likes.
  static constexpr size_t kCheckedItemsMax = 100;
  static constexpr int kCheckedAnAudit = 100;
  static constexpr size_t kSampledItemsMax = 20;

  // Everything the service works with; borrowed.
  struct Parts {
    LikeStore& store;
    LikeMaintenance& maintenance;  // Of the same store.
    CountCache& count_cache;
    CounterService& service;
    CopyChecker& checker;
    const Clock& clock;
  };
  struct Options {
    int audited_items_per_second = 100'000;
    int likes_per_second = 5'000;
  };
  // Rising.
  struct Stats {
    int64_t items_audited = 0;
    int64_t items_diverging = 0;  // Found by audits and repairs; again by each.
    int64_t counters_repaired = 0;
    int64_t likes_written = 0;  // Likes and unlikes of erasures, deletions and imports.
  };

  AdminService(ItemTypes item_types, Parts parts, Options options);
  AdminService(const AdminService&) = delete;
  AdminService& operator=(const AdminService&) = delete;

  // Errors: kInvalidRequest, kOverloaded, kRateLimited, and those of LikeStore.
  Task<absl::StatusOr<AuditAnswer>> Audit(AuditPart part, CallLimits limits);
  Task<absl::StatusOr<RepairAnswer>> Repair(AuditPart part, CallLimits limits);

  // What each layer says of the items, each once, in order. Errors likewise.
  Task<absl::StatusOr<CopyCheckAnswer>> CheckCopies(CopyCheck check, CallLimits limits);
  // What the background has found since the start.
  const CopyChecker& checker() const { return parts_.checker; }

  // Errors likewise. After one a part may be done; repeating is safe.
  Task<absl::StatusOr<ErasureAnswer>> EraseUser(Erasure erasure, CallLimits limits);
  Task<absl::StatusOr<DeletionAnswer>> DeleteItem(Deletion deletion, CallLimits limits);
  // Answer i is of mutations[i], each with an outcome of its own.
  Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> Import(
      std::vector<MutationRef> mutations, CallLimits limits);

  Stats stats() const;

 private:
  // The turn of one call, from when it was let in to its end.
  class Turn;
  struct CheckedPart {
    std::optional<Item> after;
    int items_max = 0;
  };

  // Why a call may not begin now; OK: it has begun, and a Turn must end it.
  absl::Status Begin(const Pacer& pacer);
  static absl::StatusOr<CheckedPart> Check(const AuditPart& part);
  Task<absl::StatusOr<AuditPage>> AuditSome(const CheckedPart& part, const CallLimits& limits);
  // Some of the likers of an item, as a deletion goes on with them.
  struct LikersPart {
    std::vector<UserId> likers;
    std::optional<LikePosition> next;
  };
  Task<absl::StatusOr<LikersPart>> FindLikers(const Item& item, std::optional<LikePosition> after,
                                              int likes_max, const CallLimits& limits);
  // Takes the likes back; how many there were. An error if one could not be.
  Task<absl::StatusOr<int64_t>> Unlike(std::vector<Mutation> unlikes, const CallLimits& limits);
  Task<> TellCaches(const std::vector<RepairedCounter>& repaired, absl::Time as_of);

  const ItemTypes item_types_;
  const Parts parts_;
  Pacer audits_;
  Pacer writes_;
  std::atomic<bool> busy_ = false;
  std::atomic<int64_t> items_audited_ = 0;
  std::atomic<int64_t> items_diverging_ = 0;
  std::atomic<int64_t> counters_repaired_ = 0;
  std::atomic<int64_t> likes_written_ = 0;
};

}  // namespace counter

#endif  // COUNTER_SERVER_ADMIN_ADMIN_SERVICE_H_
