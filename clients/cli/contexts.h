// Contexts: names for servers, so that nobody types addresses: a file of the user's.
//
//   {"current": "prod", "contexts": {"prod": "dns:///counter.example:50051", "local":
//   "127.0.0.1:50051"}}
//
// A value, read whole and written whole; one thread. Errors are texts.
#ifndef COUNTER_CLIENTS_CLI_CONTEXTS_H_
#define COUNTER_CLIENTS_CLI_CONTEXTS_H_

#include <map>
#include <string>

namespace counter::cli {

struct Contexts {
  std::string current;                         // Empty: none.
  std::map<std::string, std::string> servers;  // By name.
};

// COUNTERCTL_CONFIG, or counterctl.json in XDG_CONFIG_HOME or ~/.config.
std::string ContextsPath();
// A file that is not there has no contexts. The fault, or empty.
std::string ReadContexts(const std::string& path, Contexts& contexts);
std::string WriteContexts(const std::string& path, const Contexts& contexts);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_CONTEXTS_H_
