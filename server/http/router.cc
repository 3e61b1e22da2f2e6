#include "server/http/router.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace counter::http {

void Router::Add(const std::string& method, const std::string& path, Handler handler) {
  routes_[path][method] = {absl::StrCat(method, " ", path), std::move(handler)};
}

void Router::Add(const std::string& method, const std::string& path, EventStream& events) {
  routes_[path][method] = {absl::StrCat(method, " ", path), nullptr, &events};
}

const Route* Router::Find(const Request& request) const {
  const auto path = routes_.find(request.path);
  if (path == routes_.end()) return nullptr;
  const auto method = path->second.find(request.method);
  return method == path->second.end() ? nullptr : &method->second;
}

std::string Router::AllowedMethods(const std::string& path) const {
  std::string allowed;
  const auto found = routes_.find(path);
  if (found == routes_.end()) return allowed;
  for (const auto& [method, route] : found->second) {
    if (!allowed.empty()) allowed += ", ";
    allowed += method == "GET" ? "GET, HEAD" : method;
  }
  return allowed;
}

std::vector<std::string> Router::Names() const {
  std::vector<std::string> names = {kUnknownRoute};
  for (const auto& [path, methods] : routes_) {
    for (const auto& [method, route] : methods) names.push_back(route.name);
  }
  return names;
}

}  // namespace counter::http
