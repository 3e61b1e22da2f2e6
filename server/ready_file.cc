#include "server/ready_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace counter {
namespace {

absl::Status Failed(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot write READY_FILE ", path, ": ", std::strerror(errno)));
}

}  // namespace

absl::Status WriteReadyFile(const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& listeners) {
  const std::string unfinished = absl::StrCat(path, ".", getpid(), ".tmp");
  std::ofstream out(unfinished, std::ios::trunc);
  for (const auto& [name, address] : listeners) out << name << '=' << address << '\n';
  out.close();
  if (!out) return Failed(path);
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    const absl::Status error = Failed(path);
    unlink(unfinished.c_str());
    return error;
  }
  return absl::OkStatus();
}

}  // namespace counter
