// What the embedded store promises beyond the contract of every store: one process a folder, waits
// for locks, limits, what it tells its observer. Disk faults are in sqlite_store_disk_test.cc.
#include "storage/sqlite/sqlite_store.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/task.h"
#include "storage/sqlite/database.h"
#include "tests/contract/store_calls.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using sqlite::Database;
using sqlite::DatabaseCode;

SqliteStoreOptions At(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  return options;
}

// A lock on the file, as a tool that writes would hold it.
class ForeignLock {
 public:
  explicit ForeignLock(const std::string& path) {
    std::string error;
    database_ = Database::Open(path, Database::Use::kWrite, 1000, error);
    REQUIRE(database_ != nullptr);
    REQUIRE(database_->Execute("BEGIN IMMEDIATE") == DatabaseCode::kOk);
  }
  void Release() { database_->Execute("ROLLBACK"); }

 private:
  std::unique_ptr<Database> database_;
};

struct Observed : StoreObserver {
  void OnBatchCommitted(const CommittedBatch& batch) override {
    MutexLock lock(mutex);
    batches.push_back(batch);
  }
  void OnErrors(StoreQueue queue, ErrorReason reason, int count) override {
    MutexLock lock(mutex);
    errors[{queue, reason}] += count;
  }
  void OnQueueDepth(StoreQueue queue, int depth) override {
    MutexLock lock(mutex);
    depths[queue] = depth;
  }

  Mutex mutex;
  std::vector<CommittedBatch> batches;
  std::map<std::pair<StoreQueue, ErrorReason>, int> errors;
  std::map<StoreQueue, int> depths;
};

// Holds the writer where a batch has been committed, until it is let go.
struct HeldWriter : StoreObserver {
  void OnBatchCommitted(const CommittedBatch&) override {
    MutexLock lock(mutex);
    is_there = true;
    changed.NotifyAll();
    while (!may_go) changed.Wait(mutex);
  }
  void AwaitIt() {
    MutexLock lock(mutex);
    while (!is_there) changed.Wait(mutex);
  }
  void LetGo() {
    MutexLock lock(mutex);
    may_go = true;
    changed.NotifyAll();
  }

  Mutex mutex;
  CondVar changed;
  bool is_there = false;
  bool may_go = false;
};

TEST_CASE("sqlite store: a second store on the same file is refused with the folder's name") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  std::unique_ptr<LikeStore> first = OpenSqliteStore(At(path)).value();
  const absl::Status refused = OpenSqliteStore(At(path)).status();
  CHECK(ReasonOf(refused) == ErrorReason::kStoreUnavailable);
  CHECK_THAT(std::string(refused.message()), Catch::Contains(folder.path()));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("in use by another server"));
  CHECK(ApplyOne(*first, Like(1, Post(1))).ok());  // The first one is not disturbed.
  first.reset();
  CHECK(OpenSqliteStore(At(path)).ok());
}

TEST_CASE("sqlite store: a tool that reads may look at the file while the store runs") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(At(path)).value();
  REQUIRE(ApplyOne(*store, Like(1, Post(1))).ok());
  std::string error;
  const auto tool = Database::Open(path, Database::Use::kRead, 1000, error);
  REQUIRE(tool != nullptr);
  sqlite::Statement select(*tool, "SELECT count(*) FROM user_likes");
  REQUIRE(select.Step() == DatabaseCode::kRow);
  CHECK(select.Int(0) == 1);
  CHECK(ApplyOne(*store, Like(2, Post(1))).ok());
}

TEST_CASE("sqlite store: a folder that is not there is made") {
  TempDir folder;
  const std::string path = folder.File("a/b/likes.db");
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(At(path)).value();
  CHECK(ApplyOne(*store, Like(1, Post(1))).ok());
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("sqlite store: a file that is not ours is refused and left alone") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  SECTION("no database") {
    WriteFile(path, std::string(5000, 'x'));
    CHECK_FALSE(OpenSqliteStore(At(path)).ok());
    CHECK(ReadFile(path) == std::string(5000, 'x'));
  }
  SECTION("another program's database") {
    std::string error;
    Database::Open(path, Database::Use::kWrite, 1000, error)->Execute("CREATE TABLE t(x)");
    const absl::Status refused = OpenSqliteStore(At(path)).status();
    CHECK_THAT(std::string(refused.message()), Catch::Contains("another program"));
  }
  SECTION("a newer layout") {
    OpenSqliteStore(At(path)).value()->Stop();
    std::string error;
    Database::Open(path, Database::Use::kWrite, 1000, error)
        ->Execute("UPDATE meta SET value = '99' WHERE name = 'schema'");
    const absl::Status refused = OpenSqliteStore(At(path)).status();
    CHECK_THAT(std::string(refused.message()), Catch::Contains("found 99"));
  }
}

TEST_CASE("sqlite store: another process's lock is waited for by a write that has time") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  Observed observed;
  SqliteStoreOptions options = At(path);
  options.observer = &observed;
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(options).value();
  ForeignLock lock(path);
  PendingApply patient(*store, {Like(1, Post(1))});
  // A write that runs out of time ends when it does, and is not applied. The second one comes when
  // the patient one is certainly being tried again.
  for (int round = 0; round < 2; ++round) {
    const absl::Time before = absl::Now();
    const absl::StatusOr<Applied> hasty =
        ApplyOne(*store, Like(2, Post(1)), Within(absl::Milliseconds(200)));
    const absl::Duration waited = absl::Now() - before;
    CHECK(ReasonOf(hasty.status()) == ErrorReason::kDeadlineExceeded);
    CHECK(IsNotApplied(hasty.status()));
    CHECK(waited >= absl::Milliseconds(190));
    CHECK(waited < absl::Milliseconds(500) * Slowness());
  }
  CHECK(CountOf(*store, Post(1)).count == 0);  // Reads go on.
  lock.Release();
  CHECK(patient.Wait().at(0)->changed);
  CHECK(CountOf(*store, Post(1)).count == 1);
  MutexLock guard(observed.mutex);
  CHECK(observed.errors == std::map<std::pair<StoreQueue, ErrorReason>, int>{
                               {{StoreQueue::kWrites, ErrorReason::kDeadlineExceeded}, 2}});
}

TEST_CASE("sqlite store: a cancelled write that waits for a lock ends before the lock does") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(At(path)).value();
  ForeignLock lock(path);
  CallLimits limits{MonotonicTime::max(), Cancellation::Make()};
  PendingApply pending(*store, {Like(1, Post(1))}, limits);
  limits.cancellation.Cancel();
  CHECK(ReasonOf(pending.Wait().at(0).status()) == ErrorReason::kCancelled);
  lock.Release();
}

TEST_CASE("sqlite store: writes beyond the queue's limit are refused as not applied") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  Observed observed;
  SqliteStoreOptions options = At(path);
  options.queue_mutations_max = 10;
  options.observer = &observed;
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(options).value();
  ForeignLock lock(path);
  std::vector<Mutation> mutations;
  for (int64_t user = 1; user <= 15; ++user) mutations.push_back(Like(user, Post(1)));
  PendingApply pending(*store, mutations);
  const absl::StatusOr<Applied> refused = ApplyOne(*store, Like(99, Post(1)));
  CHECK(ReasonOf(refused.status()) == ErrorReason::kOverloaded);
  CHECK(IsNotApplied(refused.status()));
  lock.Release();
  const Results& results = pending.Wait();
  for (size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].ok() == (i < 10));
    if (!results[i].ok()) CHECK(ReasonOf(results[i].status()) == ErrorReason::kOverloaded);
  }
  CHECK(CountOf(*store, Post(1)).count == 10);
  CHECK(ApplyOne(*store, Like(99, Post(1)))->changed);  // There is room again.
  MutexLock guard(observed.mutex);
  CHECK(observed.errors[{StoreQueue::kWrites, ErrorReason::kOverloaded}] == 6);
  CHECK(observed.depths[StoreQueue::kWrites] == 0);
}

TEST_CASE("sqlite store: writes that would wait for too long are refused as not applied") {
  TempDir folder;
  HeldWriter writer;
  SqliteStoreOptions options = At(folder.File("likes.db"));
  options.batch_rows_max = 1;
  options.write_wait_max = absl::ZeroDuration();
  options.observer = &writer;
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(options).value();
  PendingApply at_work(*store, {Like(1, Post(1))});
  writer.AwaitIt();
  PendingApply next(*store, {Like(2, Post(1))});
  const absl::StatusOr<Applied> refused = ApplyOne(*store, Like(3, Post(1)));
  writer.LetGo();
  CHECK(ReasonOf(refused.status()) == ErrorReason::kOverloaded);
  CHECK(IsNotApplied(refused.status()));
  CHECK(at_work.Wait().at(0).ok());
  CHECK(next.Wait().at(0).ok());
  CHECK(ApplyOne(*store, Like(3, Post(1)))->changed);  // There is time again.
  CHECK(CountOf(*store, Post(1)).count == 3);
}

TEST_CASE("sqlite store: Stop gives up on a lock that never goes") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(At(path)).value();
  ForeignLock lock(path);
  PendingApply pending(*store, {Like(1, Post(1))});
  store->Stop();
  CHECK(ReasonOf(pending.Wait().at(0).status()) == ErrorReason::kShuttingDown);
  CHECK(IsNotApplied(pending.Wait().at(0).status()));
  lock.Release();
}

TEST_CASE("sqlite store: versions rise although the wall clock jumps back") {
  TempDir folder;
  ManualClock clock;
  SqliteStoreOptions options = At(folder.File("likes.db"));
  options.clock = &clock;
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(options).value();
  const int64_t first = ApplyOne(*store, Like(1, Post(1)))->version;
  CHECK(first == absl::ToUnixMicros(clock.WallNow()));
  clock.JumpWall(-absl::Hours(1));
  CHECK(ApplyOne(*store, Unlike(1, Post(1)))->version == first + 1);
  clock.JumpWall(absl::Hours(2));
  CHECK(ApplyOne(*store, Like(1, Post(1)))->version == absl::ToUnixMicros(clock.WallNow()));
}

TEST_CASE("sqlite store: the observer is told what was committed") {
  TempDir folder;
  Observed observed;
  SqliteStoreOptions options = At(folder.File("likes.db"));
  options.observer = &observed;
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(options).value();
  Apply(*store, {Like(1, Post(1)), Like(1, Post(1)), Like(2, Post(1)), Unlike(3, Post(1))});
  CHECK_FALSE(Counts(*store, {Post(1)}, ExpiredLimits()).ok());
  MutexLock lock(observed.mutex);
  REQUIRE(observed.batches.size() == 1);
  CHECK(observed.batches[0].units == 2);
  CHECK(observed.batches[0].rows == 3);
  CHECK(observed.batches[0].mutations == 4);
  CHECK(observed.batches[0].duration > absl::ZeroDuration());
  CHECK(observed.errors[{StoreQueue::kReads, ErrorReason::kDeadlineExceeded}] == 1);
}

TEST_CASE("sqlite store: two repairs of one difference at once put it right once") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  const std::unique_ptr<MaintainedStore> store = OpenSqliteStore(At(path)).value();
  // So many likes that a second recount, which begins when the first has ended, is still at it when
  // the first repair is written.
  constexpr int kLikes = 100'000;
  {
    std::string error;
    auto writer = Database::Open(path, Database::Use::kWrite, 1000, error);
    REQUIRE(writer != nullptr);
    REQUIRE(writer->Execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                            "i < 100000) INSERT INTO user_likes(user_id, item_id, created_at, "
                            "item_type) SELECT i, 1, 1, 1 FROM n") == DatabaseCode::kOk);
  }
  for (int round = 0; round < 2; ++round) {
    std::vector<int> corrected(2);
    std::vector<ErrorReason> refused(2, ErrorReason::kOverloaded);
    RunWorkers(2, [&](int worker) {
      const auto repaired = BlockingWait(store->Repair({Post(1)}, {}));
      if (repaired.ok()) {
        corrected[worker] = static_cast<int>(repaired->size());
      } else {
        refused[worker] = ReasonOf(repaired.status());
      }
    });
    CHECK(corrected[0] + corrected[1] == 1);
    for (const ErrorReason reason : refused) CHECK(reason == ErrorReason::kOverloaded);
    CHECK(CountOf(*store, Post(1)).count == kLikes);
    CHECK(AuditAll(*store).findings.empty());
    std::string error;
    auto writer = Database::Open(path, Database::Use::kWrite, 1000, error);
    REQUIRE(writer->Execute("UPDATE counters SET count = count + 7") == DatabaseCode::kOk);
  }
}

TEST_CASE("sqlite store: a reader of an old snapshot does not keep the log growing for ever") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  SqliteStoreOptions options = At(path);
  options.checkpoint_pages = 50;
  const std::unique_ptr<LikeStore> store = OpenSqliteStore(options).value();
  auto write = [&](int64_t from) {
    std::vector<Mutation> mutations;
    for (int64_t user = from; user < from + 300; ++user)
      mutations.push_back(Like(user, Post(user)));
    Apply(*store, mutations);
  };
  std::string error;
  auto reader = Database::Open(path, Database::Use::kRead, 1000, error);
  sqlite::Statement look(*reader, "SELECT count(*) FROM user_likes");
  REQUIRE(reader->Execute("BEGIN") == DatabaseCode::kOk);
  REQUIRE(look.Step() == DatabaseCode::kRow);
  look.Reset();
  for (int64_t i = 0; i < 20; ++i) write(1 + i * 300);
  const auto grown = std::filesystem::file_size(path + "-wal");
  CHECK(grown > 50UL * 4096);
  CHECK(reader->Execute("COMMIT") == DatabaseCode::kOk);
  for (int64_t i = 20; i < 40; ++i) write(1 + i * 300);
  CHECK(std::filesystem::file_size(path + "-wal") <= grown * 2);
  CHECK(AuditAll(*store).findings.empty());
}

}  // namespace
}  // namespace counter::testing
