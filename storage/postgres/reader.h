// Reader: strong reads, batched, on one connection.
//
// Use one for a store. Reads that have arrived while the former statement was in flight leave
// together in the next one (read_batcher.h). Counts and pairs go in statements of their own, one of
// each at a time. A read that failed for a reason that may pass is read again, a few times.
//
// Threads: everything on the loop's thread. Ownership: it must outlive the run of the loop.
// Callbacks of reads run exactly once, never from inside the call that took them.
#ifndef COUNTER_STORAGE_POSTGRES_READER_H_
#define COUNTER_STORAGE_POSTGRES_READER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/call_limits.h"
#include "storage/like.h"
#include "storage/like_store.h"
#include "storage/postgres/link.h"
#include "storage/postgres/read_batcher.h"
#include "storage/postgres/read_statements.h"
#include "storage/postgres/store_stats.h"

namespace counter::postgres {

class Reader final : public Link::Owner {
 public:
  using CountsBatcher = ReadBatcher<Item, ItemCount>;
  using PairsBatcher = ReadBatcher<Pair, PairState>;
  struct Options {
    CountsBatcher::Limits counts;
    PairsBatcher::Limits pairs;
    int reads_max = 10'000;  // Taken and not ended, of both kinds together.
  };
  // Counts what happened, for metrics. Rising.
  struct Stats {
    int64_t statements = 0;
    int64_t keys_asked = 0;  // By callers.
    int64_t keys_read = 0;   // From the database.
    RetryStats retries;
  };

  Reader(boost::asio::io_context& loop, const Options& options, Link::Options link);

  void Start() { link_.Start(); }
  void Stop() { link_.Stop(); }
  // Gives up the connection, as Link::GiveUp.
  void GiveUp(absl::string_view why) { link_.GiveUp(std::string(why)); }

  // False when the queue is full. Requires at least one key. The reads leave at the next Pump().
  bool PushCounts(std::vector<Item> items, const CallLimits& limits, CountsBatcher::Done& done);
  bool PushPairs(std::vector<Pair> pairs, const CallLimits& limits, PairsBatcher::Done& done);
  void Pump();
  // Sends statements that are no reads. Requires that the link is ready.
  void Ask(std::vector<StatementCall> calls, UnitDone done) {
    link_.Send(std::move(calls), std::move(done));
  }

  // Ends reads that have expired or were cancelled, sent or not.
  void DropUnwanted();
  // Ends all reads, sent or not.
  void FailAll(const absl::Status& error);
  void DropIfUnanswered(MonotonicTime now, absl::Duration limit) {
    link_.DropIfUnanswered(now, limit);
  }

  bool idle() const { return counts_.idle() && pairs_.idle(); }
  int keys() const { return counts_.keys() + pairs_.keys(); }     // Taken and not ended.
  int reads() const { return counts_.reads() + pairs_.reads(); }  // The same.
  const Link& link() const { return link_; }
  const Stats& stats() const { return stats_; }

  void LinkReady(Link& link) override;
  void LinkDown(Link& link) override;

 private:
  void SendCounts();
  void SendPairs();
  template <class Batcher>
  void Failed(Batcher& batcher, const UnitReply& reply);

  const int reads_max_;
  CountsBatcher counts_;
  PairsBatcher pairs_;
  Stats stats_;
  Link link_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_READER_H_
