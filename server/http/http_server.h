// HttpServer: an HTTP/1.1 listener whose handlers are tasks: one that waits for a store holds up
// nobody.
//
// Everything has a limit: header, body, time to send a request, time between requests, time to take
// the response, connections, standing event streams. A connection over the limit takes the place of
// the one that has been idle longest; if none is idle it is closed. Requests that are no HTTP, or
// too large, are answered with 400, 413 or 431 and closed; pipelined ones are answered in order.
//
// A client that goes while its request is worked on sets the request's cancellation. As in other
// servers a client that closes its sending side counts as gone.
//
// It is not for the open internet: no names of hosts, no login. It speaks TLS where it is given an
// identity, which may change while it serves. Threads: the server has one
// thread of its own on which handlers start; they may end on any. The methods are for the owner,
// connections() for any thread. Ownership: what routes refer to must outlive the server's Stop().
#ifndef COUNTER_SERVER_HTTP_HTTP_SERVER_H_
#define COUNTER_SERVER_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/tls_identity.h"
#include "server/http/http.h"

namespace counter::http {

class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";  // A name or an address; IPv6 without brackets.
    int port = 0;                    // 0: the system picks one.
    TlsSource tls = nullptr;         // Null: plaintext.
    int connections_max = 64;
    size_t header_bytes_max = 8192;
    size_t body_bytes_max = 65536;
    absl::Duration request_timeout = absl::Seconds(10);   // From its first byte to its last.
    absl::Duration idle_timeout = absl::Seconds(75);      // Before a request's first byte.
    absl::Duration response_timeout = absl::Seconds(10);  // For the client to take it.
    absl::Duration goodbye_timeout = absl::Seconds(1);    // For either, while the server drains.
    Refusal refusal = nullptr;                            // None: a line of plain text.
    Observer observer = nullptr;                          // None: nobody is told.
  };

  explicit HttpServer(Options options);
  ~HttpServer();  // NOLINT(bugprone-exception-escape): Asio says that posting may throw.
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves `path` ("/health", no pattern) by `handler`. GET serves HEAD too. Before Start only.
  void AddRoute(const std::string& method, const std::string& path, Handler handler);

  // Serves GET `path` as server-sent events: once a `period`, while anybody listens, `event` is
  // called on the server's thread and what it returns goes to all of them as the data of one event
  // (no line ends in it). Who comes gets the newest with the answer. Who does not take it in time
  // is closed; of more than `streams_max` listeners the newest gets 503. Who `refuse` (if there is
  // one) has an answer for gets that and no events. Before Start only.
  void AddEventStream(const std::string& path, absl::Duration period, int streams_max,
                      std::function<std::string()> event, Refuse refuse = nullptr);

  // The names of all routes, as the observer is told them. After the last one was added.
  std::vector<std::string> RouteNames() const;

  // Binds, listens and starts the thread; once. Refuses with the address in the message when it is
  // taken or does not exist: no second server ever shares the port.
  absl::Status Start();

  // The bound port. Requires that Start was OK.
  int port() const;

  // Connections that are open, and those that were turned away since Start because of the limit.
  int connections() const;
  int64_t connections_refused() const;

  // Takes no connection any more, closes idle ones and event streams, lets those that are in the
  // middle of a request finish it, for `budget` at most; who does not send the rest of it, or take
  // the answer, does not hold it up. Stop() must follow.
  void Drain(absl::Duration budget);

  // Ends it: connections are closed at once, what handlers work on is cancelled, and they are
  // waited for. Idempotent.
  void Stop();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_HTTP_SERVER_H_
