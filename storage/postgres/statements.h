// The statements that the store runs: their SQL, their parameters and what their rows mean.
//
// Use it to turn what the store wants into a StatementCall, and the Table that came back into
// answers. It is pure: the connection sends and receives. Our SQL lives here and in migrations/.
//
// Decoders are given what the server sent. If that has not the shape that the statement promises,
// they answer kInternal: binary and database do not fit together.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_STATEMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like.h"
#include "storage/like_store.h"
#include "storage/postgres/binary.h"
#include "storage/postgres/session_check.h"
#include "storage/postgres/table.h"
#include "storage/stale_outbox.h"
#include "storage/write_combiner.h"

namespace counter::postgres {

struct Statement {
  const char* name;  // Of the prepared statement.
  const char* sql;
  std::vector<TypeId> parameters;
  bool prepared = true;  // On connections that have a session of their own.
};

// A statement with its parameters, in the binary format.
struct StatementCall {
  const Statement* statement = nullptr;
  std::vector<std::string> parameters;
};

// ---- Writing. A unit of likes, or of unlikes, is one of these and a transaction of its own.

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

// ---- Reading.

StatementCall ReadCounts(const std::vector<Item>& items);
// counts[i] is of items[i] of the call; 0 at version 0 for items without a counter.
absl::StatusOr<std::vector<ItemCount>> DecodeCounts(const Table& table, int items);

struct Pair {
  UserId user;
  Item item;
  friend bool operator==(const Pair&, const Pair&) = default;
  template <class H>
  friend H AbslHashValue(H state, const Pair& pair) {
    return H::combine(std::move(state), pair.user, pair.item);
  }
};
StatementCall ReadPairs(const std::vector<Pair>& pairs);
absl::StatusOr<std::vector<PairState>> DecodePairs(const Table& table, int pairs);

// Recounts up to items_max items after `after`. Reads whole partitions.
StatementCall AuditItems(const std::optional<Item>& after, int items_max);
absl::StatusOr<AuditPage> DecodeAudit(const Table& table, int items_max);

// ---- Upkeep of the outbox.

// Takes up to rows_max rows that are at least min_age old, by making them new.
StatementCall TakeStaleRows(absl::Duration min_age, int rows_max);
absl::StatusOr<std::vector<StaleRow>> DecodeStaleRows(const Table& table);
StatementCall DeleteRows(const std::vector<int64_t>& ids);

// ---- Sessions.

// Asks for an answer, no more.
StatementCall Probe();
// Whether the server can no longer take writes.
absl::StatusOr<bool> DecodeProbe(const Table& table);

// Settings for the statements behind it in the same transaction: what a connection through a pooler
// has instead of settings of its session.
StatementCall SetForTransaction(absl::Duration statement_timeout, absl::Duration lock_timeout);

// Asks for what session_check.h wants to know. The second one fails on a database without our
// tables; it is a unit of its own.
StatementCall AskSession();
StatementCall AskSchema();
// `settings_kept` and `same_backend` compare with what the connection asked for at its start.
absl::Status DecodeSession(const Table& table, int64_t backend_pid, SessionFacts& facts);
absl::Status DecodeSchema(const Table& table, SessionFacts& facts);

const std::vector<const Statement*>& PreparedStatements();

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_STATEMENTS_H_
