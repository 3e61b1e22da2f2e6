// RunWith: one command line of counterctl in the test's own process, and what came of it.
// Any thread. Results are values.
#ifndef COUNTER_CLIENTS_CLI_COMMAND_RUNNER_H_
#define COUNTER_CLIENTS_CLI_COMMAND_RUNNER_H_

#include <sstream>
#include <string>
#include <vector>

#include "clients/cli/command.h"

namespace counter::cli {

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
};

inline Ran RunWith(const std::vector<std::string>& args) {
  std::vector<const char*> argv = {"counterctl"};
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  std::ostringstream out;
  std::ostringstream err;
  Ran ran;
  ran.status = Run(static_cast<int>(argv.size()), argv.data(), out, err);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_COMMAND_RUNNER_H_
