// SmallDisk: a file system of a few mebibytes that a test may fill.
//
// It is a tmpfs, which asks for the right to mount: see mounted(). Gone with the object.
//
// Threads: one at a time; path() from any.
#ifndef COUNTER_TESTS_STORAGE_SMALL_DISK_H_
#define COUNTER_TESTS_STORAGE_SMALL_DISK_H_

#include <string>

#include "tests/support/postgres_server.h"

namespace counter::testing {

class SmallDisk {
 public:
  explicit SmallDisk(int mebibytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // False if there is no right to mount: path() is an ordinary directory then.
  bool mounted() const { return mounted_; }
  const std::string& path() const { return directory_.path(); }

 private:
  ServerDirectory directory_;
  bool mounted_ = false;
};

// Writes into `path` until its disk has no room left. What an operator can delete.
void FillDisk(const std::string& path);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_SMALL_DISK_H_
