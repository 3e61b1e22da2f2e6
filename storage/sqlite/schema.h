// The schema of the embedded store's file: makes it, checks it, and reads what names its history.
#ifndef COUNTER_STORAGE_SQLITE_SCHEMA_H_
#define COUNTER_STORAGE_SQLITE_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sqlite/database.h"

namespace counter::sqlite {

// The optional index that a list of an item's likers needs.
inline constexpr char kLikersIndex[] = "user_likes_likers";

// Makes it, if it is not there: in one transaction, which takes as long as all likes take to be
// sorted.
absl::Status MakeLikersIndex(Database& database);

// Makes the tables in an empty database, in one transaction, or checks that the database holds
// tables of a version that this code knows. Returns the timeline id, which is made with the tables.
absl::StatusOr<std::string> PrepareSchema(Database& database);

}  // namespace counter::sqlite

#endif  // COUNTER_STORAGE_SQLITE_SCHEMA_H_
