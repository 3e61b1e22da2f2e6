// RunExport: the command `counterctl export`, from the command line to exit status.
// Blocks. Likes go to a file or to `out`, complaints and progress to `err`.
#ifndef COUNTER_CLIENTS_CLI_EXPORT_COMMAND_H_
#define COUNTER_CLIENTS_CLI_EXPORT_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "clients/cli/exporter.h"
#include "clients/cli/output.h"
#include "clients/cpp/client.h"

namespace counter::cli {

struct ExportSettings {
  std::vector<int64_t> users;
  std::string users_file;  // Instead of users: one id a line; "-": standard input.
  std::string to;          // Empty: `out`, which cannot be resumed.
  std::string format;      // "csv", "json"; empty: by the name of the file.
  std::string errors;      // Empty: TO.errors, or export.errors.
  Exporter::Options options;
};

// Progress is shown if `terminal`.
int RunExport(const client::Client& client, const ExportSettings& settings, Format format,
              bool terminal, std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_EXPORT_COMMAND_H_
