// ClusterSimulation: the cache protocol over a Redis Cluster in which nodes fail, one schedule a
// seed.
//
// Three masters, each with a replica that lags; two items in slots of different masters; two
// servers. What servers decide is the product's own pure code: which node owns a slot (slot_map.h),
// what a node's refusal means and where a command goes next (redirect.h, routed_request.h), when
// the map is asked for again (refresh_schedule.h), what is put again (recent_puts.h), and the rules
// of the cache (count_protocol.h). Masters die or are cut off and replicas take over without what
// they were not sent; nodes start again, empty or with an old file; slots move. The store, time and
// the judge (judge.h) are those of cache_simulation.h.
//
// Beyond what that judge checks for one Redis: a failure excuses the slots of the node that failed,
// and no others.
//
// Threads: one at a time. Everything follows from the seed.
#ifndef COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_SIMULATION_H_
#define COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_SIMULATION_H_

#include <cstdint>

#include "tests/simulation/judge.h"

namespace counter::simulation::cluster {

// What the product decides; each false is a fault that it could have.
struct Decisions {
  bool refreshes_map = true;            // A map is asked for when it is doubted, and now and then.
  bool puts_again_on_new_run = true;    // What was put on a node that has started anew,
  bool puts_again_on_new_owner = true;  // and into slots that have another owner.
  bool asks_before_asking = true;       // ASK is followed with ASKING, and only once.
  bool hears_heartbeats = true;         // A node that says it owns its slots no more is heard.
  bool doubts_old_files = true;         // What a node has from before its start is not believed.
  bool follows_redirections = true;     // To the node that is named.
};

// What a schedule may hold.
struct Faults {
  bool losses = true;
  bool evictions = true;
  bool crashes = true;  // Of servers.
  bool failovers = true;
  bool restarts = true;
  bool migrations = true;
};

struct Met {
  int64_t failovers = 0;
  int64_t redirected = 0;  // Commands that were sent on.
  int64_t put_again = 0;   // Items that were owed for a loss.
};

struct ClusterOutcome {
  Outcome outcome;
  Met met;
};

// Plays the schedule of `seed`.
ClusterOutcome Play(uint64_t seed, const Decisions& decisions = {}, const Faults& faults = {},
                    bool traced = false);

}  // namespace counter::simulation::cluster

#endif  // COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_SIMULATION_H_
