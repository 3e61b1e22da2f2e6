#include "storage/postgres/run_errand.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace counter::postgres {

absl::Status ShuttingDown() {
  absl::Status error = MakeError(ErrorReason::kShuttingDown, "the server is shutting down");
  MarkNotApplied(error);
  return error;
}

absl::Status CheckWanted(const CallLimits& limits) {
  absl::Status error;
  if (limits.cancellation.cancelled()) {
    error = MakeError(ErrorReason::kCancelled, "the caller went away");
  } else if (limits.expired(Clock::System().MonotonicNow())) {
    error =
        MakeError(ErrorReason::kDeadlineExceeded, "the deadline passed before the store was asked");
  }
  if (!error.ok()) MarkNotApplied(error);
  return error;
}

Task<absl::StatusOr<std::vector<Table>>> RunErrand(StoreLoop& on, StoreLoop::ErrandKind kind,
                                                   std::vector<StatementCall> calls,
                                                   CallLimits limits) {
  using Tables = absl::StatusOr<std::vector<Table>>;
  const absl::Status wanted = CheckWanted(limits);
  if (!wanted.ok()) co_return wanted;
  if (!on.Enter()) co_return ShuttingDown();
  auto start = [&](Resumer<Tables> resume) {
    on.Post([loop = &on, kind, calls = std::move(calls), limits = std::move(limits),
             resume]() mutable { loop->RunErrand(kind, std::move(calls), limits, resume); });
  };
  CallbackAwaitable<Tables, decltype(start)> run(start);
  Tables tables = co_await run;
  co_return tables;
}

Task<absl::StatusOr<std::vector<Table>>> RunReplicaErrand(StoreLoop& on, int replica,
                                                          std::vector<StatementCall> calls,
                                                          CallLimits limits) {
  using Tables = absl::StatusOr<std::vector<Table>>;
  const absl::Status wanted = CheckWanted(limits);
  if (!wanted.ok()) co_return wanted;
  if (!on.Enter()) co_return ShuttingDown();
  auto start = [&](Resumer<Tables> resume) {
    on.Post(
        [loop = &on, replica, calls = std::move(calls), limits = std::move(limits),
         resume]() mutable { loop->RunReplicaErrand(replica, std::move(calls), limits, resume); });
  };
  CallbackAwaitable<Tables, decltype(start)> run(start);
  Tables tables = co_await run;
  co_return tables;
}

}  // namespace counter::postgres
