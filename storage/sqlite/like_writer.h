// LikeWriter: executes write units inside a transaction of one connection.
//
// Use it from the store's writing thread: Begin(), Apply() for each unit, Commit(). It decides
// nothing about trying again. It is the only code that changes likes and counters, and it changes
// both or neither.
//
// Threads: one. Ownership: owns its connection.
#ifndef COUNTER_STORAGE_SQLITE_LIKE_WRITER_H_
#define COUNTER_STORAGE_SQLITE_LIKE_WRITER_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "storage/like_maintenance.h"
#include "storage/like_store.h"
#include "storage/sqlite/database.h"
#include "storage/write_combiner.h"

namespace counter::sqlite {

class LikeWriter {
 public:
  // Requires a database with the schema, opened for writing.
  explicit LikeWriter(std::unique_ptr<Database> database);

  DatabaseCode Begin() { return database_->Execute("BEGIN IMMEDIATE"); }
  DatabaseCode Commit() { return database_->Execute("COMMIT"); }
  // Ends the transaction, if one is open, without effect. True if that is certain.
  bool Rollback();

  // A unit between these two can be undone alone. Costs copies of the pages that it changes.
  DatabaseCode MarkUnit() { return database_->Execute("SAVEPOINT unit"); }
  DatabaseCode KeepUnit() { return database_->Execute("RELEASE unit"); }
  DatabaseCode UndoUnit() { return database_->Execute("ROLLBACK TO unit; RELEASE unit"); }

  // Executes the unit at wall time `now`; outcome i is of rows[i]. After anything but kOk the
  // unit's effects are still in the transaction in part: undo the unit or roll back.
  DatabaseCode Apply(const WriteUnit& unit, absl::Time now, std::vector<Applied>& outcomes);

  // Adds the difference that was found to each counter, whatever it holds by now, and leaves in
  // `repaired` what it holds then. Otherwise as Apply.
  DatabaseCode Repair(const std::vector<AuditFinding>& findings, absl::Time now,
                      std::vector<RepairedCounter>& repaired);

  // Commits a change that means nothing, to see whether the disk takes it.
  DatabaseCode Probe();

  Database& database() { return *database_; }

 private:
  struct CounterChange {
    int64_t count = 0;
    int64_t version = 0;
    int64_t count_delta = 0;
    int64_t digest_mix = 0;
  };
  // Leaves the item's count and version after the change in `change`.
  DatabaseCode ApplyCounter(const Item& item, int64_t now_micros, CounterChange& change);

  const std::unique_ptr<Database> database_;
  Statement insert_like_;
  Statement delete_like_;
  Statement select_counter_;
  Statement insert_counter_;
  Statement update_counter_;
  Statement probe_;
  std::vector<CounterChange> changes_;  // Of the unit that is being applied, by counter.
};

}  // namespace counter::sqlite

#endif  // COUNTER_STORAGE_SQLITE_LIKE_WRITER_H_
