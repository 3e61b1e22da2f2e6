#include "server/gateway.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "server/item_types.h"
#include "server/rest/error_body.h"

namespace counter {
namespace {

constexpr size_t kBodyBytesMax = 256 << 10;

http::HttpServer::Options ServerOptions(const Config& config, http::Observer observer) {
  http::HttpServer::Options options;
  options.host = config.http_listen->host;
  options.port = config.http_listen->port;
  options.connections_max = config.http_connections_max;
  options.body_bytes_max = kBodyBytesMax;
  options.refusal = rest::RefusalResponse;
  options.observer = std::move(observer);
  return options;
}

rest::RestApi::Options RestOptions(const Config& config) {
  return {ItemTypes(config.item_types), config.rate_limit_requests, config.rate_limit_window};
}

const char* HealthWord(bool ok) { return ok ? "healthy" : "unhealthy"; }

}  // namespace

Gateway::Gateway(Parts parts)
    : parts_(std::move(parts)),
      server_(ServerOptions(parts_.config,
                            [this](const std::string& route, int status, absl::Duration took) {
                              route_metrics_->Answered(route, status, took);
                            })),
      rest_api_(parts_.service, {parts_.admission, Clock::System(), parts_.config.default_deadline},
                RestOptions(parts_.config)) {
  rest_api_.Register(server_);
  server_.AddRoute("GET", "/health",
                   http::Immediately([this](const http::Request&) { return Health(); }));
  route_metrics_ = std::make_unique<RouteMetrics>(server_.RouteNames());
  parts_.metrics.OnCollect([this](std::vector<prometheus::MetricFamily>& families) {
    route_metrics_->connections().Set(server_.connections());
    route_metrics_->connections_refused().RaiseTo(server_.connections_refused());
    route_metrics_->Collect(families);
  });
}

Gateway::~Gateway() {
  server_.Stop();
  parts_.metrics.OnCollect(nullptr);
}

// 200 while this server answers, if only from its caches; 503 once callers should go elsewhere.
http::Response Gateway::Health() const {
  const Dependencies now = parts_.dependencies();
  const bool ok = now.store_ok && now.redis_ok.value_or(true) && parts_.admission.admitting();
  http::Response response;
  response.status = parts_.admission.admitting() ? 200 : 503;
  response.content_type = rest::kJsonType;
  response.body = absl::StrCat(
      "{\"status\":\"", ok ? "ok" : "degraded", "\",\"database\":\"", HealthWord(now.store_ok),
      "\",\"redis\":\"", now.redis_ok.has_value() ? HealthWord(*now.redis_ok) : "not used", "\"}");
  return response;
}

}  // namespace counter
