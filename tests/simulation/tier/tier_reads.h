// PrimaryReads and StandbyReads: what stands in the places of reader.h and replica.h under the
// product's read_routing.h: questions to a node that are sent, read there and answered at steps of
// the schedule.
//
// Threads: one. Ownership: borrow the world and what the server knows; callbacks run once, or never
// if the server crashes.
#ifndef COUNTER_TESTS_SIMULATION_TIER_TIER_READS_H_
#define COUNTER_TESTS_SIMULATION_TIER_TIER_READS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "base/call_limits.h"
#include "base/clock.h"
#include "storage/like_store.h"
#include "storage/postgres/lag_meter.h"
#include "storage/postgres/primary_history.h"
#include "storage/postgres/read_batcher.h"
#include "storage/postgres/read_statements.h"
#include "storage/postgres/replica_statements.h"
#include "storage/postgres/session_check.h"
#include "tests/simulation/tier/tier_world.h"

namespace counter::simulation::tier {

// A session with a node that takes writes.
struct PrimaryLink {
  int node = kNone;  // kNone: not connected.
  postgres::SessionFacts facts;
  absl::Duration since;        // Of being connected or not.
  absl::Duration silent_from;  // Infinite while the node answers.

  bool ready() const { return node != kNone; }
};

// Questions to one node.
class OpenReads {
 public:
  using CountsDone = postgres::ReadBatcher<Item, ItemCount>::Done;
  using PairsDone = postgres::ReadBatcher<postgres::Pair, PairState>::Done;
  struct Read {
    std::vector<Item> items;
    CallLimits limits;
    CountsDone done;
    bool sent = false;
    bool was_read = false;
    absl::Duration sent_at;
    std::vector<ItemCount> counts;
    postgres::ReplicaPosition position;  // Of a standby.
  };

  bool idle() const { return reads_.empty(); }

 protected:
  explicit OpenReads(World& world) : world_(world) {}
  void FailSent();
  void FailExpired();
  ItemCount CountAt(int node, const Item& item, ReadSource source) const;
  Read* PickSent();
  Read Take(const Read* read);
  void Answer(Read read, int node, absl::StatusOr<postgres::ReadAnswers<ItemCount>> answer) const;

  World& world_;
  std::vector<Read> reads_;
};

class PrimaryReads : public OpenReads {
 public:
  PrimaryReads(World& world, const PrimaryLink& link) : OpenReads(world), link_(link) {}

  bool PushCounts(std::vector<Item> items, const CallLimits& limits, CountsDone& done);
  static bool PushPairs(const std::vector<postgres::Pair>&, const CallLimits&, PairsDone&) {
    return false;
  }
  void Pump();

  // One of the questions goes on; false if none can.
  bool GoOn();
  // The connection broke: what was sent is asked again on the next one.
  void Broken();
  void DropUnwanted() { FailExpired(); }
  // There has been no connection for too long.
  void FailAll();

 private:
  const PrimaryLink& link_;
};

class StandbyReads : public OpenReads {
 public:
  StandbyReads(World& world, int node, const postgres::LagMeter& meter,
               const postgres::PrimaryHistory& primary)
      : OpenReads(world), node_(node), meter_(meter), primary_(primary) {}

  // As replica.h.
  bool usable(MonotonicTime now) const;
  bool PushCounts(std::vector<Item> items, const CallLimits& limits, CountsDone& done);
  static bool PushPairs(const std::vector<postgres::Pair>&, const CallLimits&, PairsDone&) {
    return false;
  }
  void Pump() {}
  void Start() {}
  void Stop() {}
  void DropUnwanted() { FailExpired(); }
  void TimedOut(size_t) { Rest(); }

  bool GoOn();
  // Connects, if that is due, and asks where it is.
  void Probe();
  void Broken();
  int node() const { return node_; }

 private:
  std::optional<MonotonicTime> FreshAt(const postgres::ReplicaPosition& position) const;
  bool MayAnswer(const postgres::ReplicaPosition& position) const;
  void Rest();

  const int node_;
  const postgres::LagMeter& meter_;
  const postgres::PrimaryHistory& primary_;
  bool connected_ = false;
  postgres::SessionFacts facts_;
  std::optional<postgres::ReplicaPosition> position_;  // When last heard.
  absl::Duration rest_until_;
};

}  // namespace counter::simulation::tier

#endif  // COUNTER_TESTS_SIMULATION_TIER_TIER_READS_H_
