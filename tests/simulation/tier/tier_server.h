// Server: what one server of the product knows and remembers, and what is lost when it crashes.
//
// Which primary it follows and how it learns of failovers is here, as store_loop.h does it: links
// are taken or refused by primary_history.h, the primary is probed, its timeline is noted.
//
// Threads: one. Ownership: borrows the world.
#ifndef COUNTER_TESTS_SIMULATION_TIER_TIER_SERVER_H_
#define COUNTER_TESTS_SIMULATION_TIER_TIER_SERVER_H_

#include <array>
#include <optional>
#include <vector>

#include "cache/near/known_count.h"
#include "server/upkeep/outbox_match.h"
#include "storage/cache_outbox.h"
#include "storage/like_store.h"
#include "storage/postgres/lag_meter.h"
#include "storage/postgres/primary_history.h"
#include "storage/postgres/read_routing.h"
#include "tests/simulation/tier/tier_reads.h"
#include "tests/simulation/tier/tier_world.h"

namespace counter::simulation::tier {

// What the judge wants to know of a value that is shown, and nobody else sees.
struct Origin {
  bool is_of_replica = false;
  absl::Duration fresh_at;  // Of a replica: everything that readers saw before is in it,
  absl::Duration until;     // and it may be shown until then.
};

class Server {
 public:
  // `life`: which of the servers that ever were it is.
  Server(World& world, int number, int life);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // As time goes on: connects, probes, notes.
  void Probe();
  // Connections to the node break, or to the link's node.
  void Break(int node);
  void Leave(PrimaryLink& link);
  void FollowPrimary();

  // Whether it knows the present history, and what that has lost.
  bool follows() const { return history.timeline_number() == world_.database.timeline(); }
  bool knows_failover() const { return follows() && noted; }

  bool serves = false;
  absl::Duration next_probe_at;
  const int number;
  const int life;
  const absl::Duration started_at;
  postgres::PrimaryHistory history;
  postgres::LagMeter meter;
  PrimaryLink writer;
  PrimaryLink reader;
  PrimaryReads primary;
  postgres::ReadRouting<PrimaryReads, StandbyReads> reads;
  bool noted = false;
  absl::Duration noted_at;
  absl::Duration last_broken_at = -absl::InfiniteDuration();
  std::optional<Failover> failover;

  OutboxMatch match{kOutboxAge, 100};
  std::vector<int64_t> done_rows;  // To be deleted by the next write.
  std::array<bool, kItems> owed = {};
  std::array<KnownCount, kItems> near;
  std::array<Origin, kItems> near_origin;

 private:
  void Connect(PrimaryLink& link);
  bool TakesWrites(int node) const;
  bool ProbePrimary();
  void NoteTimeline();
  void BeginToServe();

  World& world_;
};

}  // namespace counter::simulation::tier

#endif  // COUNTER_TESTS_SIMULATION_TIER_TIER_SERVER_H_
