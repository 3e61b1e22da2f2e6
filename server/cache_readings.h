// CacheReadings: what the caches and their upkeep count about themselves, as metrics. Part of main:
// only here and in backends are concrete classes named. docs/metrics.md lists the series.
//
// Threads: any. Ownership: values only.
#ifndef COUNTER_SERVER_CACHE_READINGS_H_
#define COUNTER_SERVER_CACHE_READINGS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "cache/local/local_cache_stats.h"
#include "cache/near/near_count_cache.h"
#include "cache/redis/redis_caches.h"
#include "server/metrics/metrics.h"
#include "server/upkeep/cache_upkeep.h"
#include "server/upkeep/recent_likes_upkeep.h"

namespace counter {

void AppendRedisReadings(const redis::RedisCachesStats& stats,
                         std::vector<MetricReading>& readings);
void AppendUpkeepReadings(const CacheUpkeepStats& stats, const RecentLikesUpkeepStats& unlikes,
                          std::vector<MetricReading>& readings);

// A cache inside the process, under the name that its label has.
struct NamedCacheStats {
  absl::string_view cache;
  LocalCacheStats stats;
};
void AppendLocalReadings(const std::vector<NamedCacheStats>& caches,
                         std::vector<MetricReading>& readings);

// How often the near cache answered itself; what it holds is AppendLocalReadings'.
void AppendNearReadings(const NearCountCache::Stats& stats, std::vector<MetricReading>& readings);

}  // namespace counter

#endif  // COUNTER_SERVER_CACHE_READINGS_H_
