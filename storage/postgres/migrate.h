// Migrations: makes the schema of a database and brings it to the head that this binary knows.
//
// Use it from `counterd migrate up|status` and from tests. Numbered SQL files, forward only, are
// embedded (migrations/); each is applied in one transaction with the note that it was. Any number
// of processes may run it at once: they take turns. Besides the files it makes the partition of
// each item type.
//
// It needs the owner of the tables; the server needs only a member of the role counter_serving.
//
// It blocks. Thread-safe.
#ifndef COUNTER_STORAGE_POSTGRES_MIGRATE_H_
#define COUNTER_STORAGE_POSTGRES_MIGRATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like.h"

namespace counter::postgres {

struct Migration {
  int64_t number = 0;
  std::string name;
  std::string sql;
};
// In order of their numbers, which rise by one from 1.
const std::vector<Migration>& Migrations();
// The number of the last one.
int64_t MigrationHead();

// A migration's statements: each ends with a semicolon and an empty line, or the end.
std::vector<std::string> SplitStatements(const std::string& sql);

struct MigrationStatus {
  int64_t applied = 0;  // The number of the last migration applied; 0 if none.
  int64_t head = 0;
  std::vector<std::string> pending;    // Names, in order.
  std::vector<int64_t> types_missing;  // Item types without a partition.
  bool complete() const { return pending.empty() && types_missing.empty(); }
};

// The error is in words for an operator, and holds no password.
absl::StatusOr<MigrationStatus> ReadMigrationStatus(const std::string& url,
                                                    const std::vector<ItemType>& item_types);

// What was done, one sentence each; none if there was nothing to do. Waits for others that migrate
// the same database, but not longer than `patience`.
absl::StatusOr<std::vector<std::string>> MigrateUp(const std::string& url,
                                                   const std::vector<ItemType>& item_types,
                                                   absl::Duration patience = absl::Minutes(5));

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_MIGRATE_H_
