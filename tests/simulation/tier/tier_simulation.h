// TierSimulation: the data tier's read side in a world where everything goes wrong, one schedule a
// seed: a primary with two standbys, a shared cache of counts, two servers.
//
// The decisions are the product's own pure code: who answers a read (read_routing.h), how old a
// replica is (replica_age.h, lag_meter.h), which primary is followed (primary_history.h), what a
// token asks for (request_check.h), what a cache answers and is told (count_reads.h,
// count_protocol.h, known_count.h), what it doubts after a failover (failover_doubt.h) and which
// rows of the outbox are done (outbox_match.h). PostgreSQL, Redis, messages and time are values.
//
// A schedule is a random order of writes, reads in every mode and messages, while replay pauses,
// standbys are cut off, connections break, keys die, servers crash and the primary is failed over:
// to the synchronous standby where commits wait for one, else to one that lacks the last commits.
// At its end the world comes to rest.
//
// A judge (tier_judge.h) checks every answer against the contract, and knows exactly which commits
// a failover has lost. Cluster and rate limits are not here: cache_simulation.h has the protocol of
// one Redis, cluster_simulation.h a cluster of them.
//
// Threads: one at a time. Everything follows from the seed.
#ifndef COUNTER_TESTS_SIMULATION_TIER_TIER_SIMULATION_H_
#define COUNTER_TESTS_SIMULATION_TIER_TIER_SIMULATION_H_

#include <cstdint>
#include <string>

namespace counter::simulation::tier {

// What the product decides; each false is a fault that it could have.
struct Decisions {
  // ---- Which answers of a replica are given.
  bool bounds_lag = true;           // Not those that are further behind than the bound.
  bool measures_by_log = true;      // Behind by the primary's log, not by what was replayed last.
  bool asks_position_first = true;  // Where it is is asked before the snapshot is taken.
  bool checks_timeline = true;      // Not those of a standby that was left behind.
  bool checks_token_of_what_was_read = true;  // And not in a question of its own.
  bool asks_primary_for_token = true;         // Where the replica has not what the token names.
  // ---- Tokens.
  bool tokens_name_timeline = true;
  // ---- What a cache is told.
  bool replica_fills_are_short = true;
  bool short_fills_keep_their_end = true;  // Whatever is put over them.
  bool dates_by_replica = true;  // An answer is as old as its replica, not as its arrival.
  bool near_is_bounded = true;
  bool sweeps_outbox = true;
  // ---- Failover.
  bool doubts_after_failover = true;
  bool waits_for_note = true;  // A server serves when it knows of failovers before it.
  bool leaves_old_primary = true;
  bool rows_have_history = true;  // A row of a lost history is not deleted in the new one.
  bool waits_for_standby = true;  // Where durability is replicated.
};

// What a schedule may hold.
struct Faults {
  bool losses = true;  // Words to Redis get lost, and are late; connections break.
  bool evictions = true;
  bool crashes = true;
  bool replicas = true;  // Reads may go to standbys, which lag.
  bool failovers = true;
  // The old primary is stopped or cut off before another one takes over. False: it is made
  // read-only and goes on answering reads.
  bool fences = true;
  bool one_item = false;  // All of it about one item.
};

struct Outcome {
  std::string violation;  // Empty: none.
  std::string trace;      // What happened, a line a step, if it was asked for.
  // For a test to see that something happened.
  int64_t from_cache = 0;
  int64_t from_replica = 0;
  int64_t from_primary = 0;
  int64_t strong = 0;
  int64_t with_token = 0;
  int64_t with_token_of_lost = 0;  // Of a write that a failover has lost.
  int64_t failovers = 0;
  int64_t lost = 0;     // Acknowledged writes that a failover has lost.
  int64_t doubted = 0;  // Counts of the cache that were read again for it.
};

// Plays the schedule of `seed`.
Outcome Play(uint64_t seed, const Decisions& decisions = {}, const Faults& faults = {},
             bool traced = false);

}  // namespace counter::simulation::tier

#endif  // COUNTER_TESTS_SIMULATION_TIER_TIER_SIMULATION_H_
