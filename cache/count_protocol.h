// The rules of CountCache (rules 1 to 4 in count_cache.h) as pure code: what stands under one key,
// and what a Get or a Put makes of it.
//
// Use it where the decision is taken: the in-process cache calls it under its lock, and the scripts
// of a remote cache are held to it by simulation. It is no store: it has no clock, no map and no
// lock. Expiry and eviction are the caller's: a cell that has expired or was evicted is absent.
//
// Threads: any. Ownership: values only.
#ifndef COUNTER_CACHE_COUNT_PROTOCOL_H_
#define COUNTER_CACHE_COUNT_PROTOCOL_H_

#include <cstdint>

#include "absl/time/time.h"
#include "cache/count_cache.h"

namespace counter {

// How long a fill lease stands. Longer than a read of the store takes, short enough that an item
// whose filler has died is soon filled by somebody else.
inline constexpr absl::Duration kFillLeaseLife = absl::Seconds(3);

// Values live for the configured time, give or take this share, so that what was filled together
// does not expire together.
inline constexpr double kCountTtlJitter = 0.1;

// What stands under the key of one item.
struct CountCell {
  enum class Kind : uint8_t { kAbsent, kLease, kValue };

  Kind kind = Kind::kAbsent;
  int64_t version = 0;  // Of a value: its version. Of a lease: the lowest that its fill may store.
  int64_t count = 0;    // Of a value.
  absl::Time read_at;   // Of a value.
  FillToken token = 0;  // Of a lease.
};

struct CountGetStep {
  CountLookup::Kind answer = CountLookup::Kind::kMiss;
  CountCell cell;  // What stands there now. On kLease it is new and lives for kFillLeaseLife.
};
// Requires fresh_token != 0, never given out for this key before.
CountGetStep StepGet(const CountCell& cell, FillToken fresh_token);

struct CountPutStep {
  enum class Effect : uint8_t {
    kNothing,        // The cell stays as it was.
    kRaisedMinimum,  // Of a lease. The lease ends when it would have ended.
    kDroppedLease,   // The fill came with less than the minimum: the key is absent.
    kStored,         // A new value; its life begins.
    kRefreshed,      // The same value was seen again, later; its life begins anew.
  };
  Effect effect = Effect::kNothing;
  CountCell cell;  // What stands there now.
};
CountPutStep StepPut(const CountCell& cell, const CountPut& put);

// How long a value lives on that a put has stored or refreshed: `left` is how long what stood there
// had to live, `life` how long what is put may. What stood there as a value and ends soon may be of
// a replica: it may lack a write that was put before its lease, and so may what is put now, if it
// was read before that write. So it ends when it would have ended.
absl::Duration LifeAfterPut(const CountCell& before, CountPutStep::Effect effect,
                            absl::Duration left, absl::Duration life);

// How long a value lives that was read `age` ago: `ttl` with jitter, counted from the read, so that
// a put that was long on its way does not outlive the bound. `random` is any 64 random bits. Zero:
// it has ended already.
absl::Duration CountLife(absl::Duration ttl, absl::Duration age, uint64_t random);

}  // namespace counter

#endif  // COUNTER_CACHE_COUNT_PROTOCOL_H_
