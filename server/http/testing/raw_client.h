// RawClient: sends exactly the bytes it is told to a server on the loopback, and reads what comes.
//
// For tests of what a well-behaved client never does. It is no HTTP client: it knows no HTTP.
// Threads: one at a time.
#ifndef COUNTER_SERVER_HTTP_TESTING_RAW_CLIENT_H_
#define COUNTER_SERVER_HTTP_TESTING_RAW_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/http/http_server.h"

namespace counter::http {

class RawClient {
 public:
  explicit RawClient(int port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void Send(absl::string_view bytes);
  void FinishSending();
  // What comes until `end` has come so often, the server closes, or 10 s have passed.
  std::string Read(const std::string& end = "", int times = 1);
  // Whether the server has ended the connection; waits for it.
  bool IsClosed();

 private:
  const int fd_;
  bool connected_ = false;
  bool closed_ = false;
};

// What comes back for these bytes on a connection of its own, until the server closes it.
std::string Ask(int port, absl::string_view request);

// A started server with GET /hello, which answers "hello " and the query and a point, and POST
// /echo.
std::unique_ptr<HttpServer> StartServer(const HttpServer::Options& options = {});

// Whether it comes to hold within 10 s.
bool Eventually(const std::function<bool()>& holds);

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_TESTING_RAW_CLIENT_H_
