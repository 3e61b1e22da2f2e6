// What is asked of a replica: where it is, before each read and now and then; and of the primary:
// to note its timeline where replicas will see it.
//
// Use it in a replica and in the store. The position is asked in a statement of its own before the
// read, in the same unit: the read's snapshot is then taken later, so it has at least that much.
// Asked in the reading statement itself the position might be newer than the snapshot.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_REPLICA_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_REPLICA_STATEMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like_store.h"
#include "storage/postgres/read_statements.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

struct ReplicaPosition {
  bool in_recovery = false;
  int64_t replayed = 0;  // Up to which byte of the log.
  int64_t timeline = 0;  // The last one that was noted in what it has replayed; 0: none.
  std::string store_id;
};
StatementCall AskPosition();
absl::StatusOr<ReplicaPosition> DecodePosition(const Table& table);

// As ReadPairs, but the item's version comes for pairs that are not liked, too: a token has to be
// held against it.
StatementCall ReadPairsWithVersions(const std::vector<Pair>& pairs);
absl::StatusOr<std::vector<PairState>> DecodePairsWithVersions(const Table& table, int pairs);

// Notes, once, that the primary is on this timeline. What is noted already stays.
StatementCall NoteTimeline(int64_t timeline);
struct NotedTimeline {
  absl::Time seen;                       // When it was noted first.
  bool followed = false;                 // There was another one before.
  std::optional<absl::Time> kept_until;  // The last commit of the former one that is known here.
};
// Nothing if somebody else is noting it at this moment: ask again.
absl::StatusOr<std::optional<NotedTimeline>> DecodeNotedTimeline(const Table& table);

// To be prepared by a session of a replica.
std::vector<const Statement*> ReplicaStatements();

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_REPLICA_STATEMENTS_H_
