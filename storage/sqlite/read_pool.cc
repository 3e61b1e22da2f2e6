#include "storage/sqlite/read_pool.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace counter::sqlite {
namespace {

// What waits in front of a newcomer has left by then, or it is refused once more.
constexpr absl::Duration kRetryAfter = absl::Milliseconds(100);

// So many reads share a snapshot at most: the first of them waits for the last.
constexpr size_t kReadsPerSnapshotMax = 16;

// Between two tries to get past another process's lock.
constexpr std::chrono::milliseconds kBusyPause(5);

absl::Status Unreadable() {
  return MakeError(ErrorReason::kStoreUnavailable, "the store cannot be read; try again later");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReadPool>> ReadPool::Start(const Options& options) {
  std::unique_ptr<ReadPool> pool(new ReadPool(options));
  std::vector<std::unique_ptr<LikeReader>> readers;
  for (int i = 0; i < options.threads; ++i) {
    std::string error;
    readers.push_back(pool->OpenReader(error));
    if (readers.back() == nullptr) {
      return MakeError(ErrorReason::kStoreUnavailable,
                       absl::StrCat("cannot read the data file: ", error));
    }
  }
  for (std::unique_ptr<LikeReader>& reader : readers) {
    pool->threads_.emplace_back(&ReadPool::ReadUntilStopped, pool.get(), std::move(reader));
  }
  return pool;
}

void ReadPool::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

absl::Status ReadPool::Admit() {
  absl::Status refused;
  {
    MutexLock lock(mutex_);
    if (stopping_) {
      refused = MakeError(ErrorReason::kShuttingDown, "the server is stopping; ask another");
    } else if (held_ >= options_.reads_max) {
      refused = MakeError(ErrorReason::kOverloaded, "too many reads are waiting; try again later");
      SetRetryAfter(refused, kRetryAfter);
    } else {
      ++held_;
    }
  }
  if (!refused.ok() && options_.observer != nullptr) {
    options_.observer->OnErrors(StoreQueue::kReads, ReasonOf(refused), 1);
  }
  return refused;
}

void ReadPool::Push(ReadJob& job) {
  MutexLock lock(mutex_);
  waiting_.push_back(&job);
  changed_.NotifyOne();
}

std::unique_ptr<LikeReader> ReadPool::OpenReader(std::string& error) const {
  std::unique_ptr<Database> database =
      Database::Open(options_.path, Database::Use::kRead, options_.page_cache_kib, error);
  if (database == nullptr) return nullptr;
  return std::make_unique<LikeReader>(std::move(database), *options_.clock);
}

void ReadPool::ReadUntilStopped(std::unique_ptr<LikeReader> reader) {
  for (std::vector<ReadJob*> jobs = Take(); !jobs.empty(); jobs = Take()) {
    std::string error;
    if (reader == nullptr) reader = OpenReader(error);
    if (!Answer(reader.get(), jobs)) reader.reset();
  }
}

std::vector<ReadJob*> ReadPool::Take() {
  std::vector<ReadJob*> taken;
  int depth = 0;
  {
    MutexLock lock(mutex_);
    // An admitted read may not have been pushed yet: it is waited for, too.
    while (waiting_.empty() && !(stopping_ && held_ == 0)) changed_.Wait(mutex_);
    const auto threads = static_cast<size_t>(options_.threads);
    const size_t share = (waiting_.size() + threads - 1) / threads;
    const size_t count = std::min(share, kReadsPerSnapshotMax);
    taken.assign(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
    depth = held_;
  }
  if (options_.observer != nullptr) options_.observer->OnQueueDepth(StoreQueue::kReads, depth);
  return taken;
}

bool ReadPool::Answer(LikeReader* reader, std::vector<ReadJob*>& jobs) {
  if (reader == nullptr) {
    Refuse(jobs, Unreadable());
    return false;
  }
  const DatabaseCode begun = BeginWhileWanted(*reader, jobs);
  if (jobs.empty()) {
    if (begun == DatabaseCode::kOk) reader->EndSnapshot();
    return true;
  }
  if (begun != DatabaseCode::kOk) {
    Refuse(jobs, Unreadable());
    return false;
  }
  bool healthy = true;
  for (ReadJob* job : jobs) {
    const absl::Status status = job->Run(*reader);
    if (status.ok()) continue;
    healthy = healthy && ReasonOf(status) != ErrorReason::kStoreUnavailable;
    if (options_.observer != nullptr) {
      options_.observer->OnErrors(StoreQueue::kReads, ReasonOf(status), 1);
    }
  }
  reader->EndSnapshot();
  for (ReadJob* job : jobs) Finish(*job);
  return healthy;
}

DatabaseCode ReadPool::BeginWhileWanted(LikeReader& reader, std::vector<ReadJob*>& jobs) {
  while (true) {
    DropUnwanted(jobs);
    if (jobs.empty()) return DatabaseCode::kBusy;
    const DatabaseCode begun = reader.BeginSnapshot();
    if (begun != DatabaseCode::kBusy || PauseUnlessStopping()) return begun;
  }
}

void ReadPool::DropUnwanted(std::vector<ReadJob*>& jobs) {
  const MonotonicTime now = options_.clock->MonotonicNow();
  std::vector<ReadJob*> expired;
  std::vector<ReadJob*> cancelled;
  std::vector<ReadJob*> wanted;
  for (ReadJob* job : jobs) {
    (job->limits().cancellation.cancelled() ? cancelled
     : job->limits().expired(now)           ? expired
                                            : wanted)
        .push_back(job);
  }
  jobs = std::move(wanted);
  if (!cancelled.empty()) {
    Refuse(cancelled, MakeError(ErrorReason::kCancelled, "the caller gave up"));
  }
  if (!expired.empty()) {
    Refuse(expired, MakeError(ErrorReason::kDeadlineExceeded,
                              "the deadline passed while the read waited for its turn"));
  }
}

void ReadPool::Refuse(std::vector<ReadJob*>& jobs, const absl::Status& error) {
  if (options_.observer != nullptr) {
    options_.observer->OnErrors(StoreQueue::kReads, ReasonOf(error), static_cast<int>(jobs.size()));
  }
  for (ReadJob* job : jobs) {
    job->Refuse(error);
    Finish(*job);
  }
  jobs.clear();
}

void ReadPool::Finish(ReadJob& job) {
  job.Finish();
  MutexLock lock(mutex_);
  --held_;
  if (stopping_ && held_ == 0) changed_.NotifyAll();
}

bool ReadPool::PauseUnlessStopping() {
  MutexLock lock(mutex_);
  if (!stopping_) changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kBusyPause);
  return stopping_;
}

}  // namespace counter::sqlite
