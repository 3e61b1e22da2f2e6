#include "storage/postgres/unit_statements.h"

#include <string>

#include "storage/like.h"
#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

// In both statements of a unit the rows come in primary-key order, and `n` is that order.
//
// Every item of the unit passes through its counter's row: the row's lock is what makes the count
// of a repeat true. A repeat that waited for another transaction's like reads, by ON CONFLICT DO
// UPDATE or FOR UPDATE, the row's newest version; a plain read would use the statement's older
// snapshot.

const Statement kLike = {"counter_like",
                         R"sql(
WITH req AS MATERIALIZED (
  SELECT t, u, i, m, n FROM unnest($1::int2[], $2::int8[], $3::int8[], $4::int8[])
    WITH ORDINALITY AS x(t, u, i, m, n)),
ins AS (
  INSERT INTO user_likes (user_id, item_id, item_type)
  SELECT u, i, t FROM unnest($1::int2[], $2::int8[], $3::int8[]) AS x(t, u, i)
  ON CONFLICT DO NOTHING RETURNING user_id, item_id, item_type),
row AS MATERIALIZED (
  SELECT r.n, r.t, r.i, CASE WHEN ins.user_id IS NULL THEN 0 ELSE r.m END AS m,
    ins.user_id IS NOT NULL AS changed
  FROM req r LEFT JOIN ins
    ON ins.user_id = r.u AND ins.item_id = r.i AND ins.item_type = r.t),
agg AS (
  SELECT t, i, count(*) FILTER (WHERE changed) AS k, bit_xor(m) AS d
  FROM row GROUP BY t, i),
up AS (
  INSERT INTO counters AS c (item_type, item_id, count, version, digest)
  SELECT t, i, k, (extract(epoch FROM clock_timestamp()) * 1000000)::int8, d
  FROM agg ORDER BY t, i
  ON CONFLICT (item_type, item_id) DO UPDATE SET
    count = c.count + excluded.count,
    digest = c.digest # excluded.digest,
    version = CASE WHEN excluded.count = 0 THEN c.version
              ELSE greatest(c.version + 1, excluded.version) END
  RETURNING item_type, item_id, count, version),
acknowledged AS (DELETE FROM cache_outbox WHERE id = ANY ($6::int8[])),
noted AS (
  INSERT INTO cache_outbox (lane, types, ids)
  SELECT $5::int2, array_agg(t), array_agg(i) FROM agg WHERE k > 0 HAVING count(*) > 0
  RETURNING id)
SELECT row.n, row.changed, up.count, up.version, (SELECT id FROM noted)
FROM row JOIN up ON up.item_type = row.t AND up.item_id = row.i
)sql",
                         {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt8Array,
                          TypeId::kInt8Array, TypeId::kInt2, TypeId::kInt8Array}};

// DELETE and UPDATE lock rows in the order in which a plan happens to find them. So the rows are
// locked by ordered SELECTs first: likes in primary-key order, then counters in theirs.
const Statement kUnlike = {"counter_unlike",
                           R"sql(
WITH req AS MATERIALIZED (
  SELECT t, u, i, m, n FROM unnest($1::int2[], $2::int8[], $3::int8[], $4::int8[])
    WITH ORDINALITY AS x(t, u, i, m, n)),
held AS MATERIALIZED (
  SELECT r.n, r.t, r.u, r.i, r.m FROM req r
  JOIN user_likes l ON l.item_type = r.t AND l.user_id = r.u AND l.item_id = r.i
  ORDER BY r.n FOR UPDATE OF l),
gone AS (
  DELETE FROM user_likes l USING held h
  WHERE l.item_type = h.t AND l.user_id = h.u AND l.item_id = h.i
  RETURNING h.n, h.m),
row AS MATERIALIZED (
  SELECT r.n, r.t, r.i, coalesce(gone.m, 0) AS m, gone.n IS NOT NULL AS changed
  FROM req r LEFT JOIN gone ON gone.n = r.n),
agg AS (
  SELECT t, i, count(*) FILTER (WHERE changed) AS k, bit_xor(m) AS d
  FROM row GROUP BY t, i),
locked AS MATERIALIZED (
  SELECT c.item_type, c.item_id, c.count, c.version, a.k, a.d FROM agg a
  JOIN counters c ON c.item_type = a.t AND c.item_id = a.i
  ORDER BY c.item_type, c.item_id FOR UPDATE OF c),
down AS (
  UPDATE counters c SET
    count = c.count - l.k,
    digest = c.digest # l.d,
    version = greatest(c.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)
  FROM locked l
  WHERE c.item_type = l.item_type AND c.item_id = l.item_id AND l.k > 0
  RETURNING c.item_type, c.item_id, c.count, c.version),
acknowledged AS (DELETE FROM cache_outbox WHERE id = ANY ($6::int8[])),
noted AS (
  INSERT INTO cache_outbox (lane, types, ids)
  SELECT $5::int2, array_agg(item_type), array_agg(item_id) FROM down HAVING count(*) > 0
  RETURNING id)
SELECT row.n, row.changed, coalesce(down.count, locked.count, 0),
  coalesce(down.version, locked.version, 0), (SELECT id FROM noted)
FROM row
LEFT JOIN locked ON locked.item_type = row.t AND locked.item_id = row.i
LEFT JOIN down ON down.item_type = row.t AND down.item_id = row.i
)sql",
                           {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt8Array,
                            TypeId::kInt8Array, TypeId::kInt2, TypeId::kInt8Array}};

}  // namespace

StatementCall ApplyUnit(const WriteUnit& unit, const LaneNote& note) {
  std::vector<int16_t> types;
  std::vector<int64_t> users;
  std::vector<int64_t> items;
  std::vector<int64_t> mixes;
  types.reserve(unit.rows.size());
  users.reserve(unit.rows.size());
  items.reserve(unit.rows.size());
  mixes.reserve(unit.rows.size());
  for (const UnitRow& row : unit.rows) {
    types.push_back(row.item.type.value);
    users.push_back(row.user.value);
    items.push_back(row.item.id);
    mixes.push_back(LikerMix(row.user));
  }
  return {unit.action == Action::kLike ? &kLike : &kUnlike,
          {EncodeInt2Array(types), EncodeInt8Array(users), EncodeInt8Array(items),
           EncodeInt8Array(mixes), EncodeInt2(note.lane), EncodeInt8Array(note.acknowledged)}};
}

absl::StatusOr<UnitApplied> DecodeUnit(const Table& table, int rows) {
  if (table.rows() != rows) return Misshapen();
  UnitApplied applied;
  applied.rows.resize(static_cast<size_t>(rows));
  std::vector<bool> seen(static_cast<size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    RowReader row(table, i);
    const auto place = static_cast<size_t>(row.Place(rows));
    Applied& outcome = applied.rows[place];
    outcome.changed = row.Bool();
    outcome.count = row.Int();
    outcome.version = row.Int();
    applied.outbox_id = row.IntOrNull();
    if (!row.good() || seen[place]) return Misshapen();
    seen[place] = true;
  }
  return applied;
}

std::vector<const Statement*> UnitStatements() { return {&kLike, &kUnlike}; }

}  // namespace counter::postgres
