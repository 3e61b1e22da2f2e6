// HttpGet: one plain GET on the loopback, for /metrics and /health.
//
// It is no HTTP client: HTTP/1.0, no redirects, no TLS, one connection a call. Thread-safe.
#ifndef COUNTER_TESTS_SUPPORT_HTTP_GET_H_
#define COUNTER_TESTS_SUPPORT_HTTP_GET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace counter::testing {

struct HttpReply {
  int status = 0;       // 200
  std::string headers;  // As they came, without the status line.
  std::string body;     // At most 64 MiB.
};

// GET http://127.0.0.1:`port``path`; an error if no whole reply came within `deadline`.
absl::StatusOr<HttpReply> HttpGet(int port, absl::string_view path,
                                  absl::Duration deadline = absl::Seconds(5));

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_HTTP_GET_H_
