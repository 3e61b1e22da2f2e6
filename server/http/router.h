// Router: which handler answers a request. Pure; filled before the server starts, constant after.
// Threads: any once it is filled.
#ifndef COUNTER_SERVER_HTTP_ROUTER_H_
#define COUNTER_SERVER_HTTP_ROUTER_H_

#include <map>
#include <string>
#include <vector>

#include "server/http/http.h"

namespace counter::http {

// The name of what no route took.
inline constexpr char kUnknownRoute[] = "unknown";

class EventStream;

struct Route {
  std::string name;  // "GET /health"
  Handler handler;
  EventStream* events = nullptr;  // Instead of a handler; not owned.
};

class Router {
 public:
  void Add(const std::string& method, const std::string& path, Handler handler);
  void Add(const std::string& method, const std::string& path, EventStream& events);

  // The route of a request; null if there is none.
  const Route* Find(const Request& request) const;

  // The methods of a path for the header Allow ("GET, HEAD, POST"); empty for an unknown path.
  std::string AllowedMethods(const std::string& path) const;

  // The names of all routes, and the unknown one.
  std::vector<std::string> Names() const;

 private:
  // By path, then by method. Routes stay where they are.
  std::map<std::string, std::map<std::string, Route>> routes_;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_ROUTER_H_
