// Gateway: everything that is served over HTTP on HTTP_LISTEN: REST, Connect, health, the live page
// and Swagger UI. Part of main: it wires rooms together and knows nothing itself.
//
// Threads: the methods one at a time; requests run on the HTTP server's thread and go on where the
// service's tasks do. Ownership: borrows the parts; they must outlive Stop().
#ifndef COUNTER_SERVER_GATEWAY_H_
#define COUNTER_SERVER_GATEWAY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/tls_identity.h"
#include "cache/recent_likes.h"
#include "server/admission.h"
#include "server/callers/callers.h"
#include "server/config/config.h"
#include "server/connect/connect_api.h"
#include "server/counter_proto.h"
#include "server/counter_service.h"
#include "server/hot_items.h"
#include "server/http/http_server.h"
#include "server/metrics/metrics.h"
#include "server/metrics/route_metrics.h"
#include "server/pages/live_stats.h"
#include "server/rest/rest_api.h"
#include "storage/like_store.h"

namespace counter {

// As what a table of callers allows the events of the live page.
inline constexpr char kLivePageMethod[] = "pages/live";

class Gateway {
 public:
  // How the server's dependencies do, for GET /health.
  struct Dependencies {
    bool store_ok = false;
    std::optional<bool> redis_ok;  // None: Redis is not used.
  };

  struct Parts {
    const Config& config;  // Requires http_listen.
    TlsSource tls;         // Null: plaintext.
    CounterService& service;
    CounterProto& proto;
    const Callers& callers;
    Admission& admission;
    Metrics& metrics;
    // For the live page.
    HotItems& hot_items;
    LikeStore& store;
    RecentLikes& recent_likes;
    // Any thread; must not block.
    std::function<Dependencies()> dependencies;
  };

  explicit Gateway(Parts parts);
  ~Gateway();

  // Refuses with the address in the message when it is taken.
  absl::Status Start() { return server_.Start(); }
  // Requires that Start was OK.
  int port() const { return server_.port(); }
  // As HttpServer.
  void Drain(absl::Duration budget) { server_.Drain(budget); }
  void Stop() { server_.Stop(); }

 private:
  http::Response Health() const;
  std::optional<http::Response> RefuseLive(const http::Request& request) const;
  pages::LiveStats::Parts LiveParts() const;

  const Parts parts_;
  http::HttpServer server_;
  rest::RestApi rest_api_;
  ConnectApi connect_api_;
  pages::LiveStats live_stats_;
  std::unique_ptr<RouteMetrics> route_metrics_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_GATEWAY_H_
