// ReplicaAge: whose replica a standby is, since when what it shows is known to be whole, and
// whether that may be answered.
//
// Use it where a standby's session is taken and where its answers are (replica.h). The position is
// asked before the snapshot is taken (replica_statements.h), so the snapshot has at least as much.
// A standby of another timeline than the primary's may have a position above the primary's, in a
// log that was given up: it has no known age.
//
// Pure functions; any thread.
#ifndef COUNTER_STORAGE_POSTGRES_REPLICA_AGE_H_
#define COUNTER_STORAGE_POSTGRES_REPLICA_AGE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/postgres/lag_meter.h"
#include "storage/postgres/primary_history.h"
#include "storage/postgres/replica_statements.h"
#include "storage/postgres/session_check.h"

namespace counter::postgres {

// Why a standby's session must not be taken beside that primary, in words for an operator; nothing
// if it may.
std::optional<std::string> VetoReplica(const SessionFacts& facts, const PrimaryHistory& primary);

// Everything that the primary acknowledged before this instant is in what a session shows after it
// said that position; nothing if no such instant is known.
std::optional<MonotonicTime> ReplicaFreshAt(const ReplicaPosition& position,
                                            const SessionFacts& session,
                                            const PrimaryHistory& primary, const LagMeter& meter);

// Whether an answer that is that fresh may be given at `now`.
inline bool MayAnswer(const std::optional<MonotonicTime>& fresh_at, MonotonicTime now,
                      absl::Duration lag_max) {
  return fresh_at.has_value() && Between(*fresh_at, now) <= lag_max;
}

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_REPLICA_AGE_H_
