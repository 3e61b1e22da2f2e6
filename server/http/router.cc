#include "server/http/router.h"

#include <utility>

namespace counter::http {

void Router::Add(std::string method, std::string path, Handler handler) {
  routes_[std::move(path)][std::move(method)] = std::move(handler);
}

Response Router::Answer(const Request& request) const {
  const auto path = routes_.find(request.path);
  if (path == routes_.end()) return {.status = 404, .body = "There is nothing at this path.\n"};
  const auto method = path->second.find(request.method);
  if (method == path->second.end()) {
    return {.status = 405, .body = "This path has no such method; see the header Allow.\n"};
  }
  return method->second(request);
}

std::string Router::AllowedMethods(const std::string& path) const {
  std::string allowed;
  const auto found = routes_.find(path);
  if (found == routes_.end()) return allowed;
  for (const auto& [method, handler] : found->second) {
    if (!allowed.empty()) allowed += ", ";
    allowed += method == "GET" ? "GET, HEAD" : method;
  }
  return allowed;
}

}  // namespace counter::http
