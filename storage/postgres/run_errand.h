// RunErrand: a unit of statements on one of the store's connections for errands, as a task.
//
// Use it in the store's methods. The task goes on on the store's thread. Threads: any. Ownership:
// the loop outlives the task.
#ifndef COUNTER_STORAGE_POSTGRES_RUN_ERRAND_H_
#define COUNTER_STORAGE_POSTGRES_RUN_ERRAND_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/store_loop.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

// What a call ends with after the store's Stop().
absl::Status ShuttingDown();

// Why a call that has come may not begin any more: its deadline has passed, or its caller has gone.
absl::Status CheckWanted(const CallLimits& limits);

// tables[i] is of calls[i]. Nothing is sent if CheckWanted(limits) says so. kShuttingDown, as not
// applied, after the store's Stop().
Task<absl::StatusOr<std::vector<Table>>> RunErrand(StoreLoop& on, StoreLoop::ErrandKind kind,
                                                   std::vector<StatementCall> calls,
                                                   CallLimits limits);

// The same on a connection to a replica. Requires replica < on.replicas().
Task<absl::StatusOr<std::vector<Table>>> RunReplicaErrand(StoreLoop& on, int replica,
                                                          std::vector<StatementCall> calls,
                                                          CallLimits limits);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_RUN_ERRAND_H_
