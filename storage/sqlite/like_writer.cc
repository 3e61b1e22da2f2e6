#include "storage/sqlite/like_writer.h"

#include <algorithm>
#include <utility>

namespace counter::sqlite {

LikeWriter::LikeWriter(std::unique_ptr<Database> database)
    : database_(std::move(database)),
      insert_like_(*database_,
                   "INSERT INTO user_likes(item_type, user_id, item_id, created_at) "
                   "VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING"),
      delete_like_(*database_,
                   "DELETE FROM user_likes WHERE item_type = ?1 AND user_id = ?2 AND item_id = ?3"),
      select_counter_(
          *database_,
          "SELECT count, version, digest FROM counters WHERE item_type = ?1 AND item_id = ?2"),
      insert_counter_(*database_,
                      "INSERT INTO counters(item_type, item_id, count, version, digest) "
                      "VALUES(?1, ?2, ?3, ?4, ?5)"),
      update_counter_(*database_,
                      "UPDATE counters SET count = ?3, version = ?4, digest = ?5 "
                      "WHERE item_type = ?1 AND item_id = ?2"),
      probe_(*database_, "UPDATE meta SET value = value + 1 WHERE name = 'probe'") {}

bool LikeWriter::Rollback() {
  // SQLite has already rolled back after some errors.
  if (!database_->in_transaction()) return true;
  return database_->Execute("ROLLBACK") == DatabaseCode::kOk;
}

DatabaseCode LikeWriter::Apply(const WriteUnit& unit, absl::Time now,
                               std::vector<Applied>& outcomes) {
  const int64_t sign = unit.action == Action::kLike ? 1 : -1;
  changes_.assign(unit.counters.size(), {});
  outcomes.assign(unit.rows.size(), {});
  for (size_t i = 0; i < unit.rows.size(); ++i) {
    const UnitRow& row = unit.rows[i];
    const int64_t type = row.item.type.value;
    const DatabaseCode code =
        unit.action == Action::kLike
            ? insert_like_.Run(type, row.user.value, row.item.id, absl::ToUnixSeconds(now))
            : delete_like_.Run(type, row.user.value, row.item.id);
    if (code != DatabaseCode::kOk) return code;
    if (database_->changed_rows() == 0) continue;
    outcomes[i].changed = true;
    CounterChange& change = changes_[static_cast<size_t>(row.counter)];
    change.count_delta += sign;
    change.digest_mix ^= LikerMix(row.user);
  }
  const int64_t now_micros = absl::ToUnixMicros(now);
  for (size_t i = 0; i < unit.counters.size(); ++i) {
    const DatabaseCode code = ApplyCounter(unit.counters[i], now_micros, changes_[i]);
    if (code != DatabaseCode::kOk) return code;
  }
  for (size_t i = 0; i < unit.rows.size(); ++i) {
    const CounterChange& change = changes_[static_cast<size_t>(unit.rows[i].counter)];
    outcomes[i].count = change.count;
    outcomes[i].version = change.version;
  }
  return DatabaseCode::kOk;
}

// The count is not clamped: a stored count that would fall below zero has drifted from its likes,
// and the schema refuses it.
DatabaseCode LikeWriter::ApplyCounter(const Item& item, int64_t now_micros, CounterChange& change) {
  const int64_t type = item.type.value;
  select_counter_.Bind(type, item.id);
  const DatabaseCode found = select_counter_.Step();
  if (found != DatabaseCode::kRow && found != DatabaseCode::kOk) return found;
  int64_t digest = 0;
  if (found == DatabaseCode::kRow) {
    change.count = select_counter_.Int(0);
    change.version = select_counter_.Int(1);
    digest = select_counter_.Int(2);
    select_counter_.Reset();
  }
  // Repeats alone: the version stays.
  if (change.count_delta == 0 && change.digest_mix == 0) return DatabaseCode::kOk;
  change.count += change.count_delta;
  change.version = std::max(change.version + 1, now_micros);
  digest ^= change.digest_mix;
  Statement& store = found == DatabaseCode::kRow ? update_counter_ : insert_counter_;
  return store.Run(type, item.id, change.count, change.version, digest);
}

DatabaseCode LikeWriter::Repair(const std::vector<AuditFinding>& findings, absl::Time now,
                                std::vector<RepairedCounter>& repaired) {
  for (const AuditFinding& found : findings) {
    CounterChange change;
    change.count_delta = found.actual_count - found.stored_count;
    change.digest_mix = found.actual_digest ^ found.stored_digest;
    const DatabaseCode code = ApplyCounter(found.item, absl::ToUnixMicros(now), change);
    if (code != DatabaseCode::kOk) return code;
    repaired.push_back({found, change.count, change.version});
  }
  return DatabaseCode::kOk;
}

DatabaseCode LikeWriter::Probe() {
  const DatabaseCode begun = Begin();
  if (begun != DatabaseCode::kOk) return begun;
  const DatabaseCode changed = probe_.Run();
  const DatabaseCode code = changed == DatabaseCode::kOk ? Commit() : changed;
  if (code != DatabaseCode::kOk) Rollback();
  return code;
}

}  // namespace counter::sqlite
