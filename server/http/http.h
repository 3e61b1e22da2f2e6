// The vocabulary of HTTP for those who serve routes: requests and responses as plain values,
// without a library's types.
#ifndef COUNTER_SERVER_HTTP_HTTP_H_
#define COUNTER_SERVER_HTTP_HTTP_H_

#include <functional>
#include <string>

namespace counter::http {

struct Request {
  std::string method;  // "GET"; a HEAD comes as GET.
  std::string path;    // Of the target, before any '?'; not decoded.
  std::string query;   // After it; not decoded.
  std::string body;
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Answers one request. Called on the server's only thread: it must not block, and must not throw.
using Handler = std::function<Response(const Request&)>;

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_HTTP_H_
