#include "server/config/config_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace counter {
namespace {

absl::string_view WithoutComment(absl::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins_word = i == 0 || absl::ascii_isspace(line[i - 1]);
    if (line[i] == '#' && begins_word) return line.substr(0, i);
  }
  return line;
}

}  // namespace

ParsedConfigFile ParseConfigFile(absl::string_view text) {
  ParsedConfigFile parsed;
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");  // The mark that some editors put first.
  int number = 0;
  for (const absl::string_view whole_line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(WithoutComment(whole_line));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, equals));
    if (equals == absl::string_view::npos || name.empty()) {
      parsed.bad_lines.push_back(number);
      continue;
    }
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(equals + 1));
    parsed.settings.push_back({std::string(name), std::string(value), number});
  }
  return parsed;
}

absl::StatusOr<std::string> ReadConfigFile(const std::string& path) {
  constexpr size_t kFileBytesMax = 1 << 20;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return absl::InvalidArgumentError("there is no such file");
  }
  if (status.type() == std::filesystem::file_type::none) {
    return absl::InvalidArgumentError(absl::StrCat("it cannot be read: ", error.message()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError("it is no regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return absl::InvalidArgumentError(absl::StrCat("it cannot be read: ", strerror(errno)));
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return absl::InvalidArgumentError("it cannot be read");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) return absl::InvalidArgumentError("it is larger than 1 MiB");
  return text;
}

}  // namespace counter
