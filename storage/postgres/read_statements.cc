#include "storage/postgres/read_statements.h"

#include <cstdint>

#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

const Statement kCounts = {"counter_counts",
                           R"sql(
SELECT x.n, c.count, c.version
FROM unnest($1::int2[], $2::int8[]) WITH ORDINALITY AS x(t, i, n)
JOIN counters c ON c.item_type = x.t AND c.item_id = x.i
)sql",
                           {TypeId::kInt2Array, TypeId::kInt8Array}};

const Statement kPairs = {"counter_pairs",
                          R"sql(
SELECT x.n, coalesce(c.version, 0)
FROM unnest($1::int2[], $2::int8[], $3::int8[]) WITH ORDINALITY AS x(t, u, i, n)
JOIN user_likes l ON l.item_type = x.t AND l.user_id = x.u AND l.item_id = x.i
LEFT JOIN counters c ON c.item_type = x.t AND c.item_id = x.i
)sql",
                          {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt8Array}};

// One row more than asked for says that there is a next page. Items come from both sides: counters
// without likes and likes without counters. Likes have no index by item, so a page is one pass over
// the likes of its types, by whatever number of items: the counters of a page, which have an index,
// say where it ends at the latest, and so which partitions it is about and which likes to count.
const Statement kAudit = {"counter_audit",
                          R"sql(
WITH stored AS MATERIALIZED (
  SELECT item_type, item_id, count, digest FROM counters
  WHERE (item_type, item_id) > ($1::int2, $2::int8) ORDER BY 1, 2 LIMIT $3::int4 + 1),
bound AS MATERIALIZED (
  SELECT item_type, item_id FROM (
    SELECT item_type, item_id FROM (
      SELECT item_type, item_id FROM stored ORDER BY 1, 2 OFFSET $3::int4) AS beyond
    UNION ALL SELECT 32767::int2, 9223372036854775807) AS ends
  ORDER BY 1, 2 LIMIT 1),
actual AS MATERIALIZED (
  SELECT item_type, item_id, count(*) AS count, bit_xor(counter_liker_mix(user_id)) AS digest
  FROM user_likes
  WHERE item_type >= $1::int2 AND item_type <= (SELECT item_type FROM bound)
    AND (item_type, item_id) > ($1::int2, $2::int8)
    AND (item_type, item_id) <= (SELECT item_type, item_id FROM bound)
  GROUP BY 1, 2)
SELECT item_type, item_id, coalesce(s.count, 0), coalesce(s.digest, 0),
  coalesce(a.count, 0), coalesce(a.digest, 0)
FROM stored s FULL JOIN actual a USING (item_type, item_id)
ORDER BY 1, 2 LIMIT $3::int4 + 1
)sql",
                          {TypeId::kInt2, TypeId::kInt8, TypeId::kInt4}};

}  // namespace

StatementCall ReadCounts(const std::vector<Item>& items) {
  std::vector<int16_t> types;
  std::vector<int64_t> ids;
  for (const Item& item : items) {
    types.push_back(item.type.value);
    ids.push_back(item.id);
  }
  return {&kCounts, {EncodeInt2Array(types), EncodeInt8Array(ids)}};
}

absl::StatusOr<std::vector<ItemCount>> DecodeCounts(const Table& table, int items) {
  std::vector<ItemCount> counts(static_cast<size_t>(items));
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    ItemCount& count = counts[static_cast<size_t>(row.Place(items))];
    count.count = row.Int();
    count.version = row.Int();
    if (!row.good()) return Misshapen();
  }
  return counts;
}

StatementCall ReadPairs(const std::vector<Pair>& pairs) {
  std::vector<int16_t> types;
  std::vector<int64_t> users;
  std::vector<int64_t> ids;
  for (const Pair& pair : pairs) {
    types.push_back(pair.item.type.value);
    users.push_back(pair.user.value);
    ids.push_back(pair.item.id);
  }
  return {&kPairs, {EncodeInt2Array(types), EncodeInt8Array(users), EncodeInt8Array(ids)}};
}

absl::StatusOr<std::vector<PairState>> DecodePairs(const Table& table, int pairs) {
  std::vector<PairState> states(static_cast<size_t>(pairs));
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    PairState& state = states[static_cast<size_t>(row.Place(pairs))];
    state.liked = true;
    state.item_version = row.Int();
    if (!row.good()) return Misshapen();
  }
  return states;
}

StatementCall AuditItems(const std::optional<Item>& after, int items_max) {
  const Item from = after.value_or(Item{});
  return {&kAudit, {EncodeInt2(from.type.value), EncodeInt8(from.id), EncodeInt4(items_max)}};
}

absl::StatusOr<AuditPage> DecodeAudit(const Table& table, int items_max) {
  AuditPage page;
  Item last;
  for (int i = 0; i < table.rows(); ++i) {
    if (i == items_max) {
      page.next = last;
      break;
    }
    RowReader row(table, i);
    AuditFinding item;
    item.item.type.value = static_cast<int16_t>(row.Int());
    item.item.id = row.Int();
    item.stored_count = row.Int();
    item.stored_digest = row.Int();
    item.actual_count = row.Int();
    item.actual_digest = row.Int();
    if (!row.good()) return Misshapen();
    last = item.item;
    ++page.items_checked;
    if (item.stored_count != item.actual_count || item.stored_digest != item.actual_digest)
      page.findings.push_back(item);
  }
  return page;
}

std::vector<const Statement*> ReadStatements() { return {&kCounts, &kPairs, &kAudit}; }

}  // namespace counter::postgres
