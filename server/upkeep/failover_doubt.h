// FailoverDoubt: what a shared cache may still hold of a history that was lost.
//
// A standby that takes over asynchronously may lack what the former primary had acknowledged last.
// The caches were told of it, at versions that the new primary never gave out, and by their rules a
// newer version stays. So after a failover, what was read before it and may have changed after the
// last commit that was kept is not believed: a count is evicted and read from the store again, a
// recent like is looked up in the store. What changed earlier, which is nearly everything, stays.
//
// Pure functions; any thread.
#ifndef COUNTER_SERVER_UPKEEP_FAILOVER_DOUBT_H_
#define COUNTER_SERVER_UPKEEP_FAILOVER_DOUBT_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "storage/like_store.h"

namespace counter {

// How much later than the first another server may notice the failover, and the clocks may differ.
inline constexpr absl::Duration kFailoverNoticedWithin = absl::Seconds(5);
// How long a batch may take from the clock of its versions to its commit, and the clocks may
// differ.
inline constexpr absl::Duration kCommitWithin = absl::Seconds(10);

// Of what was read from the store at `read_at`.
inline bool IsInDoubt(const std::optional<Failover>& failover, absl::Time read_at) {
  return failover.has_value() && read_at < failover->seen + kFailoverNoticedWithin &&
         read_at > failover->kept_until - kCommitWithin;
}

// Of a count at that version, which is a clock in microseconds.
inline bool IsCountInDoubt(const std::optional<Failover>& failover, int64_t version,
                           absl::Time read_at) {
  return IsInDoubt(failover, read_at) &&
         absl::FromUnixMicros(version) > failover->kept_until - kCommitWithin;
}

}  // namespace counter

#endif  // COUNTER_SERVER_UPKEEP_FAILOVER_DOUBT_H_
