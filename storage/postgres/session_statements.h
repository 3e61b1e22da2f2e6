// What a connection says for its own sake: questions about the session, its settings, probes.
//
// Use it in the connection and in the link. Decoders are given what the server sent. If that has
// not the shape that the statement promises, they answer kInternal.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_SESSION_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_SESSION_STATEMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/postgres/session_check.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

// What is asked now and then of a primary that is in use.
struct ProbeFacts {
  bool writable = false;       // It can still take writes.
  int64_t flushed = 0;         // Up to which byte its log is on disk: all it has acknowledged.
  bool standby_named = false;  // Commits wait for a standby.
};
StatementCall Probe();
absl::StatusOr<ProbeFacts> DecodeProbe(const Table& table);

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

// To be prepared by a session that will be probed.
std::vector<const Statement*> SessionStatements();

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_SESSION_STATEMENTS_H_
