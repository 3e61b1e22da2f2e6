#include "server/gateway.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "server/connect/connect_message.h"
#include "server/item_types.h"
#include "server/pages/pages.h"
#include "server/rest/error_body.h"
#include "server/rest/http_call.h"
#include "server/version.h"

namespace counter {
namespace {

constexpr size_t kBodyBytesMax = 256 << 10;

// Before the names of methods, and, after a slash, of the paths of Connect.
constexpr absl::string_view kServicePrefix = "counter.v1.CounterService/";

http::Response Refusal(const std::string& path, int status, const std::string& why) {
  const bool is_connect = absl::StartsWith(path, absl::StrCat("/", kServicePrefix));
  if (status == 413 && is_connect) return ConnectTooLarge(why);
  return rest::RefusalResponse(status, why);
}

http::HttpServer::Options ServerOptions(const Config& config, TlsSource tls,
                                        http::Observer observer) {
  http::HttpServer::Options options;
  options.host = config.http_listen->host;
  options.port = config.http_listen->port;
  options.tls = std::move(tls);
  options.connections_max = config.http_connections_max;
  options.body_bytes_max = kBodyBytesMax;
  options.refusal = Refusal;
  options.observer = std::move(observer);
  return options;
}

rest::RestApi::Options RestOptions(const Config& config) {
  return {ItemTypes(config.item_types), config.rate_limit_requests, config.rate_limit_window};
}

rest::Edge EdgeOf(const Gateway::Parts& parts) {
  return {parts.callers, parts.admission, Clock::System(), parts.config.default_deadline};
}

// Beside the program unless the settings say otherwise.
std::string SwaggerUiDir(const Config& config) {
  if (!config.swagger_ui_dir.empty()) return config.swagger_ui_dir;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : (program.parent_path() / "swagger-ui").string();
}

// Which method of the service a route of REST or Connect is; empty for any other.
std::string MethodOfRoute(const std::string& route) {
  absl::string_view method = rest::RestApi::MethodOf(route);
  // The path of Connect is the method's name after a slash.
  if (method.empty()) method = absl::string_view(route).substr(route.find('/') + 1);
  return absl::ConsumePrefix(&method, kServicePrefix) ? std::string(method) : std::string();
}

const char* HealthWord(bool ok) { return ok ? "healthy" : "unhealthy"; }

}  // namespace

Gateway::Gateway(Parts parts)
    : parts_(std::move(parts)),
      server_(ServerOptions(parts_.config, parts_.tls,
                            [this](const std::string& route, int status, absl::Duration took) {
                              route_metrics_->Answered(route, status, took);
                            })),
      rest_api_(parts_.service, EdgeOf(parts_), RestOptions(parts_.config)),
      connect_api_(parts_.proto, EdgeOf(parts_)),
      live_stats_(LiveParts()) {
  rest_api_.Register(server_);
  connect_api_.Register(server_);
  pages::AddPages(server_, {SwaggerUiDir(parts_.config), [this] { return live_stats_.Next(); },
                            [this](const http::Request& request) { return RefuseLive(request); }});
  server_.AddRoute("GET", "/health",
                   http::Immediately([this](const http::Request&) { return Health(); }));
  route_metrics_ = std::make_unique<RouteMetrics>(server_.RouteNames());
  parts_.metrics.OnCollect([this](std::vector<prometheus::MetricFamily>& families) {
    route_metrics_->connections().Set(server_.connections());
    route_metrics_->connections_refused().RaiseTo(server_.connections_refused());
    route_metrics_->Collect(families);
  });
}

pages::LiveStats::Parts Gateway::LiveParts() const {
  return {parts_.metrics,
          parts_.hot_items,
          parts_.store,
          parts_.recent_likes,
          Clock::System(),
          parts_.config.item_types,
          kVersion,
          parts_.config.database_url.has_value() ? "PostgreSQL" : "embedded store",
          [this] { return parts_.dependencies().store_ok; },
          [this] { return parts_.dependencies().redis_ok; },
          MethodOfRoute};
}

Gateway::~Gateway() {
  server_.Stop();
  parts_.metrics.OnCollect(nullptr);
}

// The live page names items and tells how often they are liked: whoever a table does not allow it
// sees an empty page.
std::optional<http::Response> Gateway::RefuseLive(const http::Request& request) const {
  const absl::StatusOr<CallerRef> caller =
      rest::AdmitCaller(EdgeOf(parts_), kLivePageMethod, request);
  if (caller.ok()) return std::nullopt;
  return rest::ErrorResponse(caller.status());
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
