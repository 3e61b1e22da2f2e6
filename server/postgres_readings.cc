#include "server/postgres_readings.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace counter {
namespace {

using Kind = MetricReading::Kind;

void AddRetries(std::vector<MetricReading>& readings, const char* kind,
                const postgres::RetryStats& retries) {
  const auto add = [&](const char* met, int64_t value) {
    AddReading(readings, Kind::kCounter, "counter_postgres_retries_total",
               "Statements that were run again, by what their former run met.", value,
               {{"kind", kind}, {"met", met}});
  };
  add("conflict", retries.conflict);
  add("timeout", retries.timeout);
  add("connection", retries.connection);
}

void AddReplicas(const postgres::StoreStats& stats, std::vector<MetricReading>& readings) {
  int64_t in_use = 0;
  int64_t answered = 0;
  int64_t behind = 0;
  int64_t failed = 0;
  int64_t timed_out = 0;
  int64_t lag = 0;
  for (const postgres::ReplicaStats& replica : stats.replicas) {
    in_use += replica.usable ? 1 : 0;
    answered += replica.keys_answered;
    behind += replica.keys_behind;
    failed += replica.keys_failed;
    timed_out += replica.keys_timed_out;
    if (replica.lag.has_value()) lag = std::max(lag, absl::ToInt64Milliseconds(*replica.lag));
  }
  AddReading(readings, Kind::kGauge, "counter_postgres_replicas",
             "Replicas that the settings name.", static_cast<int64_t>(stats.replicas.size()));
  AddReading(readings, Kind::kGauge, "counter_postgres_replicas_in_use",
             "Replicas that reads go to just now.", in_use);
  AddReading(
      readings, Kind::kGauge, "counter_postgres_replica_lag_milliseconds",
      "How far the last of the replicas that can be measured is behind the primary, at most.", lag);
  const auto add_keys = [&](const char* result, int64_t value) {
    AddReading(readings, Kind::kCounter, "counter_postgres_replica_keys_total",
               "Items and pairs that a replica was asked for, by what came of it.", value,
               {{"result", result}});
  };
  add_keys("answered", answered - stats.keys_older_than_token);
  add_keys("older_than_token", stats.keys_older_than_token);
  add_keys("behind", behind);
  add_keys("failed", failed);
  add_keys("timed_out", timed_out);
}

}  // namespace

void AppendFailoverReadings(const std::optional<Failover>& failover,
                            std::vector<MetricReading>& readings) {
  const auto add = [&](const char* name, const char* help, absl::Time time) {
    const bool is_known = failover.has_value() && time != absl::InfinitePast();
    AddReading(readings, Kind::kGauge, name, help, is_known ? absl::ToUnixSeconds(time) : 0);
  };
  const Failover last = failover.value_or(Failover{absl::InfinitePast(), absl::InfinitePast()});
  add("counter_postgres_failover_seen_timestamp_seconds",
      "When the last failover of PostgreSQL was noticed first, by any server; 0: there was none.",
      last.seen);
  add("counter_postgres_failover_kept_until_timestamp_seconds",
      "Until when all that was acknowledged before the last failover of PostgreSQL is kept; 0: "
      "there was none, or it is not known.",
      last.kept_until);
}

void AppendPostgresReadings(const postgres::StoreStats& stats,
                            std::vector<MetricReading>& readings) {
  AddReading(readings, Kind::kGauge, "counter_postgres_connections",
             "Connections to PostgreSQL that are ready.", stats.links_ready);
  const auto add_connects = [&](const char* result, int64_t value) {
    AddReading(readings, Kind::kCounter, "counter_postgres_connects_total",
               "Attempts to connect to PostgreSQL that ended, by how.", value,
               {{"result", result}});
  };
  add_connects("connected", stats.links.connected);
  add_connects("failed", stats.links.failed);
  add_connects("refused", stats.links.refused);
  add_connects("timed_out", stats.links.timed_out);
  AddReading(readings, Kind::kCounter, "counter_postgres_connections_lost_total",
             "Connections to PostgreSQL that were ready and broke.", stats.links.lost);
  AddReading(readings, Kind::kCounter, "counter_postgres_failovers_total",
             "How often another server was met as the primary, on a new timeline.",
             stats.failovers);

  const auto add_statements = [&](const char* kind, int64_t value) {
    AddReading(readings, Kind::kCounter, "counter_postgres_statements_total",
               "Statements that were sent: batches of likes or unlikes, or of reads.", value,
               {{"kind", kind}});
  };
  add_statements("write", stats.units);
  add_statements("read", stats.read_statements);
  AddRetries(readings, "write", stats.write_retries);
  AddRetries(readings, "read", stats.read_retries);
  AddReading(readings, Kind::kCounter, "counter_postgres_bisections_total",
             "Batches that were rolled back and run again in halves.", stats.bisected);
  AddReading(readings, Kind::kCounter, "counter_postgres_refusals_total",
             "Likes and unlikes that PostgreSQL did not take, alone in their batch.",
             stats.refused);

  const auto add_keys = [&](const char* how, int64_t value) {
    AddReading(readings, Kind::kCounter, "counter_postgres_read_keys_total",
               "Items and pairs that callers asked for, and that were read for them.", value,
               {{"how", how}});
  };
  add_keys("asked", stats.read_keys_asked);
  add_keys("read", stats.read_keys_read);
  AddReplicas(stats, readings);
  AddReading(readings, Kind::kGauge, "counter_postgres_read_keys_waiting",
             "Items and pairs whose read has not ended.", stats.read_keys_waiting);
}

}  // namespace counter
