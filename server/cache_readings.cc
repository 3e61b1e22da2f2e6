#include "server/cache_readings.h"

#include <cstdint>
#include <string>

namespace counter {
namespace {

using Kind = MetricReading::Kind;

// Of one server and of a cluster alike, so that a series is always there.
void AppendNodeReadings(const redis::ConnectionStats& link, std::vector<MetricReading>& readings) {
  AddReading(
      readings, Kind::kGauge, "counter_redis_nodes",
      "Servers of Redis that own keys: 1, or the masters of a cluster; 0 until that is known.",
      link.nodes);
  AddReading(readings, Kind::kGauge, "counter_redis_nodes_connected",
             "Servers of Redis that are connected and take writes.", link.nodes_ready);
  AddReading(
      readings, Kind::kGauge, "counter_redis_nodes_breaker_open",
      "Servers of Redis that are connected and not asked, because they do not answer in time.",
      link.nodes_breaker_open);
  constexpr char kRedirects[] = "counter_redis_redirects_total";
  constexpr char kRedirectsHelp[] =
      "Commands that a node of a cluster did not answer, by what it said or became of them.";
  AddReading(readings, Kind::kCounter, kRedirects, kRedirectsHelp, link.moved, {{"kind", "moved"}});
  AddReading(readings, Kind::kCounter, kRedirects, kRedirectsHelp, link.asked, {{"kind", "ask"}});
  AddReading(readings, Kind::kCounter, kRedirects, kRedirectsHelp, link.tried_again,
             {{"kind", "try_again"}});
  AddReading(readings, Kind::kCounter, kRedirects, kRedirectsHelp, link.cluster_down,
             {{"kind", "cluster_down"}});
  AddReading(readings, Kind::kCounter, kRedirects, kRedirectsHelp, link.given_up,
             {{"kind", "given_up"}});
  constexpr char kMaps[] = "counter_redis_map_refreshes_total";
  constexpr char kMapsHelp[] =
      "Questions to a cluster who owns which slots, one a second at most, by what came of them.";
  AddReading(readings, Kind::kCounter, kMaps, kMapsHelp, link.maps_taken, {{"result", "taken"}});
  AddReading(readings, Kind::kCounter, kMaps, kMapsHelp, link.maps_refused,
             {{"result", "refused"}});
  AddReading(readings, Kind::kCounter, kMaps, kMapsHelp, link.maps_lost, {{"result", "lost"}});
}

}  // namespace

void AppendRedisReadings(const redis::RedisCachesStats& stats,
                         std::vector<MetricReading>& readings) {
  const redis::ConnectionStats& link = stats.connection;
  AddReading(
      readings, Kind::kGauge, "counter_redis_connected",
      "1 while the connection to Redis stands and Redis takes writes; of a cluster: to every node "
      "that "
      "owns slots.",
      link.ready ? 1 : 0);
  AddReading(
      readings, Kind::kGauge, "counter_redis_breaker_open",
      "1 while a Redis that is connected, or a node of a cluster, is not asked, because it does "
      "not "
      "answer in time.",
      link.breaker_open ? 1 : 0);
  AddReading(readings, Kind::kGauge, "counter_redis_requests_open",
             "Requests to Redis that wait or are not answered, abandoned ones too.",
             link.requests_open);
  AddReading(readings, Kind::kCounter, "counter_redis_connects_total",
             "Connections to Redis that were made.", link.connects);
  AddReading(readings, Kind::kCounter, "counter_redis_breaks_total",
             "Connections to Redis, and attempts to make one, that failed or were dropped.",
             link.breaks);
  AddReading(readings, Kind::kCounter, "counter_redis_breaker_opens_total",
             "How often Redis stopped being asked because it did not answer in time.",
             link.breaker_opens);
  constexpr char kRequests[] = "counter_redis_requests_total";
  constexpr char kRequestsHelp[] = "Requests to Redis that ended, by how.";
  AddReading(readings, Kind::kCounter, kRequests, kRequestsHelp, link.answers,
             {{"result", "answered"}});
  AddReading(readings, Kind::kCounter, kRequests, kRequestsHelp, link.timeouts,
             {{"result", "timed_out"}});
  AddReading(readings, Kind::kCounter, kRequests, kRequestsHelp, link.refused_full,
             {{"result", "refused"}});
  AddReading(readings, Kind::kCounter, kRequests, kRequestsHelp, link.lost, {{"result", "lost"}});
  AddReading(readings, Kind::kCounter, "counter_redis_late_answers_total",
             "Answers of Redis that came when nobody waited for them any more.", link.late_answers);
  AddReading(readings, Kind::kCounter, "counter_redis_commands_total", "Commands sent to Redis.",
             link.commands);
  AddReading(readings, Kind::kCounter, "counter_redis_writes_total",
             "Writes to Redis's socket; commands a write say how well they are packed.",
             link.writes);
  AppendNodeReadings(link, readings);

  constexpr char kPuts[] = "counter_cache_puts_total";
  constexpr char kPutsHelp[] = "Counts put into the shared cache, by whether it took them.";
  AddReading(readings, Kind::kCounter, kPuts, kPutsHelp, stats.counts.puts,
             {{"result", "acknowledged"}});
  AddReading(readings, Kind::kCounter, kPuts, kPutsHelp, stats.counts.puts_lost,
             {{"result", "lost"}});
  AddReading(readings, Kind::kCounter, "counter_cache_leases_total",
             "Misses that were left to this server to fill.", stats.counts.leases);
  AddReading(readings, Kind::kCounter, "counter_cache_damaged_total",
             "Keys of counts that held something foreign or too old and were deleted.",
             stats.counts.damaged);
  constexpr char kRecords[] = "counter_recent_likes_records_total";
  constexpr char kRecordsHelp[] = "Records of likes and unlikes, by whether the cache took them.";
  const redis::RedisRecentLikesStats& recent = stats.recent_likes;
  AddReading(readings, Kind::kCounter, kRecords, kRecordsHelp, recent.records,
             {{"result", "acknowledged"}});
  AddReading(readings, Kind::kCounter, kRecords, kRecordsHelp, recent.records_lost,
             {{"result", "lost"}});
  AddReading(readings, Kind::kCounter, "counter_rate_limit_fallbacks_total",
             "Charges that this server counted alone, because Redis could not be asked.",
             stats.limiter_fallbacks);
}

void AppendUpkeepReadings(const CacheUpkeepStats& stats, const RecentLikesUpkeepStats& unlikes,
                          std::vector<MetricReading>& readings) {
  constexpr char kRows[] = "counter_outbox_rows_total";
  constexpr char kRowsHelp[] =
      "Outbox rows that are done: acknowledged by the write-through, or swept later.";
  AddReading(readings, Kind::kCounter, kRows, kRowsHelp, stats.rows_acknowledged,
             {{"how", "acknowledged"}});
  AddReading(readings, Kind::kCounter, kRows, kRowsHelp, stats.rows_swept, {{"how", "swept"}});
  AddReading(readings, Kind::kGauge, "counter_outbox_rows_waiting",
             "Outbox rows of this server's commits that wait for their write-through.",
             stats.rows_waiting);
  AddReading(readings, Kind::kGauge, "counter_upkeep_items_owed",
             "Items whose count the shared cache may not have and is to be told again.",
             stats.items_owed);
  AddReading(readings, Kind::kCounter, "counter_upkeep_items_put_again_total",
             "Items whose count was told to the shared cache again.", stats.items_put_again);
  AddReading(readings, Kind::kCounter, "counter_upkeep_items_forgotten_total",
             "Items that were to be told again and for which there was no room.",
             stats.items_forgotten);
  AddReading(
      readings, Kind::kCounter, "counter_upkeep_items_doubted_total",
      "Cached counts that a failover of the store may have lost, and that were evicted when read.",
      stats.items_doubted);
  AddReading(readings, Kind::kCounter, "counter_upkeep_failures_total",
             "Rounds of upkeep in which something could not be made good yet.", stats.failures);
  AddReading(readings, Kind::kGauge, "counter_upkeep_unlikes_owed",
             "Unlikes that the recent likes may not know of and are to be told again.",
             unlikes.unlikes_owed);
  AddReading(readings, Kind::kCounter, "counter_upkeep_unlikes_told_again_total",
             "Unlikes that the recent likes were told of again.", unlikes.unlikes_told_again);
  AddReading(readings, Kind::kCounter, "counter_upkeep_unlikes_forgotten_total",
             "Unlikes that were to be told again and for which there was no room.",
             unlikes.unlikes_forgotten);
}

void AppendLocalReadings(const std::vector<NamedCacheStats>& caches,
                         std::vector<MetricReading>& readings) {
  const auto append = [&](Kind kind, const char* name, const char* help,
                          int64_t LocalCacheStats::*value) {
    for (const NamedCacheStats& one : caches)
      AddReading(readings, kind, name, help, one.stats.*value, {{"cache", std::string(one.cache)}});
  };
  append(Kind::kGauge, "counter_local_cache_entries",
         "What a cache inside the process holds: items, facts or users.",
         &LocalCacheStats::entries);
  append(Kind::kGauge, "counter_local_cache_entries_max",
         "What a cache inside the process may hold.", &LocalCacheStats::entries_max);
  append(Kind::kCounter, "counter_local_cache_evictions_total",
         "Entries forgotten before their time for want of room.", &LocalCacheStats::evictions);
}

void AppendNearReadings(const NearCountCache::Stats& stats, std::vector<MetricReading>& readings) {
  const auto append = [&](const char* result, int64_t value) {
    AddReading(readings, Kind::kCounter, "counter_near_cache_lookups_total",
               "Counts looked for in the server's own memory, in front of Redis.", value,
               {{"result", result}});
  };
  append("hit", stats.hits);
  append("miss", stats.misses);
}

}  // namespace counter
