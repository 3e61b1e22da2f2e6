// Command: counterctl as a function, so that tests can call it.
//
// Data goes to `out` and nothing else does; complaints go to `err`. Blocks until the answer.
// Threads: any; calls share nothing.
#ifndef COUNTER_CLIENTS_CLI_COMMAND_H_
#define COUNTER_CLIENTS_CLI_COMMAND_H_

#include <ostream>

namespace counter::cli {

// Exit status of a command line that is wrong. It is also the base of the others: a call that
// failed ends with 64 + its gRPC code (1 to 16), so that 67 is INVALID_ARGUMENT and 78 UNAVAILABLE.
inline constexpr int kExitUsage = 64;

// Runs one command and returns the exit status of the process: 0, kExitUsage or kExitUsage + the
// gRPC code. Requires argv[0].
int Run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_COMMAND_H_
