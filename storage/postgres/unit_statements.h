// What a unit of likes, or of unlikes, says to the database and what comes back. A unit is one of
// these statements and a transaction of its own.
//
// Use it in a lane. Decoders are given what the server sent. If that has not the shape that the
// statement promises, they answer kInternal.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_UNIT_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_UNIT_STATEMENTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"
#include "storage/write_combiner.h"

namespace counter::postgres {

// What goes with every unit of a lane.
struct LaneNote {
  int16_t lane = 0;
  std::vector<int64_t> acknowledged;  // Outbox rows that the unit deletes.
};
StatementCall ApplyUnit(const WriteUnit& unit, const LaneNote& note);

struct UnitApplied {
  std::vector<Applied> rows;         // rows[i] is of unit.rows[i].
  std::optional<int64_t> outbox_id;  // Of the row that says what changed; absent if nothing did.
};
absl::StatusOr<UnitApplied> DecodeUnit(const Table& table, int rows);

// To be prepared by a session that will run units.
std::vector<const Statement*> UnitStatements();

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_UNIT_STATEMENTS_H_
