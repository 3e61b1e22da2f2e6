#include "server/http/operator_routes.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/match.h"
#include "server/http/testing/raw_client.h"

namespace counter::http {
namespace {

TEST_CASE("health is 200 while all is well and 503 with the reason when not") {
  HttpServer server({});
  std::atomic<bool> ok{true};
  AddHealthRoute(server, [&ok]() -> Health {
    return {.ok = ok, .details = {{"store", ok ? "up" : "\"down\""}}};
  });
  AddMetricsRoute(server, "text/plain; version=0.0.4", [] { return std::string("up 1\n"); });
  REQUIRE(server.Start().ok());
  const std::string up = Ask(server.port(), "GET /health HTTP/1.0\r\n\r\n");
  CHECK(absl::StartsWith(up, "HTTP/1.1 200 "));
  CHECK(absl::StrContains(up, "Content-Type: application/json\r\n"));
  CHECK(absl::EndsWith(up, "{\"status\":\"ok\",\"store\":\"up\"}\n"));
  ok = false;
  const std::string down = Ask(server.port(), "GET /health HTTP/1.0\r\n\r\n");
  CHECK(absl::StartsWith(down, "HTTP/1.1 503 "));
  CHECK(absl::EndsWith(down, "{\"status\":\"degraded\",\"store\":\"\\\"down\\\"\"}\n"));
  const std::string metrics = Ask(server.port(), "GET /metrics HTTP/1.0\r\n\r\n");
  CHECK(absl::StrContains(metrics, "Content-Type: text/plain; version=0.0.4\r\n"));
  CHECK(absl::EndsWith(metrics, "\r\n\r\nup 1\n"));
}
}  // namespace
}  // namespace counter::http
