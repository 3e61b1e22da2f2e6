// RunImport: the command `counterctl import`, from files to exit status.
// Blocks. Data goes to `out`, complaints and progress to `err`.
#ifndef COUNTER_CLIENTS_CLI_IMPORT_COMMAND_H_
#define COUNTER_CLIENTS_CLI_IMPORT_COMMAND_H_

#include <ostream>
#include <string>

#include "clients/cli/importer.h"
#include "clients/cli/output.h"

namespace counter::cli {

struct ImportSettings {
  std::string file;    // "-": standard input, which cannot be resumed.
  std::string format;  // "csv", "json"; empty: by the name of the file.
  std::string errors;  // Empty: FILE.errors.
  Importer::Options options;
};

// Progress is shown if `terminal`.
int RunImport(Importer::Write write, const ImportSettings& settings, Format format, bool terminal,
              std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_IMPORT_COMMAND_H_
