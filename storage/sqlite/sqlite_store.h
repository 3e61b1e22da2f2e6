// The embedded store: LikeStore and LikeMaintenance on one SQLite file. Durable, exact, for one
// process.
//
// Use it where there is no PostgreSQL: it needs nothing but a folder. One file holds all likes and
// counters; beside it live its write-ahead log and a lock file, so that a second process on the
// same folder is refused. Tools that only read the file may look at it while the store runs.
//
// Threads: as LikeStore. One thread writes, several read, one lists, one audits; tasks go on on
// these, and what a task does there delays the next batch (a thread of its own for answers was
// measured: no faster). Writes are committed and flushed (WAL, synchronous=FULL) in batches of what
// has arrived.
#ifndef COUNTER_STORAGE_SQLITE_SQLITE_STORE_H_
#define COUNTER_STORAGE_SQLITE_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/like_maintenance.h"
#include "storage/store_observer.h"

namespace counter {

struct SqliteStoreOptions {
  std::string path;  // The file. It and its folder are made if they are not there.

  int queue_mutations_max = 100'000;  // Waiting and being written; beyond them kOverloaded.
  // How long a write may wait: as QueuePatience (storage/queue_patience.h).
  absl::Duration write_wait_max = absl::InfiniteDuration();
  int batch_rows_max = 2'000;  // Pairs in a transaction: more is faster, but waits longer.
  int reader_threads = 2;
  int queue_reads_max = 10'000;  // Waiting and being read; beyond them kOverloaded.
  int queue_audits_max = 16;     // Likewise of audits.
  int queue_lists_max = 1'000;   // Likewise of lists of likes and of likers.
  // Whether to make the index of likers if it is not there. One that is there is kept.
  bool likers_index = false;
  int page_cache_kib = 65'536;   // Of the writer; readers and the auditor have a quarter each.
  int checkpoint_pages = 4'000;  // Of 4 KiB: the log is copied into the file when it has grown so.
  // How often a disk that has failed is tried again while no write comes.
  absl::Duration probe_interval = absl::Milliseconds(500);

  const Clock* clock = &Clock::System();  // Must outlive the store.
  StoreObserver* observer = nullptr;      // May be null; must outlive the store.
};

// Opens the store, recovering what a crash left. Fails, with a text for the operator that names the
// folder, if the file is in use by another store, cannot be used, or is not one of ours.
absl::StatusOr<std::unique_ptr<MaintainedStore>> OpenSqliteStore(const SqliteStoreOptions& options);

}  // namespace counter

#endif  // COUNTER_STORAGE_SQLITE_SQLITE_STORE_H_
