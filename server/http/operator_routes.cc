#include "server/http/operator_routes.h"

#include <boost/json.hpp>
#include <utility>

namespace counter::http {

void AddMetricsRoute(HttpServer& server, std::string content_type,
                     std::function<std::string()> expose) {
  server.AddRoute("GET", "/metrics",
                  Immediately([content_type = std::move(content_type),
                               expose = std::move(expose)](const Request&) -> Response {
                    return {.content_type = content_type, .body = expose()};
                  }));
}

void AddHealthRoute(HttpServer& server, std::function<Health()> health) {
  server.AddRoute("GET", "/health",
                  Immediately([health = std::move(health)](const Request&) -> Response {
                    const Health now = health();
                    boost::json::object body;
                    body["status"] = now.ok ? "ok" : "degraded";
                    for (const auto& [name, value] : now.details) body[name] = value;
                    return {.status = now.ok ? 200 : 503,
                            .content_type = "application/json",
                            .body = boost::json::serialize(body) + "\n"};
                  }));
}

}  // namespace counter::http
