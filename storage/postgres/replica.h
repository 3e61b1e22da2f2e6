// Replica: reads that may lag, batched, on one connection to a standby.
//
// Use one for each standby, through the ReadRouter, which asks the primary for what a replica did
// not answer. It answers only what is known to be within lag_max: what was acknowledged before the
// answer's as_of is in it, and as_of is not longer ago than lag_max when the answer comes. Each
// batch asks first where the replica is, in the same unit (replica_statements.h); lag_meter.h makes
// an age of it.
//
// A read that a replica cannot answer ends with an error and is not tried again here: because the
// replica is behind, was promoted, is of another cluster or timeline, cancelled the statement (it
// conflicted with replay), hangs, or went. After a failure it is left alone for rest_first, then
// twice as long each time, up to rest_max; its link has a backoff of its own (link_state.h).
//
// Threads: everything on the loop's thread. Ownership: borrows the meter and the history; must
// outlive the run of the loop. Callbacks of reads run exactly once.
#ifndef COUNTER_STORAGE_POSTGRES_REPLICA_H_
#define COUNTER_STORAGE_POSTGRES_REPLICA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "storage/like.h"
#include "storage/like_store.h"
#include "storage/postgres/lag_meter.h"
#include "storage/postgres/link.h"
#include "storage/postgres/primary_history.h"
#include "storage/postgres/read_batcher.h"
#include "storage/postgres/read_statements.h"
#include "storage/postgres/replica_statements.h"
#include "storage/postgres/store_stats.h"

namespace counter::postgres {

class Replica final : public Link::Owner {
 public:
  using CountsBatcher = ReadBatcher<Item, ItemCount>;
  using PairsBatcher = ReadBatcher<Pair, PairState>;
  struct Options {
    CountsBatcher::Limits counts;
    PairsBatcher::Limits pairs;
    absl::Duration lag_max = absl::Seconds(1);
    // How long a read waits here before the primary is asked.
    absl::Duration patience = absl::Milliseconds(100);
    absl::Duration rest_first = absl::Milliseconds(100);
    absl::Duration rest_max = absl::Seconds(5);
  };

  // Sets the probe and the veto of the link.
  Replica(boost::asio::io_context& loop, const Options& options, Link::Options link,
          const LagMeter& meter, const PrimaryHistory& primary);

  void Start() { link_.Start(); }
  void Stop() { link_.Stop(); }

  // Whether a read that came now would likely be answered here.
  bool usable(MonotonicTime now) const;
  // False when the queue is full. Requires at least one key. The reads leave at the next Pump().
  bool PushCounts(std::vector<Item> items, const CallLimits& limits, CountsBatcher::Done& done);
  bool PushPairs(std::vector<Pair> pairs, const CallLimits& limits, PairsBatcher::Done& done);
  void Pump();

  // Ends reads that have waited too long, sent or not.
  void DropUnwanted();
  void DropIfUnanswered(MonotonicTime now, absl::Duration limit) {
    link_.DropIfUnanswered(now, limit);
  }
  // So many keys of a read did so, though its caller has time left.
  void TimedOut(size_t keys);
  bool idle() const { return counts_.idle() && pairs_.idle(); }
  int keys() const { return counts_.keys() + pairs_.keys(); }  // Taken and not ended.
  const Link& link() const { return link_; }
  // What it was found to be behind when it was last heard, growing since; nothing if that is not
  // known.
  std::optional<absl::Duration> lag(MonotonicTime now) const;
  ReplicaStats Stats(MonotonicTime now) const;

  void LinkReady(Link& link) override;
  void LinkDown(Link& link) override;

 private:
  Link::Options Watched(Link::Options link);
  std::optional<std::string> Probed(const Table& answer);
  std::optional<MonotonicTime> FreshAt(const ReplicaPosition& position) const;
  void SendCounts();
  void SendPairs();
  template <class Batcher, class Answers>
  void Ended(Batcher& batcher, const UnitReply& reply, const Answers& answers, size_t keys);
  void Rest();

  const Options options_;
  const LagMeter& meter_;
  const PrimaryHistory& primary_;
  CountsBatcher counts_;
  PairsBatcher pairs_;
  std::optional<ReplicaPosition> position_;  // When last heard.
  MonotonicTime rest_until_;
  absl::Duration next_rest_;
  ReplicaStats stats_;
  Link link_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_REPLICA_H_
