// HttpServer: a small HTTP/1.1 listener for what is small and answered at once: /metrics, /health.
//
// Everything has a limit: header, body, time to send a request, time between requests, time to take
// the response, connections. A connection over the limit takes the place of the one that has been
// idle longest; if none is idle it is closed. Requests that are no HTTP, or too large, are answered
// with 400, 413 or 431 and closed; pipelined ones are answered in order.
//
// It is not for the open internet: no TLS, no names of hosts, no login. Threads: the server has one
// thread of its own on which handlers run; AddRoute, Start and Stop are for the owner.
#ifndef COUNTER_SERVER_HTTP_HTTP_SERVER_H_
#define COUNTER_SERVER_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/http/http.h"

namespace counter::http {

class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";  // A name or an address; IPv6 without brackets.
    int port = 0;                    // 0: the system picks one.
    int connections_max = 64;
    size_t header_bytes_max = 8192;
    size_t body_bytes_max = 65536;
    absl::Duration request_timeout = absl::Seconds(10);   // From its first byte to its last.
    absl::Duration idle_timeout = absl::Seconds(75);      // Before a request's first byte.
    absl::Duration response_timeout = absl::Seconds(10);  // For the client to take it.
  };

  explicit HttpServer(Options options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves `path` ("/health", no pattern) by `handler`. GET serves HEAD too. Before Start only.
  void AddRoute(std::string method, std::string path, Handler handler);

  // Binds, listens and starts the thread; once. Refuses with the address in the message when it is
  // taken or does not exist: no second server ever shares the port.
  absl::Status Start();

  // The bound port. Requires that Start was OK.
  int port() const;

  // Ends it: connections are closed at once, a handler that runs is waited for. Idempotent.
  void Stop();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_HTTP_SERVER_H_
