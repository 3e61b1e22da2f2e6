#include "tests/storage/disk_faults.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace counter::testing {

DiskFaults& Disk() {
  static DiskFaults faults;
  return faults;
}

}  // namespace counter::testing

extern "C" int fdatasync(int fd) {
  if (counter::testing::Disk().flushes_fail) {
    errno = EIO;
    return -1;
  }
  const auto result = static_cast<int>(syscall(SYS_fdatasync, fd));
  if (result == 0) ++counter::testing::Disk().flushes;
  return result;
}

extern "C" ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  if (counter::testing::Disk().full || counter::testing::Disk().writes_fail) {
    errno = counter::testing::Disk().full ? ENOSPC : EIO;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, data, size, offset);
}
