// Router: which handler answers a request. Pure; filled before the server starts, constant after.
#ifndef COUNTER_SERVER_HTTP_ROUTER_H_
#define COUNTER_SERVER_HTTP_ROUTER_H_

#include <map>
#include <string>

#include "server/http/http.h"

namespace counter::http {

class Router {
 public:
  void Add(std::string method, std::string path, Handler handler);

  // What the handler says; 404 for an unknown path, 405 for a method that the path has not.
  Response Answer(const Request& request) const;

  // The methods of a path for the header Allow ("GET, HEAD, POST"); empty for an unknown path.
  std::string AllowedMethods(const std::string& path) const;

 private:
  // By path, then by method.
  std::map<std::string, std::map<std::string, Handler>> routes_;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_ROUTER_H_
