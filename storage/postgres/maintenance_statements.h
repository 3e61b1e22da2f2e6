// What an operator has done to the store (storage/like_maintenance.h): repairs, and scans for
// likes.
//
// Use it in the store; each answers the statements of one unit, of which the last has the answer.
// Decoders are given what the server sent. If that has not the shape that the statement promises,
// they answer kInternal.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_MAINTENANCE_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_MAINTENANCE_STATEMENTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like_maintenance.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

struct MaintenanceTimeouts {
  absl::Duration statement;
  absl::Duration lock;
};

// The outbox row of what was corrected belongs to `lane`.
std::vector<StatementCall> RepairItems(const std::vector<Item>& items, int16_t lane,
                                       const MaintenanceTimeouts& timeouts);
struct RepairApplied {
  std::vector<RepairedCounter> counters;
  std::optional<int64_t> outbox_id;  // There is one if there are counters.
};
absl::StatusOr<RepairApplied> DecodeRepair(const Table& table);

std::vector<StatementCall> FindSomeLikes(UserId user, int items_max,
                                         const MaintenanceTimeouts& timeouts);
absl::StatusOr<std::vector<Item>> DecodeSomeLikes(const Table& table);

std::vector<StatementCall> ScanForLikers(const Item& item, const std::optional<LikePosition>& after,
                                         int scan_max, const MaintenanceTimeouts& timeouts);
// Ends at the likers_max-th liker.
absl::StatusOr<LikerScan> DecodeLikerScan(const Table& table, const Item& item, int scan_max,
                                          int likers_max);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_MAINTENANCE_STATEMENTS_H_
