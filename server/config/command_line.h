// The command line of counterd: which command, and with which configuration.
//
//   counterd [serve|config|migrate up|migrate status|version|help] [--setting value |
//   --setting=value]...
//
// Read by hand and not by CLI11: that stops at the first fault and cannot tell an unknown flag's
// value from a command; here every fault of flags, environment and file comes in one refusal.
#ifndef COUNTER_SERVER_CONFIG_COMMAND_LINE_H_
#define COUNTER_SERVER_CONFIG_COMMAND_LINE_H_

#include "absl/status/statusor.h"
#include "server/config/load.h"

namespace counter {

enum class Command {
  kServe,           // The default.
  kConfig,          // Print FormatConfig(loaded).
  kConfigMarkdown,  // Print FormatMarkdown().
  kMigrateUp,       // Bring the database of DATABASE_URL to the schema of this binary.
  kMigrateStatus,   // Say what of it is missing; exit status 1 if anything is.
  kVersion,
  kHelp,  // Print FormatHelp(); exit status 0.
};

struct CommandLine {
  Command command = Command::kServe;
  LoadedConfig loaded;  // Of kServe, kConfig and the migrations; the others read no settings.
};

// Refuses with INVALID_ARGUMENT; the message, of one or several lines, is for standard error.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const Environment& environment);

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_COMMAND_LINE_H_
