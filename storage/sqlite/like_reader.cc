#include "storage/sqlite/like_reader.h"

#include <iterator>
#include <utility>

#include "base/error.h"

namespace counter::sqlite {
namespace {

// How many likes an audit looks at between two looks at the clock.
constexpr int kLikesBetweenChecks = 4096;

absl::Status CannotRead() {
  return MakeError(ErrorReason::kStoreUnavailable, "the store cannot be read; try again later");
}

}  // namespace

LikeReader::LikeReader(std::unique_ptr<Database> database, const Clock& clock)
    : database_(std::move(database)),
      clock_(clock),
      select_counter_(*database_,
                      "SELECT count, version FROM counters WHERE item_type = ?1 AND item_id = ?2"),
      select_pair_(
          *database_,
          "SELECT c.version FROM user_likes u LEFT JOIN counters c USING(item_type, item_id) "
          "WHERE u.item_type = ?1 AND u.user_id = ?2 AND u.item_id = ?3"),
      scan_counters_(*database_,
                     "SELECT item_type, item_id, count, digest FROM counters "
                     "WHERE (item_type, item_id) > (?1, ?2) ORDER BY item_type, item_id LIMIT ?3"),
      scan_likes_(*database_,
                  "SELECT item_type, item_id, user_id FROM user_likes WHERE item_type >= ?1 "
                  "ORDER BY item_type, user_id, item_id") {}

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
  for (const auto& [item, is] : range.items) {
    if (is.stored_count == is.actual_count && is.stored_digest == is.actual_digest) continue;
    page.findings.push_back(
        {item, is.stored_count, is.stored_digest, is.actual_count, is.actual_digest});
  }
  if (range.more) page.next = std::prev(range.items.end())->first;
  return page;
}

DatabaseCode LikeReader::LoadCounters(AuditRange& range) {
  // One more than fits, to know whether there is more.
  scan_counters_.Bind(int64_t{range.after.type.value}, range.after.id,
                      static_cast<int64_t>(range.items_max) + 1);
  DatabaseCode code = scan_counters_.Step();
  for (; code == DatabaseCode::kRow; code = scan_counters_.Step()) {
    const Item item{ItemType{static_cast<int16_t>(scan_counters_.Int(0))}, scan_counters_.Int(1)};
    Recount* const recount = range.Find(item);
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
    if (++likes % kLikesBetweenChecks == 0 &&
        (limits.cancellation.cancelled() || limits.expired(clock_.MonotonicNow()))) {
      scan_likes_.Reset();
      return limits.cancellation.cancelled()
                 ? MakeError(ErrorReason::kCancelled, "the caller gave up during the audit")
                 : MakeError(ErrorReason::kDeadlineExceeded,
                             "the deadline passed during the audit; try again with a longer one");
    }
    const Item item{ItemType{static_cast<int16_t>(scan_likes_.Int(0))}, scan_likes_.Int(1)};
    Recount* const recount = range.Find(item);
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

LikeReader::Recount* LikeReader::AuditRange::Find(const Item& item) {
  if (item <= after) return nullptr;
  const auto found = items.lower_bound(item);
  if (found != items.end() && found->first == item) return &found->second;
  // In a full page there is only room below its end.
  if (found == items.end() && items.size() == items_max) {
    more = true;
    return nullptr;
  }
  const auto added = items.emplace_hint(found, item, Recount{});
  if (items.size() <= items_max) return &added->second;
  items.erase(std::prev(items.end()));
  more = true;
  return &items.find(item)->second;
}

}  // namespace counter::sqlite
