// The file of settings: lines `NAME = value`; empty lines are skipped; `#` begins a comment at the
// start of a line and after a blank. A value is all between `=` and the end or comment, without the
// blanks around it; there are no quotes.
#ifndef COUNTER_SERVER_CONFIG_CONFIG_FILE_H_
#define COUNTER_SERVER_CONFIG_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace counter {

struct FileSetting {
  std::string name;
  std::string value;
  int line = 0;  // From 1.
};

struct ParsedConfigFile {
  std::vector<FileSetting> settings;  // As they stand; names not checked.
  std::vector<int> bad_lines;         // Lines that are neither setting nor comment.
};

// Pure.
ParsedConfigFile ParseConfigFile(absl::string_view text);

// The whole file, which must be a regular one of at most 1 MiB.
absl::StatusOr<std::string> ReadConfigFile(const std::string& path);

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_CONFIG_FILE_H_
