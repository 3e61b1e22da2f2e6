// counterd: the command line, and what each command does. The server itself is in counterd.cc, and
// which store and which caches it has in backends.cc, parts of this program.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/log.h"
#include "server/backends.h"
#include "server/config/command_line.h"
#include "server/config/print.h"
#include "server/counterd.h"
#include "server/log/log_writer.h"
#include "server/rpc/grpc_log.h"
#include "server/termination.h"
#include "server/version.h"

namespace counter {
namespace {

// Connections are descriptors, two each: so all that the system allows are used, and not the few
// that a shell starts with.
void UseAllDescriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(const LoadedConfig& loaded) {
  // Debian's Abseil, which gRPC locks with too, keeps a graph of which lock was held when which was
  // taken, and aborts on a cycle: up to a twentieth of the CPU of a busy server. Tests keep it,
  // serving does not.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  UseAllDescriptors();
  Termination termination;
  const Config& config = loaded.config;
  LogWriter log({.json = UseJson(config.log_format, STDERR_FILENO)});
  SetLogSink(&log, config.log_level);
  rpc::RouteGrpcLog();
  for (const std::string& warning : loaded.warnings) {
    Log(LogLevel::kWarning, "A setting may not mean what you think.", {{"setting", warning}});
  }

  const absl::Status ended = RunCounterd(loaded, termination, log);
  if (ended.ok()) {
    Log(LogLevel::kInfo, "Counter has stopped.");
  } else {
    Log(LogLevel::kError, "Counter could not start.", {{"why", ended.message()}});
  }
  rpc::RestoreGrpcLog();
  SetLogSink(nullptr, config.log_level);
  log.Stop();
  return ended.ok() ? 0 : 1;
}

// Prints what was done, or what is missing.
int Migrate(Command command, const Config& config) {
  if (!config.database_url.has_value()) {
    std::fputs("counterd: migrate needs a DATABASE_URL; the embedded store has no migrations\n",
               stderr);
    return 2;
  }
  absl::StatusOr<MigrationReport> report =
      command == Command::kMigrateUp ? MigrateDatabase(config) : InspectDatabase(config);
  if (!report.ok()) {
    std::fprintf(stderr, "counterd: %s\n", std::string(report.status().message()).c_str());
    return 1;
  }
  for (const std::string& line : report->lines) std::printf("%s\n", line.c_str());
  return report->complete ? 0 : 1;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<CommandLine> command_line =
      ParseCommandLine(argc, argv, ProcessEnvironment());
  if (!command_line.ok()) {
    std::fprintf(stderr, "counterd: %s\n", std::string(command_line.status().message()).c_str());
    return 2;
  }
  switch (command_line->command) {
    case Command::kServe:
      return Serve(command_line->loaded);
    case Command::kConfig:
      std::fputs(FormatConfig(command_line->loaded).c_str(), stdout);
      return 0;
    case Command::kConfigMarkdown:
      std::fputs(FormatMarkdown().c_str(), stdout);
      return 0;
    case Command::kMigrateUp:
    case Command::kMigrateStatus:
      return Migrate(command_line->command, command_line->loaded.config);
    case Command::kVersion:
      std::printf("counterd %s\n", kVersion);
      return 0;
    case Command::kHelp:
      std::fputs(FormatHelp().c_str(), stdout);
      return 0;
  }
  return 2;
}

}  // namespace
}  // namespace counter

int main(int argc, char** argv) { return counter::Main(argc, argv); }
