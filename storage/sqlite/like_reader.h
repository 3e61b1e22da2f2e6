// LikeReader: answers the store's reads from one connection.
//
// Use it between BeginSnapshot() and EndSnapshot(): everything in between sees one committed state
// of the file, at least as new as the last commit before BeginSnapshot.
//
// Errors: BeginSnapshot may be kept out by another process's lock for a while and says kBusy; every
// fault of the database after it is kStoreUnavailable.
//
// Threads: one. Ownership: owns its connection.
#ifndef COUNTER_STORAGE_SQLITE_LIKE_READER_H_
#define COUNTER_STORAGE_SQLITE_LIKE_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "storage/counter_copies.h"
#include "storage/like_maintenance.h"
#include "storage/like_store.h"
#include "storage/sqlite/database.h"

namespace counter::sqlite {

class LikeReader {
 public:
  // Requires a database with the schema. `clock` must outlive the reader.
  LikeReader(std::unique_ptr<Database> database, const Clock& clock);

  DatabaseCode BeginSnapshot();
  void EndSnapshot();

  absl::StatusOr<CountsRead> Counts(const std::vector<ItemRead>& items);
  absl::StatusOr<PairsRead> HasLiked(UserId user, const std::vector<ItemRead>& items);
  // Looks at all likes of the user that are of the types; memory grows with likes_max alone.
  absl::StatusOr<LikesPage> ListLikes(const LikesQuery& query, const CallLimits& limits);
  // Reads no more likes than it answers.
  absl::StatusOr<LikersPage> ListLikers(const LikersQuery& query);
  // One pass over the likes of the types that the page touches, whatever items_max is: ask for
  // large pages. Memory grows with items_max alone. Ends early when the limits say so.
  absl::StatusOr<AuditPage> Audit(const std::optional<Item>& after, int items_max,
                                  const CallLimits& limits);
  // Which of the items differ from their likes. One pass over the likes from the first item's type
  // to the last one's.
  absl::StatusOr<std::vector<AuditFinding>> Recount(const std::vector<Item>& items,
                                                    const CallLimits& limits);

  // The item's counter and its likes: by the index of likers, or by a pass over the likes of its
  // type.
  absl::StatusOr<RecountedCounter> RecountOne(const Item& item, const RecountBounds& bounds,
                                              const CallLimits& limits);

  absl::StatusOr<std::vector<Item>> SomeLikes(UserId user, int items_max);
  absl::StatusOr<LikerScan> ScanLikers(const Item& item, const std::optional<LikePosition>& after,
                                       int scan_max, int likers_max);

 private:
  struct Counted {
    int64_t stored_count = 0;
    int64_t stored_digest = 0;
    int64_t actual_count = 0;
    int64_t actual_digest = 0;
  };
  // The page's items, at most items_max: the smallest that were seen.
  struct AuditRange {
    Item after;          // Items up to this one are not in the page.
    bool fixed = false;  // The items are those that are there already.
    size_t items_max = 0;
    absl::btree_map<Item, Counted> items;
    bool more = false;  // Items above the page exist.

    // The item's place in the page, or null if it is not of the page.
    Counted* Find(const Item& item);
  };
  // Whether a scan has gone on for long enough to look, and nobody wants its end any more.
  absl::Status CheckWanted(int64_t rows, const CallLimits& limits) const;
  DatabaseCode LoadCounters(AuditRange& range);
  // Whether the optional index is there; absent if that cannot be read.
  std::optional<bool> HasLikersIndex();
  absl::Status RecountLikes(AuditRange& range, const CallLimits& limits);
  static std::vector<AuditFinding> FindingsOf(const AuditRange& range);

  const std::unique_ptr<Database> database_;
  const Clock& clock_;
  absl::Time as_of_;
  Statement select_counter_;
  Statement select_digest_;
  Statement select_row_;
  Statement select_pair_;
  Statement scan_counters_;
  Statement scan_likes_;
  Statement scan_user_likes_;
  Statement find_likers_index_;
  Statement scan_likers_;
  Statement scan_type_;
  Statement next_type_;
  Statement some_likes_;
  Statement next_likes_;
};

}  // namespace counter::sqlite

#endif  // COUNTER_STORAGE_SQLITE_LIKE_READER_H_
