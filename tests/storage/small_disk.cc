#include "tests/storage/small_disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace counter::testing {

SmallDisk::SmallDisk(int mebibytes) {
  mounted_ = mount("counter-test", directory_.path().c_str(), "tmpfs", MS_NODEV | MS_NOSUID,
                   absl::StrCat("mode=0777,size=", mebibytes, "m").c_str()) == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) umount2(directory_.path().c_str(), MNT_DETACH);
}

void FillDisk(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  std::string block(1 << 20, 'x');
  // Then the last bytes.
  while (!block.empty()) {
    const ssize_t written = write(file, block.data(), block.size());
    if (written <= 0) block.resize(block.size() / 2);
  }
  close(file);
}

}  // namespace counter::testing
