// KnownCount: what a server's own memory holds of one item's count, and when it may answer with it.
//
// Use it where that memory is (near_count_cache.h), and where its rules are held to their bounds by
// simulation. A count is fresh for a while after it came; then one asker at a time is sent to the
// far cache while the others are answered from here, until it is stale. It never goes back in
// version: an older count is refused, also for some time after the end.
//
// Pure: no clock and no lock of its own. Threads: one at a time. Ownership: values only.
#ifndef COUNTER_CACHE_NEAR_KNOWN_COUNT_H_
#define COUNTER_CACHE_NEAR_KNOWN_COUNT_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/count_cache.h"

namespace counter {

// How long after it came a count is answered. Requires stale >= fresh.
struct KnownCountLife {
  absl::Duration fresh;
  absl::Duration stale;
};

struct KnownCount {
  // While one caller asks the far cache, the others are answered from here for so long; then
  // another one asks. Longer than the far cache's budget of 20 ms.
  static constexpr absl::Duration kAsking = absl::Milliseconds(50);
  // How long after its end a count still keeps older ones out.
  static constexpr absl::Duration kRememberOlder = absl::Seconds(5);

  int64_t count = 0;
  int64_t version = -1;  // Less than any.
  absl::Time read_at;
  MonotonicTime fresh_until;
  MonotonicTime stale_until;

  bool is_stale(MonotonicTime now) const { return now >= stale_until; }

  // Whether the asker may be answered. If not, it asks the far cache, for others too.
  bool Answers(MonotonicTime now) {
    if (is_stale(now)) return false;
    if (now < fresh_until) return true;
    fresh_until = std::min(now + kAsking, stale_until);
    return false;
  }

  // Takes what has come; false, and nothing changes, if something newer is known.
  bool Take(const CountEntry& entry, MonotonicTime now, const KnownCountLife& life) {
    // Versions that the store has lost in a failover must not stand in the way of its later ones.
    if (entry.version < version && now < stale_until + kRememberOlder) return false;
    // A newer version has all that was in the older one. Of one that goes back that is not known.
    const bool goes_back = entry.version < version;
    *this = {entry.count, entry.version,
             goes_back ? entry.read_at : std::max(entry.read_at, read_at), now + life.fresh,
             now + life.stale};
    return true;
  }
};

}  // namespace counter

#endif  // COUNTER_CACHE_NEAR_KNOWN_COUNT_H_
