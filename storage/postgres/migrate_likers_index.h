// Makes the optional index that ListLikers needs: one on the partition of each item type.
//
// Use it from `counterd migrate up` where the setting LIKERS_INDEX asks for it, after MigrateUp().
// Servers go on working meanwhile, and see by themselves when an index is complete. It may be run
// again at any time: it makes what is missing, and makes anew what an earlier run left incomplete.
// Who runs it at the same time waits for the other.
//
// It needs the owner of the tables, and a connection without a pooler in between.
//
// It blocks, for as long as the likes take to be read twice and sorted. Thread-safe.
#ifndef COUNTER_STORAGE_POSTGRES_MIGRATE_LIKERS_INDEX_H_
#define COUNTER_STORAGE_POSTGRES_MIGRATE_LIKERS_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like.h"

namespace counter::postgres {

// What was done, one sentence each; none if there was nothing to do. Waits for another one that
// makes the same, but not longer than `patience`; the making itself may take any time. Requires the
// partitions. The error is in words for an operator.
absl::StatusOr<std::vector<std::string>> MakeLikersIndex(const std::string& url,
                                                         const std::vector<ItemType>& item_types,
                                                         absl::Duration patience = absl::Hours(12));

// The item types whose index is not there, or not complete.
absl::StatusOr<std::vector<int64_t>> TypesWithoutLikersIndex(
    const std::string& url, const std::vector<ItemType>& item_types);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_MIGRATE_LIKERS_INDEX_H_
