#include "storage/sqlite/like_reader.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "storage/likers_index.h"
#include "storage/sqlite/schema.h"

namespace counter::sqlite {
namespace {

// How many likes a scan looks at between two looks at the clock.
constexpr int kLikesBetweenChecks = 4096;

absl::Status CannotRead() {
  return MakeError(ErrorReason::kStoreUnavailable, "the store cannot be read; try again later");
}

// Whether `a` comes before `b` in a list of likes.
struct IsNewer {
  bool operator()(const ListedLike& a, const ListedLike& b) const {
    return std::tie(a.liked_at, a.item.type, a.item.id) >
           std::tie(b.liked_at, b.item.type, b.item.id);
  }
};

// The newest of the likes that are given to it, as many as a page holds and one more, which says
// that there are more.
class NewestLikes {
 public:
  explicit NewestLikes(int likes_max) : kept_max_(static_cast<size_t>(likes_max) + 1) {}

  void Add(const ListedLike& like) {
    if (kept_.size() == kept_max_) {
      if (!IsNewer()(like, kept_.top())) return;
      kept_.pop();
    }
    kept_.push(like);
  }

  LikesPage TakePage() {
    LikesPage page;
    page.more = kept_.size() == kept_max_;
    if (page.more) kept_.pop();
    page.likes.resize(kept_.size());
    for (auto like = page.likes.rbegin(); like != page.likes.rend(); ++like) {
      *like = kept_.top();
      kept_.pop();
    }
    return page;
  }

 private:
  const size_t kept_max_;
  std::priority_queue<ListedLike, std::vector<ListedLike>, IsNewer> kept_;  // The oldest on top.
};

}  // namespace

LikeReader::LikeReader(std::unique_ptr<Database> database, const Clock& clock)
    : database_(std::move(database)),
      clock_(clock),
      select_counter_(*database_,
                      "SELECT count, version FROM counters WHERE item_type = ?1 AND item_id = ?2"),
      select_digest_(*database_,
                     "SELECT count, digest FROM counters WHERE item_type = ?1 AND item_id = ?2"),
      select_row_(
          *database_,
          "SELECT count, version, digest FROM counters WHERE item_type = ?1 AND item_id = ?2"),
      select_pair_(
          *database_,
          "SELECT c.version FROM user_likes u LEFT JOIN counters c USING(item_type, item_id) "
          "WHERE u.item_type = ?1 AND u.user_id = ?2 AND u.item_id = ?3"),
      scan_counters_(*database_,
                     "SELECT item_type, item_id, count, digest FROM counters "
                     "WHERE (item_type, item_id) > (?1, ?2) ORDER BY item_type, item_id LIMIT ?3"),
      scan_likes_(*database_,
                  "SELECT item_type, item_id, user_id FROM user_likes WHERE item_type >= ?1 "
                  "ORDER BY item_type, user_id, item_id"),
      scan_user_likes_(*database_,
                       "SELECT created_at, item_id FROM user_likes "
                       "WHERE item_type = ?1 AND user_id = ?2"),
      find_likers_index_(*database_,
                         "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1"),
      // The index holds the user, the rest of the key, behind its own columns: nothing is sorted.
      scan_likers_(
          *database_,
          "SELECT created_at, user_id FROM user_likes WHERE item_type = ?1 AND item_id = ?2 "
          "AND (created_at, user_id) < (?3, ?4) "
          "ORDER BY created_at DESC, user_id DESC LIMIT ?5"),
      scan_type_(*database_, "SELECT item_id, user_id FROM user_likes WHERE item_type = ?1"),
      next_type_(*database_,
                 "SELECT item_type FROM user_likes WHERE item_type > ?1 "
                 "ORDER BY item_type LIMIT 1"),
      some_likes_(*database_,
                  "SELECT item_id FROM user_likes WHERE item_type = ?1 AND user_id = ?2 LIMIT ?3"),
      next_likes_(*database_,
                  "SELECT user_id, item_id FROM user_likes "
                  "WHERE item_type = ?1 AND (user_id, item_id) > (?2, ?3) "
                  "ORDER BY user_id, item_id LIMIT ?4") {}

DatabaseCode LikeReader::BeginSnapshot() {
  as_of_ = clock_.WallNow();
  const DatabaseCode begun = database_->Execute("BEGIN");
  if (begun != DatabaseCode::kOk) return begun;
  // SQLite takes the snapshot at the first read.
  select_counter_.Bind(int64_t{0}, int64_t{0});
  const DatabaseCode read = select_counter_.Step();
  if (read != DatabaseCode::kOk) EndSnapshot();
  return read;
}

void LikeReader::EndSnapshot() { database_->Execute("COMMIT"); }

absl::StatusOr<CountsRead> LikeReader::Counts(const std::vector<ItemRead>& items) {
  CountsRead read;
  read.as_of = as_of_;
  read.counts.reserve(items.size());
  for (const ItemRead& wanted : items) {
    select_counter_.Bind(int64_t{wanted.item.type.value}, wanted.item.id);
    const DatabaseCode code = select_counter_.Step();
    ItemCount found;
    if (code == DatabaseCode::kRow) {
      found.count = select_counter_.Int(0);
      found.version = select_counter_.Int(1);
      select_counter_.Reset();
    } else if (code != DatabaseCode::kOk) {
      return CannotRead();
    }
    read.counts.push_back(found);
  }
  return read;
}

absl::StatusOr<PairsRead> LikeReader::HasLiked(UserId user, const std::vector<ItemRead>& items) {
  PairsRead read;
  read.as_of = as_of_;
  read.pairs.reserve(items.size());
  for (const ItemRead& wanted : items) {
    select_pair_.Bind(int64_t{wanted.item.type.value}, user.value, wanted.item.id);
    const DatabaseCode code = select_pair_.Step();
    PairState found;
    if (code == DatabaseCode::kRow) {
      found.liked = true;
      found.item_version = select_pair_.Int(0);
      select_pair_.Reset();
    } else if (code != DatabaseCode::kOk) {
      return CannotRead();
    }
    read.pairs.push_back(found);
  }
  return read;
}

absl::StatusOr<LikesPage> LikeReader::ListLikes(const LikesQuery& query, const CallLimits& limits) {
  NewestLikes newest(query.likes_max);
  int rows = 0;
  for (const ItemType type : query.types) {
    scan_user_likes_.Bind(int64_t{type.value}, query.user.value);
    DatabaseCode code = scan_user_likes_.Step();
    for (; code == DatabaseCode::kRow; code = scan_user_likes_.Step()) {
      absl::Status wanted = CheckWanted(++rows, limits);
      if (!wanted.ok()) {
        scan_user_likes_.Reset();
        return wanted;
      }
      const ListedLike like{Item{type, scan_user_likes_.Int(1)}, scan_user_likes_.Int(0)};
      if (!query.after.has_value() || IsNewer()(*query.after, like)) newest.Add(like);
    }
    if (code != DatabaseCode::kOk) return CannotRead();
  }
  return newest.TakePage();
}

std::optional<bool> LikeReader::HasLikersIndex() {
  find_likers_index_.Bind(absl::string_view(kLikersIndex));
  const DatabaseCode found = find_likers_index_.Step();
  if (found == DatabaseCode::kOk) return false;
  if (found != DatabaseCode::kRow) return std::nullopt;
  find_likers_index_.Reset();
  return true;
}

absl::StatusOr<LikersPage> LikeReader::ListLikers(const LikersQuery& query) {
  const std::optional<bool> is_indexed = HasLikersIndex();
  if (!is_indexed.has_value()) return CannotRead();
  if (!*is_indexed) return LikersNotIndexed();

  constexpr int64_t kNewest = std::numeric_limits<int64_t>::max();
  const ListedLiker after = query.after.value_or(ListedLiker{UserId{kNewest}, kNewest});
  scan_likers_.Bind(int64_t{query.item.type.value}, query.item.id, after.liked_at, after.user.value,
                    int64_t{query.likers_max} + 1);
  LikersPage page;
  DatabaseCode code = scan_likers_.Step();
  for (; code == DatabaseCode::kRow; code = scan_likers_.Step()) {
    if (page.likers.size() == static_cast<size_t>(query.likers_max)) {
      page.more = true;
      break;
    }
    page.likers.push_back({UserId{scan_likers_.Int(1)}, scan_likers_.Int(0)});
  }
  scan_likers_.Reset();
  if (code != DatabaseCode::kOk && code != DatabaseCode::kRow) return CannotRead();
  return page;
}

absl::Status LikeReader::CheckWanted(int64_t rows, const CallLimits& limits) const {
  if (rows % kLikesBetweenChecks != 0) return absl::OkStatus();
  if (limits.cancellation.cancelled()) {
    return MakeError(ErrorReason::kCancelled, "the caller gave up while the store was read");
  }
  if (limits.expired(clock_.MonotonicNow())) {
    return MakeError(ErrorReason::kDeadlineExceeded,
                     "the deadline passed while the store was read; try again with a longer one");
  }
  return absl::OkStatus();
}

absl::StatusOr<AuditPage> LikeReader::Audit(const std::optional<Item>& after, int items_max,
                                            const CallLimits& limits) {
  AuditRange range;
  range.after = after.value_or(Item{});
  range.items_max = static_cast<size_t>(items_max);
  if (LoadCounters(range) != DatabaseCode::kOk) return CannotRead();
  absl::Status recounted = RecountLikes(range, limits);
  if (!recounted.ok()) return recounted;

  AuditPage page;
  page.items_checked = static_cast<int64_t>(range.items.size());
  page.findings = FindingsOf(range);
  if (range.more) page.next = std::prev(range.items.end())->first;
  return page;
}

std::vector<AuditFinding> LikeReader::FindingsOf(const AuditRange& range) {
  std::vector<AuditFinding> findings;
  for (const auto& [item, is] : range.items) {
    if (is.stored_count == is.actual_count && is.stored_digest == is.actual_digest) continue;
    findings.push_back(
        {item, is.stored_count, is.stored_digest, is.actual_count, is.actual_digest});
  }
  return findings;
}

absl::StatusOr<std::vector<AuditFinding>> LikeReader::Recount(const std::vector<Item>& items,
                                                              const CallLimits& limits) {
  AuditRange range;
  range.fixed = true;
  // Nothing behind the last item's type is looked at.
  range.more = true;
  for (const Item& item : items) {
    Counted& counted = range.items[item];
    select_digest_.Bind(int64_t{item.type.value}, item.id);
    const DatabaseCode code = select_digest_.Step();
    if (code == DatabaseCode::kRow) {
      counted.stored_count = select_digest_.Int(0);
      counted.stored_digest = select_digest_.Int(1);
      select_digest_.Reset();
    } else if (code != DatabaseCode::kOk) {
      return CannotRead();
    }
  }
  range.after.type = range.items.begin()->first.type;
  absl::Status recounted = RecountLikes(range, limits);
  if (!recounted.ok()) return recounted;
  return FindingsOf(range);
}

absl::StatusOr<RecountedCounter> LikeReader::RecountOne(const Item& item,
                                                        const RecountBounds& bounds,
                                                        const CallLimits& limits) {
  RecountedCounter recount;
  select_row_.Bind(int64_t{item.type.value}, item.id);
  const DatabaseCode row = select_row_.Step();
  if (row == DatabaseCode::kRow) {
    recount.stored = {select_row_.Int(0), select_row_.Int(1), select_row_.Int(2)};
    select_row_.Reset();
  } else if (row != DatabaseCode::kOk) {
    return CannotRead();
  }
  const std::optional<bool> is_indexed = HasLikersIndex();
  if (!is_indexed.has_value()) return CannotRead();
  if (recount.stored.count > bounds.likes_max) return recount;

  constexpr int64_t kNewest = std::numeric_limits<int64_t>::max();
  Statement& scan = *is_indexed ? scan_likers_ : scan_type_;
  if (*is_indexed)
    scan.Bind(int64_t{item.type.value}, item.id, kNewest, kNewest, bounds.likes_max + 1);
  else
    scan.Bind(int64_t{item.type.value});
  int64_t rows = 0;
  DatabaseCode code = scan.Step();
  for (; code == DatabaseCode::kRow; code = scan.Step()) {
    if (!*is_indexed && rows == bounds.scanned_max) break;
    absl::Status wanted = CheckWanted(++rows, limits);
    if (!wanted.ok()) {
      scan.Reset();
      return wanted;
    }
    if (!*is_indexed && scan.Int(0) != item.id) continue;
    ++recount.count;
    recount.digest ^= LikerMix(UserId{scan.Int(1)});
  }
  scan.Reset();
  if (code == DatabaseCode::kRow) return RecountedCounter{recount.stored};
  if (code != DatabaseCode::kOk) return CannotRead();
  recount.recounted = true;
  return recount;
}

DatabaseCode LikeReader::LoadCounters(AuditRange& range) {
  // One more than fits, to know whether there is more.
  scan_counters_.Bind(int64_t{range.after.type.value}, range.after.id,
                      static_cast<int64_t>(range.items_max) + 1);
  DatabaseCode code = scan_counters_.Step();
  for (; code == DatabaseCode::kRow; code = scan_counters_.Step()) {
    const Item item{ItemType{static_cast<int16_t>(scan_counters_.Int(0))}, scan_counters_.Int(1)};
    Counted* const recount = range.Find(item);
    if (recount == nullptr) continue;
    recount->stored_count = scan_counters_.Int(2);
    recount->stored_digest = scan_counters_.Int(3);
  }
  return code;
}

absl::Status LikeReader::RecountLikes(AuditRange& range, const CallLimits& limits) {
  scan_likes_.Bind(int64_t{range.after.type.value});
  int likes = 0;
  DatabaseCode code = scan_likes_.Step();
  for (; code == DatabaseCode::kRow; code = scan_likes_.Step()) {
    absl::Status wanted = CheckWanted(++likes, limits);
    if (!wanted.ok()) {
      scan_likes_.Reset();
      return wanted;
    }
    const Item item{ItemType{static_cast<int16_t>(scan_likes_.Int(0))}, scan_likes_.Int(1)};
    Counted* const recount = range.Find(item);
    if (recount == nullptr) {
      // Likes come by type: when the page ends below this one's, nothing of it can follow.
      if (range.more && std::prev(range.items.end())->first.type < item.type) break;
      continue;
    }
    ++recount->actual_count;
    recount->actual_digest ^= LikerMix(UserId{scan_likes_.Int(2)});
  }
  scan_likes_.Reset();
  return code == DatabaseCode::kOk || code == DatabaseCode::kRow ? absl::OkStatus() : CannotRead();
}

absl::StatusOr<std::vector<Item>> LikeReader::SomeLikes(UserId user, int items_max) {
  std::vector<Item> items;
  const auto items_wanted = static_cast<size_t>(items_max);
  // From each type to the next one by the key: there are few types and many likes.
  int64_t type = 0;
  while (items.size() < items_wanted) {
    next_type_.Bind(type);
    const DatabaseCode found = next_type_.Step();
    if (found == DatabaseCode::kOk) break;
    if (found != DatabaseCode::kRow) return CannotRead();
    type = next_type_.Int(0);
    next_type_.Reset();
    some_likes_.Bind(type, user.value, static_cast<int64_t>(items_wanted - items.size()));
    DatabaseCode code = some_likes_.Step();
    for (; code == DatabaseCode::kRow; code = some_likes_.Step()) {
      items.push_back({ItemType{static_cast<int16_t>(type)}, some_likes_.Int(0)});
    }
    if (code != DatabaseCode::kOk) return CannotRead();
  }
  return items;
}

absl::StatusOr<LikerScan> LikeReader::ScanLikers(const Item& item,
                                                 const std::optional<LikePosition>& after,
                                                 int scan_max, int likers_max) {
  LikePosition at = after.value_or(LikePosition{});
  LikerScan scan;
  next_likes_.Bind(int64_t{item.type.value}, at.user.value, at.item_id, int64_t{scan_max});
  DatabaseCode code = next_likes_.Step();
  for (; code == DatabaseCode::kRow; code = next_likes_.Step()) {
    ++scan.likes_scanned;
    at = {UserId{next_likes_.Int(0)}, next_likes_.Int(1)};
    if (at.item_id == item.id) scan.likers.push_back(at.user);
    if (static_cast<int>(scan.likers.size()) == likers_max) break;
  }
  next_likes_.Reset();
  if (code != DatabaseCode::kOk && code != DatabaseCode::kRow) return CannotRead();
  // Ended by one of the limits: more may follow.
  if (code == DatabaseCode::kRow || scan.likes_scanned == scan_max) scan.next = at;
  return scan;
}

LikeReader::Counted* LikeReader::AuditRange::Find(const Item& item) {
  if (!fixed && item <= after) return nullptr;
  const auto found = items.lower_bound(item);
  if (found != items.end() && found->first == item) return &found->second;
  if (fixed) return nullptr;
  // In a full page there is only room below its end.
  if (found == items.end() && items.size() == items_max) {
    more = true;
    return nullptr;
  }
  const auto added = items.emplace_hint(found, item, Counted{});
  if (items.size() <= items_max) return &added->second;
  items.erase(std::prev(items.end()));
  more = true;
  return &items.find(item)->second;
}

}  // namespace counter::sqlite
