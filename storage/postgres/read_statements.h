// Reads of counts and of pairs, and the recount of items.
//
// Use it in the reader and for audits. Decoders are given what the server sent. If that has not the
// shape that the statement promises, they answer kInternal.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_READ_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_READ_STATEMENTS_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/like.h"
#include "storage/like_store.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

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

// To be prepared by a session that will read.
std::vector<const Statement*> ReadStatements();

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_READ_STATEMENTS_H_
