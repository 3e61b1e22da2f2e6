#include "storage/sqlite/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace counter::sqlite {
namespace {

// These errors go to the operator who starts the process, so they name the folder.
absl::Status CannotUse(const std::string& folder, absl::string_view why) {
  return MakeError(ErrorReason::kStoreUnavailable,
                   absl::StrCat("cannot use the data folder ", folder, ": ", why));
}

absl::Status FlushFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return CannotUse(folder, strerror(errno));
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  return result == 0 ? absl::OkStatus() : CannotUse(folder, strerror(error));
}

// Makes the folder and those above it; flushes each folder that got a new name.
absl::Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  const std::filesystem::path parent = folder.parent_path();
  if (!parent.empty() && parent != folder) {
    absl::Status made = MakeFolder(parent);
    if (!made.ok()) return made;
  }
  std::filesystem::create_directory(folder, error);
  if (error) return CannotUse(folder.string(), error.message());
  return FlushFolder(parent.empty() ? "." : parent.string());
}

std::string HolderOf(int lock_fd) {
  char text[32] = {};
  const ssize_t size = pread(lock_fd, text, sizeof(text) - 1, 0);
  return size > 0 ? absl::StrCat(" (process ", text, ")") : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataFolder>> DataFolder::Take(const std::string& database_path) {
  const std::filesystem::path parent = std::filesystem::path(database_path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  absl::Status made = MakeFolder(folder);
  if (!made.ok()) return made;

  const std::string lock_path = database_path + ".lock";
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return CannotUse(folder, absl::StrCat("its lock file: ", strerror(errno)));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string holder = HolderOf(fd);
    close(fd);
    if (error != EWOULDBLOCK) return CannotUse(folder, strerror(error));
    return CannotUse(folder, absl::StrCat("it is in use by another server", holder,
                                          "; stop that one or choose another folder"));
  }
  // For the one who is refused; a failure to write it costs only that hint.
  const std::string pid = absl::StrCat(getpid());
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, pid.data(), pid.size(), 0);
  return std::unique_ptr<DataFolder>(new DataFolder(folder, fd));
}

DataFolder::~DataFolder() { close(lock_fd_); }

absl::Status DataFolder::Flush() const { return FlushFolder(folder_); }

}  // namespace counter::sqlite
