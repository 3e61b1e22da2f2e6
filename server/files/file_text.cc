#include "server/files/file_text.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace counter {

absl::StatusOr<std::string> ReadFileText(const std::string& path) {
  const std::string shown = absl::CHexEscape(path);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(absl::StrCat(
        shown, ": ", error ? error.message() : "not a regular file", "; expected a readable file"));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileTextBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return absl::NotFoundError(
        absl::StrCat(shown, ": ", std::strerror(errno), "; expected a readable file"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kFileTextBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown, ": larger than ", kFileTextBytesMax, " bytes"));
  }
  return text;
}

}  // namespace counter
