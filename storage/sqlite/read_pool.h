// ReadPool: threads that answer reads, each with a connection of its own, behind a bounded queue.
//
// Use one for the store's reads and another for its audits, so that a long recount delays no read.
// Reads that wait together may share a snapshot, which is taken after they came; so a read sees
// every write that was acknowledged before it.
//
// Threads: Read() and Stop() from any; a task goes on on a thread of the pool, or on the caller's
// when the pool refuses it at once. Ownership: the pool must outlive every task it gave out.
#ifndef COUNTER_STORAGE_SQLITE_READ_POOL_H_
#define COUNTER_STORAGE_SQLITE_READ_POOL_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "storage/sqlite/like_reader.h"
#include "storage/store_observer.h"

namespace counter::sqlite {

// A read that waits or is being answered. Lives in the frame of the coroutine that waits for it.
class ReadJob {
 public:
  explicit ReadJob(CallLimits limits) : limits_(std::move(limits)) {}
  virtual ~ReadJob() = default;

  const CallLimits& limits() const { return limits_; }
  // Reads in the reader's snapshot and keeps the answer; its status.
  virtual absl::Status Run(LikeReader& reader) = 0;
  virtual void Refuse(const absl::Status& error) = 0;
  // Gives the answer out. The job may be gone after it.
  virtual void Finish() = 0;

 private:
  const CallLimits limits_;
};

class ReadPool {
 public:
  struct Options {
    std::string path;
    int threads = 1;
    int reads_max = 10'000;  // Waiting and being answered, in reads.
    int page_cache_kib = 65'536;
    const Clock* clock = nullptr;
    StoreObserver* observer = nullptr;
  };

  // Opens a connection for each thread, then starts them. Requires that the file has the schema.
  static absl::StatusOr<std::unique_ptr<ReadPool>> Start(const Options& options);
  ~ReadPool() { Stop(); }

  // Answers with what `read` returns from a snapshot.
  template <class Answer>
  Task<absl::StatusOr<Answer>> Read(std::function<absl::StatusOr<Answer>(LikeReader&)> read,
                                    CallLimits limits) {
    absl::Status refused = Admit();
    if (!refused.ok()) co_return refused;
    Job<Answer> job(std::move(read), std::move(limits));
    auto start = [this, &job](Resumer<absl::StatusOr<Answer>> resume) {
      job.WaitWith(resume);
      Push(job);
    };
    CallbackAwaitable<absl::StatusOr<Answer>, decltype(start)> answered(start);
    co_return co_await answered;
  }

  // Refuses what comes from now on, answers what was taken, ends the threads. Idempotent.
  void Stop();

 private:
  template <class Answer>
  class Job final : public ReadJob {
   public:
    Job(std::function<absl::StatusOr<Answer>(LikeReader&)> read, CallLimits limits)
        : ReadJob(std::move(limits)), read_(std::move(read)) {}

    void WaitWith(Resumer<absl::StatusOr<Answer>> resume) { resume_ = resume; }
    absl::Status Run(LikeReader& reader) override {
      answer_ = read_(reader);
      return answer_.status();
    }
    void Refuse(const absl::Status& error) override { answer_ = error; }
    void Finish() override {
      // Both leave the job first: it ends while the resumer runs.
      Resumer<absl::StatusOr<Answer>> resume = *resume_;
      absl::StatusOr<Answer> answer = std::move(answer_);
      resume(std::move(answer));
    }

   private:
    const std::function<absl::StatusOr<Answer>(LikeReader&)> read_;
    std::optional<Resumer<absl::StatusOr<Answer>>> resume_;
    absl::StatusOr<Answer> answer_;
  };

  explicit ReadPool(const Options& options) : options_(options) {}

  // Counts one read in, or says why not.
  absl::Status Admit() ABSL_LOCKS_EXCLUDED(mutex_);
  void Push(ReadJob& job) ABSL_LOCKS_EXCLUDED(mutex_);

  std::unique_ptr<LikeReader> OpenReader(std::string& error) const;
  void ReadUntilStopped(std::unique_ptr<LikeReader> reader);
  // Some of what waits; empty when stopped and nothing waits.
  std::vector<ReadJob*> Take() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers the jobs; false if the connection should be opened anew.
  bool Answer(LikeReader* reader, std::vector<ReadJob*>& jobs);
  // Begins a snapshot, trying again while somebody still wants an answer.
  DatabaseCode BeginWhileWanted(LikeReader& reader, std::vector<ReadJob*>& jobs);
  // Ends and takes out the jobs that have expired or were cancelled.
  void DropUnwanted(std::vector<ReadJob*>& jobs);
  void Refuse(std::vector<ReadJob*>& jobs, const absl::Status& error);
  void Finish(ReadJob& job);
  // Waits a little; true if the pool is stopping.
  bool PauseUnlessStopping() ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  std::vector<std::thread> threads_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<ReadJob*> waiting_ ABSL_GUARDED_BY(mutex_);
  int held_ ABSL_GUARDED_BY(mutex_) = 0;  // Admitted and not finished.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace counter::sqlite

#endif  // COUNTER_STORAGE_SQLITE_READ_POOL_H_
