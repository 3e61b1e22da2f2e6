// RouteMetrics: what the server counts about requests over HTTP, for Prometheus.
//
// | metric | type | what it counts |
// |---|---|---|
// | counter_http_requests_total{route,code} | counter | responses; route as "POST /v1/like", or
//     "unknown" for a request that no route took; code the HTTP status, or "other" |
// | counter_http_request_seconds{route} | histogram | from a request's last byte to its answer |
// | counter_http_connections | gauge | connections that are open |
// | counter_http_connections_refused_total | counter | connections closed at once, over the limit |
//
// They have names of their own: grpc_server_* stays what dashboards for gRPC take it for. Calls
// that are refused before any work are in counter_calls_refused_total, whichever way they came.
//
// Every label's value is from a closed set that is fixed when it is made; nothing that a caller
// sends makes a series. Threads: any. Ownership: the one who made it; outlives the Metrics that
// exposes it, or is removed from it.
#ifndef COUNTER_SERVER_METRICS_ROUTE_METRICS_H_
#define COUNTER_SERVER_METRICS_ROUTE_METRICS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/metrics/histogram.h"
#include "server/metrics/metrics.h"

namespace counter {

class RouteMetrics {
 public:
  // Requires that "unknown" is among `routes`.
  explicit RouteMetrics(const std::vector<std::string>& routes);
  RouteMetrics(const RouteMetrics&) = delete;
  RouteMetrics& operator=(const RouteMetrics&) = delete;

  // A route that is not among `routes` counts as unknown.
  void Answered(absl::string_view route, int status, absl::Duration took);

  Gauge& connections() { return connections_; }
  Counter& connections_refused() { return connections_refused_; }

  void Collect(std::vector<prometheus::MetricFamily>& into) const;

 private:
  static constexpr std::array<int, 13> kStatuses = {200, 400, 404, 405, 413, 415, 429,
                                                    431, 499, 500, 501, 503, 504};

  struct Route {
    Route();
    std::string name;
    std::array<Counter, kStatuses.size() + 1> answered;  // The last: of all other statuses.
    Histogram seconds;
  };

  std::vector<std::unique_ptr<Route>> routes_;
  absl::flat_hash_map<std::string, Route*> by_name_;
  Route* unknown_;
  Gauge connections_;
  Counter connections_refused_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_METRICS_ROUTE_METRICS_H_
