#include "server/serving_readings.h"

#include <cstdint>

namespace counter {

std::vector<MetricReading> LimitReadings(const Config& config) {
  const auto limit = [](const char* name, const char* help, int value) {
    return MetricReading{MetricReading::Kind::kGauge, name, help, {}, value};
  };
  return {
      limit("counter_calls_in_flight_max", "Calls that may be worked on at once.",
            config.calls_in_flight_max),
      limit("counter_items_in_flight_max",
            "Mutations of the writes that are worked on, and items of the reads.",
            config.items_in_flight_max),
      limit("counter_watches_max", "Watches of counts that may stand.", config.watches_max),
      limit("counter_caller_watches_max",
            "Watches of one caller that may stand, unless its line says another number.",
            config.caller_watches_max),
      limit("counter_watched_items_max", "Different items that may be watched.",
            config.watched_items_max),
      limit("counter_read_queue_reads_max", "Reads that may wait for the store.",
            config.read_queue_max),
      limit("counter_write_queue_mutations_max", "Likes and unlikes that may wait for the store.",
            config.write_queue_max),
      limit("counter_write_wait_milliseconds_max",
            "How long a like or unlike may have to wait for the store.", config.write_wait_max_ms)};
}

std::vector<MetricReading> ServiceReadings(const CounterService& service) {
  constexpr char kName[] = "counter_items_in_flight";
  constexpr char kHelp[] = "Mutations, and items to read, of the calls that are being worked on.";
  using Kind = MetricReading::Kind;
  return {{Kind::kGauge, kName, kHelp, {{"of", "writes"}}, service.mutations_in_flight()},
          {Kind::kGauge, kName, kHelp, {{"of", "reads"}}, service.items_in_flight()}};
}

std::vector<MetricReading> ConnectionReadings(const rpc::Listener::Stats& stats, int most) {
  using Kind = MetricReading::Kind;
  constexpr char kRefused[] = "counter_grpc_connections_refused_total";
  constexpr char kRefusedHelp[] = "Connections to GRPC_LISTEN that were closed at once.";
  return {
      {Kind::kGauge,
       "counter_grpc_connections",
       "Open connections to GRPC_LISTEN.",
       {},
       stats.open},
      {Kind::kGauge,
       "counter_grpc_connections_max",
       "Connections to GRPC_LISTEN that may be open.",
       {},
       most},
      {Kind::kCounter, kRefused, kRefusedHelp, {{"reason", "full"}}, stats.refused},
      {Kind::kCounter, kRefused, kRefusedHelp, {{"reason", "address"}}, stats.refused_of_address},
      {Kind::kCounter,
       "counter_grpc_accepts_failed_total",
       "Times that no connection could be accepted for want of descriptors or memory.",
       {},
       stats.failed}};
}

std::vector<MetricReading> WatchReadings(const WatchHub& hub) {
  using Kind = MetricReading::Kind;
  const WatchHub::Stats stats = hub.stats();
  return {
      {Kind::kGauge, "counter_watches", "Watches of counts that stand.", {}, stats.watches},
      {Kind::kGauge, "counter_watched_items", "Different items that are watched.", {}, stats.items},
      {Kind::kCounter,
       "counter_watch_rounds_total",
       "Times that the counts of all watched items were looked at.",
       {},
       stats.rounds},
      {Kind::kCounter,
       "counter_watch_changes_total",
       "Newer counts of watched items that were found.",
       {},
       stats.changes},
      {Kind::kCounter,
       "counter_watch_failed_reads_total",
       "Reads of up to 1000 watched counts that failed.",
       {},
       stats.failed_reads}};
}

// Series that come and go mislead: without the listener they are there, and 0.
std::vector<MetricReading> AdminReadings(const AdminListener* admin) {
  const AdminService::Stats stats = admin == nullptr ? AdminService::Stats() : admin->stats();
  const auto counter = [](const char* name, const char* help, int64_t value) {
    return MetricReading{MetricReading::Kind::kCounter, name, help, {}, value};
  };
  return {
      counter("counter_admin_items_audited_total", "Items that audits and repairs recounted.",
              stats.items_audited),
      counter("counter_admin_items_diverging_total",
              "Recounted items whose counter differed from their likes.", stats.items_diverging),
      counter("counter_admin_counters_repaired_total", "Counters that repairs corrected.",
              stats.counters_repaired),
      counter("counter_admin_likes_written_total",
              "Likes and unlikes of erasures, deletions and imports that changed something.",
              stats.likes_written)};
}

}  // namespace counter
