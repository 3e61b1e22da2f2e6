#include "clients/cli/contexts.h"

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace counter::cli {
namespace {

namespace json = boost::json;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string ContextsPath() {
  const std::string path = Environment("COUNTERCTL_CONFIG");
  if (!path.empty()) return path;
  const std::string home = Environment("XDG_CONFIG_HOME");
  return absl::StrCat(home.empty() ? Environment("HOME") + "/.config" : home, "/counterctl.json");
}

std::string ReadContexts(const std::string& path, Contexts& contexts) {
  std::ifstream file(path);
  if (!file) return "";
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string fault =
      absl::StrCat(path, ": expected {\"current\": NAME, \"contexts\": {NAME: SERVER}}");
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return fault;
  if (const json::value* current = value.get_object().if_contains("current")) {
    if (!current->is_string()) return fault;
    contexts.current = std::string(current->get_string());
  }
  if (const json::value* all = value.get_object().if_contains("contexts")) {
    if (!all->is_object()) return fault;
    for (const auto& [name, server] : all->get_object()) {
      if (!server.is_string()) return fault;
      contexts.servers[std::string(name)] = std::string(server.get_string());
    }
  }
  return "";
}

std::string WriteContexts(const std::string& path, const Contexts& contexts) {
  json::object all;
  for (const auto& [name, server] : contexts.servers) all[name] = server;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string fresh = path + ".new";
  std::ofstream file(fresh);
  file << json::serialize(json::object{{"current", contexts.current}, {"contexts", all}}) << '\n';
  file.close();
  if (file) std::filesystem::rename(fresh, path, error);
  return file && !error ? "" : absl::StrCat("cannot write ", path);
}

}  // namespace counter::cli
