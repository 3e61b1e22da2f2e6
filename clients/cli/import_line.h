// ParseImportLine: one line of a file of likes, as CSV or as JSON. A pure function.
#ifndef COUNTER_CLIENTS_CLI_IMPORT_LINE_H_
#define COUNTER_CLIENTS_CLI_IMPORT_LINE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "clients/cpp/client.h"

namespace counter::cli {

enum class ImportFormat { kCsv, kJson };

struct ImportLine {
  // Absent: the line has none, it is empty or the header of a CSV file; or it is wrong.
  std::optional<client::Mutation> mutation;
  std::string fault;  // What is wrong with the line; empty if nothing is.
};

// CSV: user_id,item_type,item_id[,action]; no quotes, since no value needs them. JSON: an object
// with these members, ids as numbers or as texts. The action is like (the default) or unlike.
ImportLine ParseImportLine(absl::string_view line, ImportFormat format);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_IMPORT_LINE_H_
