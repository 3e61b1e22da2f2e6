#include "storage/sqlite/sqlite_store.h"

#include <atomic>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "storage/sqlite/data_folder.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/read_pool.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/write_loop.h"

namespace counter {
namespace {

class SqliteStore final : public MaintainedStore {
 public:
  // What the store is made of, in the order in which it is needed.
  struct Parts {
    std::unique_ptr<sqlite::DataFolder> folder;
    std::string timeline;
    std::unique_ptr<sqlite::WriteLoop> writes;
    std::unique_ptr<sqlite::ReadPool> reads;
    std::unique_ptr<sqlite::ReadPool> lists;
    std::unique_ptr<sqlite::ReadPool> audits;
  };
  explicit SqliteStore(Parts parts) : parts_(std::move(parts)) {}
  ~SqliteStore() override { Stop(); }

  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation> mutations,
                                                   CallLimits limits) override {
    return parts_.writes->Apply(std::move(mutations), std::move(limits));
  }

  // There is one copy of the data: every consistency reads it, and its answers are final.
  Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead> items, Consistency,
                                          CallLimits limits) override {
    std::function<absl::StatusOr<CountsRead>(sqlite::LikeReader&)> read =
        [items = std::move(items)](sqlite::LikeReader& reader) { return reader.Counts(items); };
    return parts_.reads->Read(std::move(read), std::move(limits));
  }

  Task<absl::StatusOr<PairsRead>> HasLiked(UserId user, std::vector<ItemRead> items, Consistency,
                                           CallLimits limits) override {
    std::function<absl::StatusOr<PairsRead>(sqlite::LikeReader&)> read =
        [user, items = std::move(items)](sqlite::LikeReader& reader) {
          return reader.HasLiked(user, items);
        };
    return parts_.reads->Read(std::move(read), std::move(limits));
  }

  Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery query, CallLimits limits) override {
    std::function<absl::StatusOr<LikesPage>(sqlite::LikeReader&)> read =
        [query = std::move(query), limits](sqlite::LikeReader& reader) {
          return reader.ListLikes(query, limits);
        };
    return parts_.lists->Read(std::move(read), std::move(limits));
  }

  Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery query, CallLimits limits) override {
    std::function<absl::StatusOr<LikersPage>(sqlite::LikeReader&)> read =
        [query](sqlite::LikeReader& reader) { return reader.ListLikers(query); };
    return parts_.lists->Read(std::move(read), std::move(limits));
  }

  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item> after, int items_max,
                                        CallLimits limits) override {
    std::function<absl::StatusOr<AuditPage>(sqlite::LikeReader&)> read =
        [after, items_max, limits](sqlite::LikeReader& reader) {
          return reader.Audit(after, items_max, limits);
        };
    return parts_.audits->Read(std::move(read), std::move(limits));
  }

  Task<absl::StatusOr<std::vector<RepairedCounter>>> Repair(std::vector<Item> items,
                                                            CallLimits limits) override {
    // From the recount to the commit nobody else may put the same difference right.
    if (repairing_.exchange(true)) {
      absl::Status error = MakeError(ErrorReason::kOverloaded, "a repair is running; try again");
      MarkNotApplied(error);
      co_return error;
    }
    Task<absl::StatusOr<std::vector<RepairedCounter>>> repair =
        RepairAlone(std::move(items), std::move(limits));
    absl::StatusOr<std::vector<RepairedCounter>> repaired = co_await std::move(repair);
    repairing_ = false;
    co_return repaired;
  }

  Task<absl::StatusOr<std::vector<Item>>> SomeLikes(UserId user, int items_max,
                                                    CallLimits limits) override {
    std::function<absl::StatusOr<std::vector<Item>>(sqlite::LikeReader&)> read =
        [user, items_max](sqlite::LikeReader& reader) { return reader.SomeLikes(user, items_max); };
    return parts_.audits->Read(std::move(read), std::move(limits));
  }

  Task<absl::StatusOr<LikerScan>> ScanLikers(Item item, std::optional<LikePosition> after,
                                             int scan_max, int likers_max,
                                             CallLimits limits) override {
    std::function<absl::StatusOr<LikerScan>(sqlite::LikeReader&)> read =
        [item, after, scan_max, likers_max](sqlite::LikeReader& reader) {
          return reader.ScanLikers(item, after, scan_max, likers_max);
        };
    return parts_.audits->Read(std::move(read), std::move(limits));
  }

  // There is one copy.
  int replicas() const override { return 0; }
  Task<absl::StatusOr<std::vector<CounterRow>>> ReplicaRows(int, std::vector<Item>,
                                                            CallLimits) override {
    co_return MakeError(ErrorReason::kStoreUnavailable, "the embedded store has no replicas");
  }

  Task<absl::StatusOr<std::vector<RecountedCounter>>> RecountSome(std::vector<Item> items,
                                                                  RecountBounds bounds,
                                                                  CallLimits limits) override {
    using Recounts = absl::StatusOr<std::vector<RecountedCounter>>;
    std::function<Recounts(sqlite::LikeReader&)> read =
        [items = std::move(items), bounds, limits](sqlite::LikeReader& reader) -> Recounts {
      std::vector<RecountedCounter> recounts;
      for (const Item& item : items) {
        absl::StatusOr<RecountedCounter> recount = reader.RecountOne(item, bounds, limits);
        if (!recount.ok()) return recount.status();
        recounts.push_back(*std::move(recount));
      }
      return recounts;
    };
    return parts_.audits->Read(std::move(read), std::move(limits));
  }

  std::string Timeline() const override { return parts_.timeline; }
  absl::Status Health() const override { return parts_.writes->Health(); }

  void Stop() override {
    parts_.writes->Stop();
    parts_.reads->Stop();
    parts_.lists->Stop();
    parts_.audits->Stop();
  }

 private:
  Task<absl::StatusOr<std::vector<RepairedCounter>>> RepairAlone(std::vector<Item> items,
                                                                 CallLimits limits) {
    using Findings = absl::StatusOr<std::vector<AuditFinding>>;
    std::function<Findings(sqlite::LikeReader&)> read = [items = std::move(items),
                                                         limits](sqlite::LikeReader& reader) {
      return reader.Recount(items, limits);
    };
    Task<Findings> recount = parts_.audits->Read(std::move(read), std::move(limits));
    Findings findings = co_await std::move(recount);
    if (!findings.ok()) co_return findings.status();
    if (findings->empty()) co_return std::vector<RepairedCounter>();
    Task<absl::StatusOr<std::vector<RepairedCounter>>> repair =
        parts_.writes->Repair(*std::move(findings));
    co_return co_await std::move(repair);
  }

  Parts parts_;
  std::atomic<bool> repairing_ = false;
};

absl::Status CannotOpen(const std::string& path, absl::string_view why) {
  return MakeError(ErrorReason::kStoreUnavailable,
                   absl::StrCat("cannot open the data file ", path, ": ", why));
}

absl::StatusOr<std::unique_ptr<sqlite::ReadPool>> StartReaders(const SqliteStoreOptions& options,
                                                               int threads, int reads_max) {
  sqlite::ReadPool::Options pool;
  pool.path = options.path;
  pool.threads = threads;
  pool.reads_max = reads_max;
  pool.page_cache_kib = options.page_cache_kib / 4;
  pool.clock = options.clock;
  pool.observer = options.observer;
  return sqlite::ReadPool::Start(pool);
}

std::unique_ptr<sqlite::WriteLoop> StartWriter(const SqliteStoreOptions& options,
                                               std::unique_ptr<sqlite::Database> database) {
  sqlite::WriteLoop::Options loop;
  loop.path = options.path;
  loop.mutations_max = options.queue_mutations_max;
  loop.wait_max = options.write_wait_max;
  loop.batch_rows_max = options.batch_rows_max;
  loop.page_cache_kib = options.page_cache_kib;
  loop.checkpoint_pages = options.checkpoint_pages;
  loop.probe_interval = options.probe_interval;
  loop.clock = options.clock;
  loop.observer = options.observer;
  return std::make_unique<sqlite::WriteLoop>(std::move(database), loop);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MaintainedStore>> OpenSqliteStore(
    const SqliteStoreOptions& options) {
  SqliteStore::Parts parts;
  absl::StatusOr<std::unique_ptr<sqlite::DataFolder>> folder =
      sqlite::DataFolder::Take(options.path);
  if (!folder.ok()) return folder.status();
  parts.folder = *std::move(folder);

  std::string error;
  std::unique_ptr<sqlite::Database> database = sqlite::Database::Open(
      options.path, sqlite::Database::Use::kWrite, options.page_cache_kib, error);
  if (database == nullptr) return CannotOpen(options.path, error);
  absl::StatusOr<std::string> timeline = sqlite::PrepareSchema(*database);
  if (!timeline.ok()) return timeline.status();
  parts.timeline = *std::move(timeline);
  if (options.likers_index) {
    absl::Status made = sqlite::MakeLikersIndex(*database);
    if (!made.ok()) return made;
  }
  absl::Status flushed = parts.folder->Flush();
  if (!flushed.ok()) return flushed;

  absl::StatusOr<std::unique_ptr<sqlite::ReadPool>> reads =
      StartReaders(options, options.reader_threads, options.queue_reads_max);
  if (!reads.ok()) return reads.status();
  parts.reads = *std::move(reads);
  absl::StatusOr<std::unique_ptr<sqlite::ReadPool>> lists =
      StartReaders(options, 1, options.queue_lists_max);
  if (!lists.ok()) return lists.status();
  parts.lists = *std::move(lists);
  absl::StatusOr<std::unique_ptr<sqlite::ReadPool>> audits =
      StartReaders(options, 1, options.queue_audits_max);
  if (!audits.ok()) return audits.status();
  parts.audits = *std::move(audits);
  parts.writes = StartWriter(options, std::move(database));
  return std::make_unique<SqliteStore>(std::move(parts));
}

}  // namespace counter
