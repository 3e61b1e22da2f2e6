// HttpClient: HTTP/1.1 on the loopback for tests: any method, headers and body, one connection that
// is kept while the server keeps it.
//
// It is no general client: no redirects, no TLS, bodies by length only. For one thread.
#ifndef COUNTER_TESTS_SUPPORT_HTTP_CLIENT_H_
#define COUNTER_TESTS_SUPPORT_HTTP_CLIENT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/support/tcp.h"

namespace counter::testing {

class HttpClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  struct Answer {
    int status = 0;   // 0: no answer came in time, or the connection broke; `body` says how.
    Headers headers;  // Names in lower case.
    std::string body;

    // Empty if it is not there.
    std::string Header(absl::string_view name) const;
  };

  explicit HttpClient(int port, absl::Duration deadline = absl::Seconds(60))
      : port_(port), deadline_(deadline) {}

  // Sends a request and waits for its answer. A body goes out as JSON unless `headers` say a
  // Content-Type. A connection that the server has closed meanwhile is made anew.
  Answer Call(absl::string_view method, absl::string_view target, absl::string_view body = "",
              const Headers& headers = {});
  Answer Get(absl::string_view target) { return Call("GET", target); }
  Answer Post(absl::string_view target, absl::string_view body) {
    return Call("POST", target, body);
  }

  // In two parts, for what happens in between: opens the connection and sends `bytes` as they are.
  bool SendRaw(absl::string_view bytes);
  // The next answer on the connection.
  Answer Receive();

 private:
  bool Connect();

  const int port_;
  const absl::Duration deadline_;
  std::optional<LoopbackConnection> connection_;
  std::string received_;  // Of the answers to come.
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_HTTP_CLIENT_H_
