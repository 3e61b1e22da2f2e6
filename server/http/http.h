// The vocabulary of HTTP for those who serve routes: requests and responses as plain values,
// without a library's types.
#ifndef COUNTER_SERVER_HTTP_HTTP_H_
#define COUNTER_SERVER_HTTP_HTTP_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/task.h"

namespace counter::http {

// In the order in which they came or go. Names of requests are compared without regard to case.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // "GET"; a HEAD comes as GET.
  std::string path;    // Of the target, before any '?'; not decoded.
  std::string query;   // After it; not decoded.
  Headers headers;
  std::string body;
  // Of the client's verified certificate: URIs first, then names of DNS. None without TLS.
  std::vector<std::string> peer_names;
  MonotonicTime arrived;      // When its last byte had come.
  Cancellation cancellation;  // Set when the client has gone, or the server's time to drain is up.

  // The first value of a header; null if it was not sent.
  const std::string* Header(absl::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (absl::EqualsIgnoreCase(key, name)) return &value;
    }
    return nullptr;
  }
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // Further ones. Names and values must be legal: without line ends, whatever a caller sent.
  Headers headers = {};
  std::string cache_control = "no-store";
};

// Answers one request. Called on the server's only thread, which it must not block; the task may
// end on any thread. The request lives until then. It must not throw.
using Handler = std::function<Task<Response>(const Request&)>;

// A handler that has its answer at hand.
inline Handler Immediately(std::function<Response(const Request&)> answer) {
  return [answer = std::move(answer)](const Request& request) {
    return [](const std::function<Response(const Request&)>& owned,
              const Request& asked) -> Task<Response> { co_return owned(asked); }(answer, request);
  };
}

// What the server itself has to say about a request that reached no handler: 400, 404, 405, 413,
// 431, 503. `path` is empty if the request did not come so far. Pure.
using Refusal =
    std::function<Response(const std::string& path, int status, const std::string& why)>;

// An answer to a request that is not let in; none lets it in. Must not block.
using Refuse = std::function<std::optional<Response>(const Request&)>;

// Told of every response before it is sent. `route` is "GET /health", as it was added, or "unknown"
// for a request that no route took: a closed set. Called on the server's thread; must not block.
using Observer = std::function<void(const std::string& route, int status, absl::Duration took)>;

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_HTTP_H_
