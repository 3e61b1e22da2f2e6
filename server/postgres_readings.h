// PostgresReadings: what the PostgreSQL store counts about itself, as metrics. Part of main: only
// here and in backends is the concrete class named. docs/metrics.md lists the series.
//
// Threads: any. Ownership: values only.
#ifndef COUNTER_SERVER_POSTGRES_READINGS_H_
#define COUNTER_SERVER_POSTGRES_READINGS_H_

#include <optional>
#include <vector>

#include "server/metrics/metrics.h"
#include "storage/like_store.h"
#include "storage/postgres/store_stats.h"

namespace counter {

void AppendPostgresReadings(const postgres::StoreStats& stats,
                            std::vector<MetricReading>& readings);
// Of LikeStore::LastFailover().
void AppendFailoverReadings(const std::optional<Failover>& failover,
                            std::vector<MetricReading>& readings);

}  // namespace counter

#endif  // COUNTER_SERVER_POSTGRES_READINGS_H_
