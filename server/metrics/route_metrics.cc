#include "server/metrics/route_metrics.h"

#include <algorithm>
#include <utility>

namespace counter {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::vector<double> RequestSeconds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03,
          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
}

MetricFamily Family(MetricType type, const char* name, const char* help) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

}  // namespace

RouteMetrics::Route::Route() : seconds(RequestSeconds()) {}

RouteMetrics::RouteMetrics(const std::vector<std::string>& routes) {
  for (const std::string& name : routes) {
    Route& route = *routes_.emplace_back(std::make_unique<Route>());
    route.name = name;
    by_name_[name] = &route;
  }
  unknown_ = by_name_.at("unknown");
}

void RouteMetrics::Answered(absl::string_view route, int status, absl::Duration took) {
  const auto found = by_name_.find(route);
  Route& answered = found == by_name_.end() ? *unknown_ : *found->second;
  const auto* const place = std::find(kStatuses.begin(), kStatuses.end(), status);
  answered.answered[static_cast<size_t>(place - kStatuses.begin())].Add();
  answered.seconds.Observe(absl::ToDoubleSeconds(took));
}

void RouteMetrics::Collect(std::vector<MetricFamily>& into) const {
  MetricFamily requests = Family(MetricType::Counter, "counter_http_requests_total",
                                 "Responses over HTTP, by route and status.");
  MetricFamily seconds = Family(MetricType::Histogram, "counter_http_request_seconds",
                                "From a request's last byte to its answer.");
  for (const std::unique_ptr<Route>& route : routes_) {
    for (size_t i = 0; i < route->answered.size(); ++i) {
      const bool is_other = i == kStatuses.size();
      ClientMetric metric;
      metric.label = {{"route", route->name},
                      {"code", is_other ? "other" : std::to_string(kStatuses[i])}};
      metric.counter.value = static_cast<double>(route->answered[i].value());
      requests.metric.push_back(std::move(metric));
    }
    ClientMetric histogram = route->seconds.Collect();
    histogram.label = {{"route", route->name}};
    seconds.metric.push_back(std::move(histogram));
  }
  MetricFamily connections = Family(MetricType::Gauge, "counter_http_connections",
                                    "Connections to the HTTP listener that are open.");
  connections.metric.emplace_back().gauge.value = static_cast<double>(connections_.value());
  MetricFamily refused =
      Family(MetricType::Counter, "counter_http_connections_refused_total",
             "Connections to the HTTP listener that were closed at once, over the limit.");
  refused.metric.emplace_back().counter.value = static_cast<double>(connections_refused_.value());
  into.push_back(std::move(requests));
  into.push_back(std::move(seconds));
  into.push_back(std::move(connections));
  into.push_back(std::move(refused));
}

}  // namespace counter
