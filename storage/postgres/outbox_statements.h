// Upkeep of the outbox: rows that nobody acknowledged are taken and deleted. The units of a lane
// write it and delete what was acknowledged (unit_statements.h).
//
// Decoders are given what the server sent. If that has not the shape that the statement promises,
// they answer kInternal.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_OUTBOX_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_OUTBOX_STATEMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"
#include "storage/stale_outbox.h"

namespace counter::postgres {

// Takes up to rows_max rows that are at least min_age old, by making them new.
StatementCall TakeStaleRows(absl::Duration min_age, int rows_max);
absl::StatusOr<std::vector<StaleRow>> DecodeStaleRows(const Table& table);
StatementCall DeleteRows(const std::vector<int64_t>& ids);

// To be prepared by a session that will do it.
std::vector<const Statement*> OutboxStatements();

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_OUTBOX_STATEMENTS_H_
