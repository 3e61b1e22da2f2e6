// CacheSimulation: the cache protocol in a world where everything goes wrong, one schedule a seed.
//
// Two servers over one store and one Redis. The decisions are the product's own pure code
// (count_protocol.h, recent_set.h, like_window.h, recent_puts.h); store, Redis, messages and time
// are simulated. A schedule is a random order of calls beginning and going on, messages arriving
// late, in any order or never, replies getting lost, keys dying, servers crashing, Redis failing
// over to a replica that lags. At its end the world comes to rest: all messages have arrived or are
// lost, the outbox is swept.
//
// A judge (judge.h) checks, at every step: what is shown was stored; versions never go back; a
// write-through that was acknowledged is shown; nothing shown is older than the bound; a durable
// like is not failed; a like is answered only if the pair was liked during the call; no window
// grants more than the limit. At rest: the cache is not behind the store, and no like is remembered
// that has ended.
//
// Use it to hold decisions to the protocol: replace one of Decisions by a wrong one, and some seed
// must find it. It tests no socket, no script and no thread.
//
// Threads: one at a time. Everything follows from the seed.
#ifndef COUNTER_TESTS_SIMULATION_CACHE_SIMULATION_H_
#define COUNTER_TESTS_SIMULATION_CACHE_SIMULATION_H_

#include <cstdint>

#include "cache/count_protocol.h"
#include "cache/local/recent_set.h"
#include "tests/simulation/judge.h"

namespace counter::simulation {

// A write-through or a fill as it arrives at Redis. `delta` is what the write changed: the protocol
// never looks at it, wrong variants do.
using PutDecision = CountPutStep (*)(const CountCell& cell, const CountPut& put, int64_t delta);

// What a fact becomes before it is put in order.
using FactDecision = LikeFact (*)(const LikeFact& fact, absl::Time now);

// What the product decides. The defaults are the product's.
struct Decisions {
  CountGetStep (*get)(const CountCell& cell, FillToken fresh_token) = StepGet;
  PutDecision put = [](const CountCell& cell, const CountPut& put, int64_t) {
    return StepPut(cell, put);
  };
  FactDecision fact = [](const LikeFact& fact, absl::Time) { return fact; };
  bool like_believes_recent = false;  // A like is answered from the recent likes.
  bool fails_on_cache_error = false;  // A write whose write-through fails is answered so.
  bool sweeps_outbox = true;          // Rule 5.
  bool puts_again_on_new_run = true;  // Rule 6.
};

// What a schedule may hold.
struct Faults {
  bool losses = true;     // Messages and replies get lost, and messages are late.
  bool evictions = true;  // Keys die.
  bool crashes = true;    // Servers do.
  bool failovers = true;  // To a replica of Redis that lags.
};

// Plays the schedule of `seed`.
Outcome Play(uint64_t seed, const Decisions& decisions = {}, const Faults& faults = {},
             bool traced = false);

}  // namespace counter::simulation

#endif  // COUNTER_TESTS_SIMULATION_CACHE_SIMULATION_H_
