// StoreLoop: the thread of a PostgresStore and all that lives on it: lanes, reader, errands, the
// calls that are open, and the clock that ends what has waited too long.
//
// Use it through PostgresStore, which lets calls in with Enter() and brings them here with Post().
//
// Threads: as its sections say. Ownership: the observer and the listener outlive it.
#ifndef COUNTER_STORAGE_POSTGRES_STORE_LOOP_H_
#define COUNTER_STORAGE_POSTGRES_STORE_LOOP_H_

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "storage/cache_outbox.h"
#include "storage/like.h"
#include "storage/like_store.h"
#include "storage/postgres/database_url.h"
#include "storage/postgres/errands.h"
#include "storage/postgres/lag_meter.h"
#include "storage/postgres/lane.h"
#include "storage/postgres/link.h"
#include "storage/postgres/list_statements.h"
#include "storage/postgres/maintenance_statements.h"
#include "storage/postgres/open_calls.h"
#include "storage/postgres/primary_history.h"
#include "storage/postgres/read_router.h"
#include "storage/postgres/reader.h"
#include "storage/postgres/replica_statements.h"
#include "storage/postgres/session_statements.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/store_options.h"
#include "storage/postgres/store_stats.h"
#include "storage/postgres/table.h"
#include "storage/write_combiner.h"

namespace counter::postgres {

class StoreLoop final : public Lane::Host {
 public:
  // Recounts may be long: the outbox and the comparing of copies have connections of their own.
  enum class ErrandKind { kAudit, kOutbox, kCopies };

  explicit StoreLoop(StoreOptions options, const DatabaseUrl& url);
  // What could throw in it is a lock or a join, and then there is no going on.
  ~StoreLoop() override { Stop(); }  // NOLINT(bugprone-exception-escape)

  // Starts the thread, and waits for the first connections as long as the options say. An error if
  // the database is not fit and will not be until somebody changes something.
  absl::Status Start();
  // Ends the calls that are in, and the thread. May be called again.
  void Stop();

  // Lets a call in; false after Stop(). Each true is followed by one Post().
  bool Enter() {
    MutexLock lock(gate_);
    if (stopped_) return false;
    ++entering_;
    return true;
  }
  template <class Work>
  void Post(Work work) {
    boost::asio::post(loop_, std::move(work));
    MutexLock lock(gate_);
    if (--entering_ == 0) all_entered_.NotifyAll();
  }

  // ---- On the loop's thread.

  void Apply(std::vector<Mutation> mutations, CallLimits limits,
             Resumer<OpenCalls::Results> resume);
  ReadRouter& reads() { return *reads_; }
  void RunErrand(ErrandKind kind, std::vector<StatementCall> calls, const CallLimits& limits,
                 Errands::Done done);
  // The same on a connection to a replica, however far behind it is. Requires replica < replicas().
  void RunReplicaErrand(int replica, std::vector<StatementCall> calls, const CallLimits& limits,
                        Errands::Done done);
  // Whether what a replica says is of the same history as the primary that is followed.
  bool IsOfThisHistory(const ReplicaPosition& position) const;
  // A page of a list. The statement is given no more time than its caller has.
  void ListLikes(const LikesQuery& query, const CallLimits& limits, Errands::Done done);
  void ListLikers(const LikersQuery& query, const CallLimits& limits, Errands::Done done);
  StatementCall AuditLimits() const {
    return SetForTransaction(options_.audit_timeout, options_.lock_timeout);
  }

  // ---- On any thread.

  MaintenanceTimeouts maintenance_timeouts() const {
    return {options_.audit_timeout, options_.lock_timeout};
  }

  int replicas() const { return static_cast<int>(options_.replica_urls.size()); }
  absl::Duration statement_timeout() const { return options_.statement_timeout; }

  void SetListener(OutboxListener* listener) {
    MutexLock lock(listener_mutex_);
    listener_ = listener;
  }
  void Acknowledge(const OutboxRow& row);

  std::string Timeline() const {
    MutexLock lock(seen_mutex_);
    return timeline_;
  }
  std::optional<Failover> LastFailover() const {
    MutexLock lock(seen_mutex_);
    return failover_;
  }
  absl::Status Health() const {
    MutexLock lock(seen_mutex_);
    return health_;
  }
  StoreStats Stats() const {
    MutexLock lock(seen_mutex_);
    return stats_;
  }

  // ---- Of the lanes.

  void MutationsEnded(std::vector<EndedMutation> ended) override;
  void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) override;

 private:
  // How often the store looks at deadlines and at the state of its links.
  static constexpr absl::Duration kBusyTick = absl::Milliseconds(10);
  static constexpr absl::Duration kIdleTick = absl::Milliseconds(100);

  // All members are the loop thread's but those that a mutex guards.
  Link::Options LinkOptions(const std::string& name, int number);
  Link::Options ReaderLinkOptions();
  Link::Options ReplicaLinkOptions(int number);
  void AddReplica(int number);
  std::unique_ptr<Errands>& ErrandsOf(ErrandKind kind);
  // What the primary says of itself now and then: why its connection is to be given up.
  std::optional<std::string> Probed(const Table& answer, MonotonicTime asked);
  // Sees to it that the primary's timeline is noted in the store.
  void NoteTimeline();
  Lane& LaneOf(const Item& item) {
    return *lanes_[static_cast<size_t>(BucketOf(item)) * lanes_.size() / kBuckets];
  }

  void Busy();
  void ArmTick(absl::Duration wait);
  void Tick();
  void EndExpired(MonotonicTime now);
  void DropUnanswered(MonotonicTime now);
  void EndUnserved(MonotonicTime now);
  // How long the server has said nothing although a probe waits.
  absl::Duration Silence(MonotonicTime now) const;
  bool Silent(MonotonicTime now) const { return Silence(now) >= options_.unavailable_after; }
  // Of calls that were not sent.
  static absl::Status UnavailableError();
  void LeaveSilentHost(MonotonicTime now);
  void FollowPrimary();
  void Look();
  StoreStats CountAll() const;
  std::vector<const Link*> Links() const;     // That must be there.
  std::vector<const Link*> AllLinks() const;  // Those of errands, too.
  bool AnyReady() const;
  std::vector<Errands*> AllErrands() const;      // Those to the primary that are there.
  std::vector<Errands*> ReplicaErrands() const;  // Those to replicas.
  Errands& LeastBusyLists();
  absl::Duration ListTimeout(const CallLimits& limits) const;
  bool idle() const;

  const StoreOptions options_;
  const DatabaseUrl url_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> working_{
      loop_.get_executor()};
  boost::asio::steady_timer tick_{loop_};
  bool tick_is_busy_ = false;
  int ticks_ = 0;
  bool stopping_ = false;
  bool commits_wait_for_standby_ = true;  // As the primary said last.

  const bool several_hosts_;
  PrimaryHistory history_;
  OpenCalls calls_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Reader> reader_;
  LagMeter meter_;
  std::unique_ptr<ReadRouter> reads_;
  int64_t noted_timeline_ = 0;  // Of history_'s store.
  bool noting_ = false;
  MonotonicTime note_from_;          // Not before.
  std::unique_ptr<Errands> audits_;  // Null before the first.
  std::unique_ptr<Errands> outbox_;
  std::unique_ptr<Errands> copies_;
  std::vector<std::unique_ptr<Errands>> replica_copies_;  // By replica; null before the first.
  std::vector<std::unique_ptr<Errands>> lists_;           // None before the first.
  ListStatements list_statements_;

  Mutex gate_;
  CondVar all_entered_;
  bool stopped_ ABSL_GUARDED_BY(gate_) = false;
  int entering_ ABSL_GUARDED_BY(gate_) = 0;

  Mutex listener_mutex_;
  OutboxListener* listener_ ABSL_GUARDED_BY(listener_mutex_) = nullptr;

  mutable Mutex seen_mutex_;
  CondVar seen_changed_;
  absl::Status health_ ABSL_GUARDED_BY(seen_mutex_);
  std::string timeline_ ABSL_GUARDED_BY(seen_mutex_) = "unknown";
  std::optional<Failover> failover_ ABSL_GUARDED_BY(seen_mutex_);
  bool knows_failovers_ ABSL_GUARDED_BY(seen_mutex_) = false;  // Of all until the first session.
  bool refused_ ABSL_GUARDED_BY(seen_mutex_) = false;          // Lasting.
  StoreStats stats_ ABSL_GUARDED_BY(seen_mutex_);

  std::thread thread_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_STORE_LOOP_H_
