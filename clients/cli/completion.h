// CompletionScript: what a shell needs to complete counterctl's commands and options. Pure.
#ifndef COUNTER_CLIENTS_CLI_COMPLETION_H_
#define COUNTER_CLIENTS_CLI_COMPLETION_H_

#include <string>
#include <vector>

namespace counter::cli {

struct CompletionWord {
  std::string name;  // A command, or an option with its dashes.
  std::string help;  // One line.
};

// `shell`: bash, zsh or fish.
std::string CompletionScript(const std::string& shell, const std::vector<CompletionWord>& commands,
                             const std::vector<CompletionWord>& options);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_COMPLETION_H_
