#include "storage/postgres/copy_statements.h"

#include <algorithm>
#include <cstdint>

#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

// What a like takes in its partition, without the index: so many of them are known by the size of
// the table, which is there at once and never older than the last write.
constexpr int64_t kBytesALike = 56;

// Planned each time: whether there is an index of likers may change.
const Statement kSetForCopies = {"counter_set_for_copies",
                                 R"sql(
SELECT set_config('plan_cache_mode', 'force_custom_plan', true),
  set_config('enable_seqscan', 'on', true),
  set_config('max_parallel_workers_per_gather', '0', true),
  set_config('jit', 'off', true),
  set_config('statement_timeout', $1::int4::text, true)
)sql",
                                 {TypeId::kInt4},
                                 false};

const Statement kRows = {"counter_rows",
                         R"sql(
SELECT x.n, c.count, c.version, c.digest
FROM unnest($1::int2[], $2::int8[]) WITH ORDINALITY AS x(t, i, n)
JOIN counters c ON c.item_type = x.t AND c.item_id = x.i
)sql",
                         {TypeId::kInt2Array, TypeId::kInt8Array},
                         false};

// One row of the counter, and whether the likes were looked at; then one for each like. What they
// may cost is decided first, in the same snapshot: the likes are read or not at all.
const Statement kRecountItem = {"counter_recount_item",
                                R"sql(
WITH stored AS MATERIALIZED (
  SELECT coalesce(max(count), 0) AS count, coalesce(max(version), 0) AS version,
    coalesce(max(digest), 0) AS digest
  FROM counters WHERE item_type = $1::int2 AND item_id = $2::int8),
decided AS MATERIALIZED (
  SELECT (SELECT count FROM stored) <= $3::int8
    AND (coalesce(pg_relation_size(to_regclass('user_likes_' || $1::int2)), 0) <= $4::int8
      OR EXISTS (SELECT FROM pg_index
        WHERE indexrelid = to_regclass('user_likes_' || $1::int2 || '_likers') AND indisvalid))
    AS recounts)
SELECT true, count, version, digest, (SELECT recounts FROM decided) FROM stored
UNION ALL
(SELECT false, user_id, 0, 0, true FROM user_likes
 WHERE (SELECT recounts FROM decided) AND item_type = $1::int2 AND item_id = $2::int8
 LIMIT $3::int8 + 1)
)sql",
                                {TypeId::kInt2, TypeId::kInt8, TypeId::kInt8, TypeId::kInt8},
                                false};

}  // namespace

StatementCall SetForCopies(absl::Duration statement_timeout) {
  const int64_t milliseconds = std::max<int64_t>(absl::ToInt64Milliseconds(statement_timeout), 1);
  return {&kSetForCopies, {EncodeInt4(static_cast<int32_t>(milliseconds))}};
}

StatementCall ReadRows(const std::vector<Item>& items) {
  std::vector<int16_t> types;
  std::vector<int64_t> ids;
  for (const Item& item : items) {
    types.push_back(item.type.value);
    ids.push_back(item.id);
  }
  return {&kRows, {EncodeInt2Array(types), EncodeInt8Array(ids)}};
}

absl::StatusOr<std::vector<CounterRow>> DecodeRows(const Table& table, int items) {
  std::vector<CounterRow> rows(static_cast<size_t>(items));
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    CounterRow& counter = rows[static_cast<size_t>(row.Place(items))];
    counter.count = row.Int();
    counter.version = row.Int();
    counter.digest = row.Int();
    if (!row.good()) return Misshapen();
  }
  return rows;
}

StatementCall RecountItem(const Item& item, const RecountBounds& bounds) {
  const int64_t bytes_max = std::min(bounds.scanned_max, INT64_MAX / kBytesALike) * kBytesALike;
  return {&kRecountItem,
          {EncodeInt2(item.type.value), EncodeInt8(item.id), EncodeInt8(bounds.likes_max),
           EncodeInt8(bytes_max)}};
}

absl::StatusOr<RecountedCounter> DecodeRecount(const Table& table) {
  RecountedCounter recount;
  bool has_stored = false;
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    const bool is_stored = row.Bool();
    const int64_t count_or_user = row.Int();
    if (is_stored) {
      has_stored = true;
      recount.stored.count = count_or_user;
      recount.stored.version = row.Int();
      recount.stored.digest = row.Int();
      recount.recounted = row.Bool();
    } else {
      ++recount.count;
      recount.digest ^= LikerMix(UserId{count_or_user});
    }
    if (!row.good()) return Misshapen();
  }
  if (!has_stored) return Misshapen();
  return recount;
}

}  // namespace counter::postgres
