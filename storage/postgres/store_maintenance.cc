// PostgresStore's part of storage/like_maintenance.h.
#include <utility>

#include "storage/postgres/maintenance_statements.h"
#include "storage/postgres/run_errand.h"
#include "storage/postgres/store.h"
#include "storage/postgres/store_loop.h"

namespace counter::postgres {
namespace {

// Whose writer deletes the outbox row of a repair, once the cache has been told.
constexpr int kRepairLane = 0;

}  // namespace

Task<absl::StatusOr<std::vector<RepairedCounter>>> PostgresStore::Repair(std::vector<Item> items,
                                                                         CallLimits limits) {
  std::vector<StatementCall> calls = RepairItems(items, kRepairLane, loop_->maintenance_timeouts());
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(*loop_, StoreLoop::ErrandKind::kAudit, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  absl::StatusOr<RepairApplied> applied = DecodeRepair(tables->back());
  if (!applied.ok()) co_return applied.status();
  if (applied->outbox_id.has_value()) {
    std::vector<ChangedItem> changed;
    for (const RepairedCounter& counter : applied->counters)
      changed.push_back({counter.found.item, counter.count, counter.version});
    loop_->BatchCommitted({*applied->outbox_id, kRepairLane}, changed);
  }
  co_return std::move(applied->counters);
}

Task<absl::StatusOr<std::vector<Item>>> PostgresStore::SomeLikes(UserId user, int items_max,
                                                                 CallLimits limits) {
  std::vector<StatementCall> calls = FindSomeLikes(user, items_max, loop_->maintenance_timeouts());
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(*loop_, StoreLoop::ErrandKind::kAudit, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  co_return DecodeSomeLikes(tables->back());
}

Task<absl::StatusOr<LikerScan>> PostgresStore::ScanLikers(Item item,
                                                          std::optional<LikePosition> after,
                                                          int scan_max, int likers_max,
                                                          CallLimits limits) {
  std::vector<StatementCall> calls =
      ScanForLikers(item, after, scan_max, loop_->maintenance_timeouts());
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(*loop_, StoreLoop::ErrandKind::kAudit, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  co_return DecodeLikerScan(tables->back(), item, scan_max, likers_max);
}

}  // namespace counter::postgres
