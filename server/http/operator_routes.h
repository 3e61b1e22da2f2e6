// The two routes for operators: GET /metrics for Prometheus, GET /health for load balancers and
// people. What they say comes from callbacks, which run on the server's thread and must not block.
#ifndef COUNTER_SERVER_HTTP_OPERATOR_ROUTES_H_
#define COUNTER_SERVER_HTTP_OPERATOR_ROUTES_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/http/http_server.h"

namespace counter::http {

// `expose` makes the text of a scrape, of the type `content_type`.
void AddMetricsRoute(HttpServer& server, std::string content_type,
                     std::function<std::string()> expose);

struct Health {
  bool ok = true;
  // More facts, as text: {"store", "SERVING"}.
  std::vector<std::pair<std::string, std::string>> details;
};

// 200 {"status":"ok",...} or 503 {"status":"degraded",...}.
void AddHealthRoute(HttpServer& server, std::function<Health()> health);

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_OPERATOR_ROUTES_H_
