// Lane: the writes of some buckets, on one connection.
//
// Use one for each range of buckets. What is pushed waits in the lane's WriteCombiner; whenever the
// connection can take a unit, what has arrived leaves together, as one statement and one
// transaction. The lane decides what a failed unit means (RetryOf) and sees to the outbox.
//
// - While the link is down, mutations wait. The store calls FailWaiting() when it has been down for
//   too long.
// - A unit whose link was lost before its answer came ends as unknown: it is not run again. Run
//   again, it might answer "not changed" to the call that made the change, or make a second change
//   for one call if somebody undid the first in between.
//
// Threads: everything on the loop's thread. Ownership: the host outlives it.
#ifndef COUNTER_STORAGE_POSTGRES_LANE_H_
#define COUNTER_STORAGE_POSTGRES_LANE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "base/call_limits.h"
#include "storage/cache_outbox.h"
#include "storage/like.h"
#include "storage/postgres/link.h"
#include "storage/postgres/sqlstate.h"
#include "storage/postgres/store_stats.h"
#include "storage/postgres/unit_statements.h"
#include "storage/queue_patience.h"
#include "storage/store_observer.h"
#include "storage/write_combiner.h"

namespace counter::postgres {

// What to do with a unit of so many rows that was not committed.
struct UnitVerdict {
  UnitFailure failure = UnitFailure::kFinal;
  absl::Status error;  // What its mutations end with, if they end.
  ErrorClass met = ErrorClass::kMisfit;
};
UnitVerdict JudgeUnit(UnitFate fate, const ServerError& error, int rows);

class Lane final : public Link::Owner {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    virtual void MutationsEnded(std::vector<EndedMutation> ended) = 0;
    // Before the mutations of the batch end.
    virtual void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) = 0;
  };
  struct Options {
    int number = 0;
    int batch_rows_max = 300;       // Of one statement.
    int units_in_flight_max = 2;    // Of one connection.
    int acknowledged_max = 10'000;  // Outbox rows to be deleted.
    WriteCombiner::Limits combiner;
    absl::Duration wait_max = absl::InfiniteDuration();  // As QueuePatience.
    StoreObserver* observer = nullptr;                   // May be null.
  };
  // Counts what happened, for metrics. Rising.
  struct Stats {
    int64_t units = 0;
    int64_t rows = 0;
    int64_t mutations = 0;
    RetryStats retries;    // Units given out again, whole, after they were rolled back.
    int64_t bisected = 0;  // Units given out again in halves.
    int64_t refused = 0;   // Units of one row that were not taken.
  };

  Lane(boost::asio::io_context& loop, Options options, Link::Options link, Host& host);

  void Start() { link_.Start(); }
  void Stop() { link_.Stop(); }
  // Gives up the connection, as Link::GiveUp.
  void GiveUp(absl::string_view why) { link_.GiveUp(std::string(why)); }
  // Whether no unit waits for its answer.
  bool nothing_sent() const { return in_flight_.empty(); }

  // OK, and the mutation leaves at the next Pump(); or why it is not taken: the queue is full, or
  // too slow for it.
  absl::Status Push(const Mutation& mutation, const CallLimits& limits, Ticket ticket);
  // Sends what can leave.
  void Pump();
  // Ends what waits and has expired or was cancelled.
  void DropUnwanted();
  void DropIfUnanswered(MonotonicTime now, absl::Duration limit) {
    link_.DropIfUnanswered(now, limit);
  }
  // Ends everything that waits.
  void FailWaiting(const absl::Status& error);
  // A row of another history than the present one is left alone.
  void Acknowledge(const OutboxRow& row);
  // After a failover: numbers of lost rows may be given out again.
  void BeginHistory() {
    acknowledged_.clear();
    ++history_;
  }

  const Link& link() const { return link_; }
  int waiting() const { return combiner_.waiting(); }
  int mutations() const { return combiner_.mutations(); }
  // How long a mutation that came now would wait for its commit.
  absl::Duration Wait(MonotonicTime now) const { return patience_.Wait(queue(), now); }
  const Stats& stats() const { return stats_; }

  void LinkReady(Link& link) override;
  void LinkDown(Link& link) override;

 private:
  struct InFlight {
    WriteUnit unit;
    std::vector<int64_t> acknowledged;
    int64_t history = 0;  // In which it was sent.
    MonotonicTime sent;
  };

  bool MaySend() const;
  QueuePatience::Queue queue() const;
  void SendUnit(WriteUnit unit);
  void UnitEnded(UnitId id, const UnitReply& reply);
  void Commit(const InFlight& sent, const UnitApplied& applied);
  void Fail(const InFlight& sent, const UnitVerdict& verdict);
  void GiveEnded();

  const Options options_;
  Host& host_;
  WriteCombiner combiner_;
  QueuePatience patience_;
  std::map<UnitId, InFlight> in_flight_;
  std::deque<int64_t> acknowledged_;  // To be deleted by the next unit; of this history.
  int64_t history_ = 0;
  std::vector<EndedMutation> ended_;  // To be given to the host.
  Stats stats_;
  Link link_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_LANE_H_
