// LikeStore: THE TRUTH. Holds who likes what, and for each item an exact count.
//
// Use it through this interface only; `storage/sqlite` and `storage/postgres` implement it, and one
// contract suite (tests/contract) holds every implementation to what is written here. It is not a
// cache and does not know one.
//
// What every implementation promises:
// - A result of Apply is given after the transaction that it describes was committed and flushed.
// - In every transaction, the stored count of an item equals its number of likes, is >= 0, and its
//   digest equals the XOR of LikerMix over its likers.
// - version orders all changes of one item: it rises with every change, stays with every repeat,
// and
//   never restarts. It is at least the wall clock in microseconds when the item changes, so that it
//   also never restarts when an item's row was lost with a whole store. 0: the item was never
//   changed.
// - changed is true for at most one mutation for each transition of a pair.
// - count and version of a result are read under the item's lock in the mutation's own transaction,
//   for repeats too; so a repeat that waits for the first like sees a count that includes it.
// - Mutations of one Apply on one pair take effect in their order. Different items may be applied
// in
//   different transactions, in any order, whether or not they came in one Apply.
// - A mutation that fails does not change what happens to the others.
//
// Limits: every call carries CallLimits. A call that has expired or was cancelled before its
// statement is sent costs no statement and ends with kDeadlineExceeded or kCancelled, marked as not
// applied; a write that was sent ends with what became of it, as soon as that is known.
//
// Errors (base/error.h): kStoreUnavailable, kOverloaded (the store's queue is full; not applied),
// kDeadlineExceeded, kCancelled, kShuttingDown (after Stop; not applied), kInternal, and
// kLikersNotIndexed of ListLikers. An error of a write that is not marked as not applied means:
// applied zero or one time.
//
// Threads: every method may be called from any thread. The tasks go on on a thread of the store;
// they must not block it. Ownership: the store must outlive every task it gave out; Stop() ends
// them.
#ifndef COUNTER_STORAGE_LIKE_STORE_H_
#define COUNTER_STORAGE_LIKE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "storage/like.h"

namespace counter {

// How fresh a read must be. A read of an item at_least a version is one with min_version > 0.
enum class Consistency : uint8_t {
  kCached,  // The store may read where it likes: a replica within its lag bound, or the primary.
  kStrong,  // The primary: sees every write whose result was given before the read was called.
};

// Where a store read.
enum class ReadSource : uint8_t { kReplica, kPrimary };

// What became of one mutation.
struct Applied {
  bool changed = false;  // This mutation made the transition.
  int64_t count = 0;     // Likes of the item after it.
  int64_t version = 0;   // The item's version after it.

  friend bool operator==(const Applied&, const Applied&) = default;
};

// One item to read: the answer must not be older than min_version (0: any), unless it comes from
// the primary, whose answer is final.
struct ItemRead {
  Item item;
  int64_t min_version = 0;
};

struct ItemCount {
  int64_t count = 0;
  int64_t version = 0;
  ReadSource source = ReadSource::kPrimary;
};

struct CountsRead {
  std::vector<ItemCount>
      counts;        // counts[i] is of items[i]; an unknown item is count 0, version 0.
  absl::Time as_of;  // Not later than the instant of the snapshot that was read.
};

// Whether a user likes an item.
struct PairState {
  bool liked = false;
  // If liked: the item's version in the same snapshot, so that the fact can be put in order with
  // writes. 0 otherwise: a store need not look it up.
  int64_t item_version = 0;
};

struct PairsRead {
  std::vector<PairState> pairs;  // pairs[i] is of items[i].
  ReadSource source = ReadSource::kPrimary;
  absl::Time as_of;  // Not later than the instant of the snapshot that was read.
};

// One like of a user's list. liked_at is the time of the transaction that made the like, in whole
// seconds since 1970.
struct ListedLike {
  Item item;
  int64_t liked_at = 0;

  friend bool operator==(const ListedLike&, const ListedLike&) = default;
};

// A page of the likes of a user, newest first: by liked_at, then item type, then item id, all
// falling. A position is the last like of the page before, whether or not it is still there.
struct LikesQuery {
  UserId user;
  std::vector<ItemType> types;      // Only likes of these.
  std::optional<ListedLike> after;  // Only what comes after it. Absent: from the newest.
  int likes_max = 1;
};

struct LikesPage {
  std::vector<ListedLike> likes;
  bool more = false;  // Others come after these.
};

// One like of an item's list.
struct ListedLiker {
  UserId user;
  int64_t liked_at = 0;

  friend bool operator==(const ListedLiker&, const ListedLiker&) = default;
};

// A page of the likers of an item, newest first: by liked_at, then user, both falling.
struct LikersQuery {
  Item item;
  std::optional<ListedLiker> after;
  int likers_max = 1;
};

struct LikersPage {
  std::vector<ListedLiker> likers;
  bool more = false;
};

// One item whose stored count or digest differs from what its likes add up to.
struct AuditFinding {
  Item item;
  int64_t stored_count = 0;
  int64_t stored_digest = 0;
  int64_t actual_count = 0;
  int64_t actual_digest = 0;

  friend bool operator==(const AuditFinding&, const AuditFinding&) = default;
};

struct AuditPage {
  int64_t items_checked = 0;
  std::vector<AuditFinding> findings;
  // Where to go on: pass it as `after` of the next call. Absent when the last item was checked.
  std::optional<Item> next;
};

// The store went on from a copy of itself: a standby took over, or a backup was restored. What it
// had acknowledged just before may be lost, and with it what others remember of it.
struct Failover {
  absl::Time seen;  // When the copy was first met in its place.
  // Everything that was acknowledged before this is kept. The distant past if that is not known.
  absl::Time kept_until = absl::InfinitePast();
};

class LikeStore {
 public:
  virtual ~LikeStore() = default;

  // Applies the mutations; result i is of mutations[i]. Requires valid ids; any number of
  // mutations.
  virtual Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation> mutations,
                                                           CallLimits limits) = 0;

  // The counts of the items, which may repeat. All of kStrong comes from one snapshot per owner of
  // buckets.
  virtual Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead> items,
                                                  Consistency consistency, CallLimits limits) = 0;

  // Which of the items, which may repeat, the user likes.
  virtual Task<absl::StatusOr<PairsRead>> HasLiked(UserId user, std::vector<ItemRead> items,
                                                   Consistency consistency, CallLimits limits) = 0;

  // A page of the user's likes, from one snapshot of the primary. Its cost rises with the number of
  // likes that the user has, not with how many are asked for. Requires likes_max >= 1.
  virtual Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery query, CallLimits limits) = 0;

  // A page of the item's likers, likewise, at a cost that does not depend on how many it has.
  // kLikersNotIndexed where the optional index of the item's type is not there. Requires
  // likers_max >= 1.
  virtual Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery query, CallLimits limits) = 0;

  // Recounts up to items_max items that come after `after` in key order (absent: from the start),
  // each in one snapshot with its stored counter. Sees counters without likes and likes without
  // counters. Requires items_max >= 1.
  virtual Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item> after, int items_max,
                                                CallLimits limits) = 0;

  // Which history the versions of this store belong to: 1 to 64 characters of [A-Za-z0-9]. Versions
  // of different timelines cannot be compared. Changes only when a store is made anew or fails
  // over.
  virtual std::string Timeline() const = 0;

  // The last one, if there was any that this store knows of. Another server, and a later run, knows
  // the same.
  virtual std::optional<Failover> LastFailover() const { return std::nullopt; }

  // OK while the store can take writes and strong reads; else why not, in words for an operator.
  // Cheap; answered from what the store last saw.
  virtual absl::Status Health() const = 0;

  // Refuses what comes from now on (kShuttingDown), finishes what was taken, and returns when every
  // task has been completed. Call it once, not from a thread of the store.
  virtual void Stop() = 0;
};

}  // namespace counter

#endif  // COUNTER_STORAGE_LIKE_STORE_H_
