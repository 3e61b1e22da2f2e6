// WriteLoop: the one thread that writes to the embedded store's file.
//
// It takes what has arrived from a write combiner, as several units if need be, executes it in one
// transaction, flushes, and answers. What arrives meanwhile makes the next batch.
//
// Failures: a row that the schema refuses fails alone (its unit is bisected inside the
// transaction). A lock of another process is waited for as long as somebody wants the write. A full
// or failing disk fails the batch with kStoreUnavailable; the next batch, or without one a probe,
// finds out when it has recovered. After a failed flush the connection is opened anew.
//
// Threads: Apply, Health and Stop from any. Tasks go on on the loop's thread, or on the caller's
// when everything is refused at once. Ownership: it must outlive every task that it gave out.
#ifndef COUNTER_STORAGE_SQLITE_WRITE_LOOP_H_
#define COUNTER_STORAGE_SQLITE_WRITE_LOOP_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "storage/like_maintenance.h"
#include "storage/like_store.h"
#include "storage/queue_patience.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/like_writer.h"
#include "storage/store_observer.h"
#include "storage/write_combiner.h"

namespace counter::sqlite {

class WriteLoop {
 public:
  struct Options {
    std::string path;
    int mutations_max = 100'000;                         // Taken and not ended, in mutations.
    absl::Duration wait_max = absl::InfiniteDuration();  // As QueuePatience.
    int batch_rows_max = 2'000;                          // Rows of a transaction.
    int page_cache_kib = 65'536;
    int checkpoint_pages = 4'000;  // The log is copied into the file when it has grown by so much.
    absl::Duration probe_interval = absl::Milliseconds(500);
    const Clock* clock = nullptr;
    StoreObserver* observer = nullptr;  // May be null.
  };

  // Starts the thread. Requires a database with the schema, opened for writing.
  WriteLoop(std::unique_ptr<Database> database, const Options& options);
  ~WriteLoop() { Stop(); }

  // As LikeStore's.
  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation> mutations,
                                                   CallLimits limits);
  // Adds the differences that were found to the counters, in a transaction of its own after the
  // batch that is being written. One at a time; another one is kOverloaded.
  Task<absl::StatusOr<std::vector<RepairedCounter>>> Repair(std::vector<AuditFinding> findings)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Health() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Results = std::vector<absl::StatusOr<Applied>>;

  // An Apply that waits. Lives in the frame of its coroutine.
  struct ApplyCall {
    std::vector<Mutation> mutations;
    CallLimits limits;
    Results results;
    int taken = 0;  // The first so many mutations were taken; the others are refused.
    int open = 0;   // Taken and not ended.
    std::optional<Resumer<Results>> resume;
  };
  using Repaired = absl::StatusOr<std::vector<RepairedCounter>>;
  // A Repair that waits. Lives in the frame of its coroutine.
  struct RepairCall {
    std::vector<AuditFinding> findings;
    std::optional<Resumer<Repaired>> resume;
  };
  // A unit that was executed in the open transaction.
  struct ExecutedUnit {
    WriteUnit unit;
    std::vector<Applied> outcomes;
  };

  // Callers' side.
  void Admit(ApplyCall& call) ABSL_LOCKS_EXCLUDED(mutex_);
  QueuePatience::Queue QueueNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Push(ApplyCall& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void Push(RepairCall& call) ABSL_LOCKS_EXCLUDED(mutex_);

  // The loop's side: everything below runs on its thread.
  void Run();
  // Moves what has arrived into the combiner; waits if there is nothing to do. False at the end.
  bool TakeArrived() ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes sure that there is a connection, and probes a disk that has failed.
  bool Recover();
  // For those who are admitted meanwhile.
  void BatchBegins() ABSL_LOCKS_EXCLUDED(mutex_);
  void BatchEnded(bool committed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a batch was committed.
  bool WriteBatch();
  std::optional<WriteUnit> NextUnit(int rows_used);
  DatabaseCode ExecuteUnit(WriteUnit unit, bool undoable);
  // Does the repair that has arrived, if there is one.
  void RepairArrived() ABSL_LOCKS_EXCLUDED(mutex_);
  Repaired RepairNow(const std::vector<AuditFinding>& findings);
  // The transaction failed before its commit, at `unit`.
  void AbortBatch(DatabaseCode code, UnitId unit);
  void AbortCommit(DatabaseCode code);
  void RollBack(DatabaseCode code);
  void FailExecuted(UnitFailure failure, const absl::Status& error);
  void WaitOutLock();
  void Checkpoint();
  // Answers the calls that have ended.
  void Deliver() ABSL_LOCKS_EXCLUDED(mutex_);
  void ReportErrors(const std::vector<EndedMutation>& ended) const;
  void SetHealth(absl::Status& which, const absl::Status& health) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;

  // Of the loop's thread.
  std::unique_ptr<LikeWriter> writer_;  // Null while the file cannot be opened.
  WriteCombiner combiner_;
  std::vector<ExecutedUnit> executed_;
  std::vector<EndedMutation> ended_;
  bool failing_ = false;  // The last transaction failed because of the disk.
  int next_checkpoint_pages_ = 0;
  std::optional<MonotonicTime> locked_out_since_;  // While stopping.

  mutable Mutex mutex_;
  CondVar arrived_;
  std::vector<ApplyCall*> inbox_ ABSL_GUARDED_BY(mutex_);
  bool repairing_ ABSL_GUARDED_BY(mutex_) = false;        // A repair was taken and has not ended.
  RepairCall* repair_ ABSL_GUARDED_BY(mutex_) = nullptr;  // It has arrived.
  bool asleep_ ABSL_GUARDED_BY(mutex_) = false;           // The loop waits for arrived_.
  int held_ ABSL_GUARDED_BY(mutex_) = 0;                  // Taken and not ended, in mutations.
  QueuePatience patience_ ABSL_GUARDED_BY(mutex_);
  int writing_ ABSL_GUARDED_BY(mutex_) = 0;  // About so many of held_ are at work.
  // Since when the batch at work, or what delays it, is; nothing while there is none.
  std::optional<MonotonicTime> writing_since_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status write_health_ ABSL_GUARDED_BY(mutex_);
  absl::Status checkpoint_health_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // Last: it uses all the others.
};

}  // namespace counter::sqlite

#endif  // COUNTER_STORAGE_SQLITE_WRITE_LOOP_H_
