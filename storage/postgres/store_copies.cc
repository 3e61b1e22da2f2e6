// PostgresStore's part of storage/counter_copies.h.
#include <utility>

#include "base/error.h"
#include "storage/postgres/copy_statements.h"
#include "storage/postgres/replica_statements.h"
#include "storage/postgres/run_errand.h"
#include "storage/postgres/store.h"
#include "storage/postgres/store_loop.h"

namespace counter::postgres {

int PostgresStore::replicas() const { return loop_->replicas(); }

Task<absl::StatusOr<std::vector<CounterRow>>> PostgresStore::ReplicaRows(int replica,
                                                                         std::vector<Item> items,
                                                                         CallLimits limits) {
  std::vector<StatementCall> calls = {SetForCopies(loop_->statement_timeout()), AskPosition(),
                                      ReadRows(items)};
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunReplicaErrand(*loop_, replica, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  const absl::StatusOr<ReplicaPosition> position = DecodePosition((*tables)[1]);
  if (!position.ok()) co_return position.status();
  if (!loop_->IsOfThisHistory(*position)) {
    co_return MakeError(ErrorReason::kStoreUnavailable,
                        "the replica is of another history than the primary, or has not replayed "
                        "where this one begins");
  }
  co_return DecodeRows((*tables)[2], static_cast<int>(items.size()));
}

Task<absl::StatusOr<std::vector<RecountedCounter>>> PostgresStore::RecountSome(
    std::vector<Item> items, RecountBounds bounds, CallLimits limits) {
  std::vector<StatementCall> calls = {SetForCopies(loop_->statement_timeout())};
  for (const Item& item : items) calls.push_back(RecountItem(item, bounds));
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(*loop_, StoreLoop::ErrandKind::kCopies, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  std::vector<RecountedCounter> recounts;
  for (size_t i = 0; i < items.size(); ++i) {
    absl::StatusOr<RecountedCounter> recount = DecodeRecount((*tables)[i + 1]);
    if (!recount.ok()) co_return recount.status();
    recounts.push_back(*std::move(recount));
  }
  co_return recounts;
}

}  // namespace counter::postgres
