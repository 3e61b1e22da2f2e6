// Command: counterctl as a function, so that tests can call it.
//
// Data goes to `out` and nothing else does; complaints go to `err`. Blocks until the answer.
// Threads: any; calls share nothing.
#ifndef COUNTER_CLIENTS_CLI_COMMAND_H_
#define COUNTER_CLIENTS_CLI_COMMAND_H_

#include <ostream>

namespace counter::cli {

// Runs one command and returns the exit status of the process (exit_status.h). Requires argv[0].
int Run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_COMMAND_H_
