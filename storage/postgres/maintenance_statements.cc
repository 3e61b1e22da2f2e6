#include "storage/postgres/maintenance_statements.h"

#include <algorithm>

#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

// These are seldom and may read a whole partition: planned each time for what is asked, with the
// index of likers where there is one.
const Statement kSetForMaintenance = {"counter_set_for_maintenance",
                                      R"sql(
SELECT set_config('plan_cache_mode', 'force_custom_plan', true),
  set_config('enable_seqscan', $1::text, true),
  set_config('jit', 'off', true),
  set_config('statement_timeout', $2::int4::text, true),
  set_config('lock_timeout', $3::int4::text, true)
)sql",
                                      {TypeId::kText, TypeId::kInt4, TypeId::kInt4},
                                      false};

// Two repairs must not see the same difference: both would put it right. The statement behind this
// one has a snapshot of its own, from when the lock was taken, so it sees what the repair before
// did.
const Statement kExcludeRepairs = {"counter_exclude_repairs",
                                   R"sql(
SELECT pg_advisory_xact_lock(hashtextextended('counter.repair', 0)) IS NULL
)sql",
                                   {},
                                   false};

// The difference is taken from one snapshot and added to the newest row. That is right whatever was
// committed in between: it changed likes and counter alike. As everywhere, existing counters are
// locked in key order before they are changed; those that are missing come after them.
const Statement kRepair = {"counter_repair",
                           R"sql(
WITH req AS MATERIALIZED (
  SELECT t, i FROM unnest($1::int2[], $2::int8[]) AS x(t, i)),
actual AS MATERIALIZED (
  SELECT l.item_type, l.item_id, count(*) AS count, bit_xor(counter_liker_mix(l.user_id)) AS digest
  FROM user_likes l JOIN req ON l.item_type = req.t AND l.item_id = req.i
  GROUP BY 1, 2),
drift AS MATERIALIZED (
  SELECT req.t, req.i, c.item_id IS NOT NULL AS stored,
    coalesce(c.count, 0) AS stored_count, coalesce(c.digest, 0) AS stored_digest,
    coalesce(a.count, 0) AS actual_count, coalesce(a.digest, 0) AS actual_digest
  FROM req
  LEFT JOIN counters c ON c.item_type = req.t AND c.item_id = req.i
  LEFT JOIN actual a ON a.item_type = req.t AND a.item_id = req.i
  WHERE coalesce(c.count, 0) <> coalesce(a.count, 0)
    OR coalesce(c.digest, 0) <> coalesce(a.digest, 0)),
locked AS MATERIALIZED (
  SELECT c.item_type, c.item_id, d.actual_count - d.stored_count AS k,
    d.actual_digest # d.stored_digest AS x
  FROM drift d JOIN counters c ON c.item_type = d.t AND c.item_id = d.i
  ORDER BY c.item_type, c.item_id FOR UPDATE OF c),
mended AS (
  UPDATE counters c SET
    count = c.count + l.k,
    digest = c.digest # l.x,
    version = greatest(c.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)
  FROM locked l
  WHERE c.item_type = l.item_type AND c.item_id = l.item_id
  RETURNING c.item_type, c.item_id, c.count, c.version),
made AS (
  INSERT INTO counters AS c (item_type, item_id, count, version, digest)
  SELECT t, i, actual_count, (extract(epoch FROM clock_timestamp()) * 1000000)::int8, actual_digest
  FROM drift WHERE NOT stored ORDER BY t, i
  ON CONFLICT (item_type, item_id) DO UPDATE SET
    count = c.count + excluded.count,
    digest = c.digest # excluded.digest,
    version = greatest(c.version + 1, excluded.version)
  RETURNING item_type, item_id, count, version),
done AS MATERIALIZED (
  SELECT item_type, item_id, count, version FROM mended
  UNION ALL SELECT item_type, item_id, count, version FROM made),
noted AS (
  INSERT INTO cache_outbox (lane, types, ids)
  SELECT $3::int2, array_agg(item_type), array_agg(item_id) FROM done HAVING count(*) > 0
  RETURNING id)
SELECT d.t, d.i, d.stored_count, d.stored_digest, d.actual_count, d.actual_digest,
  done.count, done.version, (SELECT id FROM noted)
FROM drift d JOIN done ON done.item_type = d.t AND done.item_id = d.i
ORDER BY d.t, d.i
)sql",
                           {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt2},
                           false};

const Statement kSomeLikes = {"counter_some_likes",
                              R"sql(
SELECT item_type, item_id FROM user_likes WHERE user_id = $1::int8 LIMIT $2::int4
)sql",
                              {TypeId::kInt8, TypeId::kInt4},
                              false};

// The likes of the item among the next ones of its type, and the last one that was looked at.
const Statement kScanLikers = {
    "counter_scan_likers",
    R"sql(
WITH chunk AS MATERIALIZED (
  SELECT user_id, item_id, row_number() OVER (ORDER BY user_id, item_id) AS n FROM (
    SELECT user_id, item_id FROM user_likes
    WHERE item_type = $1::int2 AND (user_id, item_id) > ($2::int8, $3::int8)
    ORDER BY user_id, item_id LIMIT $4::int4) AS likes)
SELECT user_id, item_id, n FROM chunk
WHERE item_id = $5::int8 OR n = (SELECT max(n) FROM chunk)
ORDER BY n
)sql",
    {TypeId::kInt2, TypeId::kInt8, TypeId::kInt8, TypeId::kInt4, TypeId::kInt8},
    false};

StatementCall SetForMaintenance(const char* seqscan, const MaintenanceTimeouts& timeouts) {
  const auto milliseconds = [](absl::Duration duration) {
    return EncodeInt4(static_cast<int32_t>(absl::ToInt64Milliseconds(duration)));
  };
  return {&kSetForMaintenance,
          {seqscan, milliseconds(timeouts.statement), milliseconds(timeouts.lock)}};
}

}  // namespace

std::vector<StatementCall> RepairItems(const std::vector<Item>& items, int16_t lane,
                                       const MaintenanceTimeouts& timeouts) {
  std::vector<int16_t> types;
  std::vector<int64_t> ids;
  for (const Item& item : items) {
    types.push_back(item.type.value);
    ids.push_back(item.id);
  }
  return {SetForMaintenance("on", timeouts),
          {&kExcludeRepairs, {}},
          {&kRepair, {EncodeInt2Array(types), EncodeInt8Array(ids), EncodeInt2(lane)}}};
}

absl::StatusOr<RepairApplied> DecodeRepair(const Table& table) {
  RepairApplied applied;
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    RepairedCounter& counter = applied.counters.emplace_back();
    counter.found.item.type.value = static_cast<int16_t>(row.Int());
    counter.found.item.id = row.Int();
    counter.found.stored_count = row.Int();
    counter.found.stored_digest = row.Int();
    counter.found.actual_count = row.Int();
    counter.found.actual_digest = row.Int();
    counter.count = row.Int();
    counter.version = row.Int();
    applied.outbox_id = row.Int();
    if (!row.good()) return Misshapen();
  }
  return applied;
}

std::vector<StatementCall> FindSomeLikes(UserId user, int items_max,
                                         const MaintenanceTimeouts& timeouts) {
  return {SetForMaintenance("off", timeouts),
          {&kSomeLikes, {EncodeInt8(user.value), EncodeInt4(items_max)}}};
}

absl::StatusOr<std::vector<Item>> DecodeSomeLikes(const Table& table) {
  std::vector<Item> items(static_cast<size_t>(table.rows()));
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    Item& item = items[static_cast<size_t>(i)];
    item.type.value = static_cast<int16_t>(row.Int());
    item.id = row.Int();
    if (!row.good()) return Misshapen();
  }
  return items;
}

std::vector<StatementCall> ScanForLikers(const Item& item, const std::optional<LikePosition>& after,
                                         int scan_max, const MaintenanceTimeouts& timeouts) {
  const LikePosition from = after.value_or(LikePosition{});
  return {SetForMaintenance("off", timeouts),
          {&kScanLikers,
           {EncodeInt2(item.type.value), EncodeInt8(from.user.value), EncodeInt8(from.item_id),
            EncodeInt4(scan_max), EncodeInt8(item.id)}}};
}

absl::StatusOr<LikerScan> DecodeLikerScan(const Table& table, const Item& item, int scan_max,
                                          int likers_max) {
  LikerScan scan;
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    LikePosition at;
    at.user.value = row.Int();
    at.item_id = row.Int();
    scan.likes_scanned = row.Int();
    if (!row.good()) return Misshapen();
    if (at.item_id == item.id) scan.likers.push_back(at.user);
    const bool is_full = static_cast<int>(scan.likers.size()) == likers_max;
    const bool is_last = i + 1 == table.rows();
    // A full chunk may be followed by another one, a shorter one is the last.
    if ((is_last && scan.likes_scanned == scan_max) || (is_full && !is_last)) scan.next = at;
    if (is_full) break;
  }
  return scan;
}

}  // namespace counter::postgres
