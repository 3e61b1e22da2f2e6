// What each copy of a counter says, and what its likes add up to (storage/counter_copies.h).
//
// Use it in the store. Decoders are given what the server sent. If that has not the shape that the
// statement promises, they answer kInternal.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_COPY_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_COPY_STATEMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/counter_copies.h"
#include "storage/like.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

// Goes before the others in a unit: none of them may cost more than it must.
StatementCall SetForCopies(absl::Duration statement_timeout);

// Of a replica or the primary.
StatementCall ReadRows(const std::vector<Item>& items);
absl::StatusOr<std::vector<CounterRow>> DecodeRows(const Table& table, int items);

// The counter and its likers, in one statement and so of one snapshot; the digest is computed here.
StatementCall RecountItem(const Item& item, const RecountBounds& bounds);
absl::StatusOr<RecountedCounter> DecodeRecount(const Table& table);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_COPY_STATEMENTS_H_
