#include "storage/postgres/outbox_statements.h"

#include <utility>

#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

// Rows are chosen by their age. That they are looked at in the order of their numbers spares a sort
// of the whole backlog for every page of it; nothing follows from a number.
const Statement kTakeStaleRows = {"counter_take_stale_rows",
                                  R"sql(
UPDATE cache_outbox SET at = clock_timestamp()
WHERE id = ANY (ARRAY(
  SELECT id FROM cache_outbox
  WHERE at <= clock_timestamp() - make_interval(secs => $1::int4 / 1000.0)
  ORDER BY id LIMIT $2::int4 FOR UPDATE SKIP LOCKED))
RETURNING id, types, ids
)sql",
                                  {TypeId::kInt4, TypeId::kInt4}};

// A lane may delete some of the same rows at this moment, and nobody says in which order: if both
// waited, they might wait for each other. A row that is locked is as good as deleted.
const Statement kDeleteRows = {"counter_delete_rows",
                               R"sql(
DELETE FROM cache_outbox WHERE id = ANY (ARRAY(
  SELECT id FROM cache_outbox WHERE id = ANY ($1::int8[]) FOR UPDATE SKIP LOCKED))
)sql",
                               {TypeId::kInt8Array}};

}  // namespace

StatementCall TakeStaleRows(absl::Duration min_age, int rows_max) {
  return {
      &kTakeStaleRows,
      {EncodeInt4(static_cast<int32_t>(absl::ToInt64Milliseconds(min_age))), EncodeInt4(rows_max)}};
}

absl::StatusOr<std::vector<StaleRow>> DecodeStaleRows(const Table& table) {
  std::vector<StaleRow> rows;
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    StaleRow stale;
    stale.id = row.Int();
    const std::vector<int64_t> types = row.Ints();
    const std::vector<int64_t> ids = row.Ints();
    if (!row.good() || types.size() != ids.size()) return Misshapen();
    for (size_t item = 0; item < ids.size(); ++item)
      stale.items.push_back({{static_cast<int16_t>(types[item])}, ids[item]});
    rows.push_back(std::move(stale));
  }
  return rows;
}

StatementCall DeleteRows(const std::vector<int64_t>& ids) {
  return {&kDeleteRows, {EncodeInt8Array(ids)}};
}

std::vector<const Statement*> OutboxStatements() { return {&kTakeStaleRows, &kDeleteRows}; }

}  // namespace counter::postgres
