// LocalCacheStats: how full an in-process cache is, for metrics. Values only.
#ifndef COUNTER_CACHE_LOCAL_LOCAL_CACHE_STATS_H_
#define COUNTER_CACHE_LOCAL_LOCAL_CACHE_STATS_H_

#include <cstdint>

namespace counter {

struct LocalCacheStats {
  int64_t entries = 0;  // Held now; the header of the cache says what one entry is.
  int64_t entries_max = 0;
  int64_t evictions = 0;  // Entries forgotten before their time for want of room, since the start.
};

}  // namespace counter

#endif  // COUNTER_CACHE_LOCAL_LOCAL_CACHE_STATS_H_
