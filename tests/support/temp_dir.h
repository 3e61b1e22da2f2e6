// TempDir: a directory of a test's own, removed with all it holds when the object ends.
//
// Use it for data folders, logs and ready files of the processes that a test starts. It is made
// below TEST_TMPDIR (Bazel) or the system's temporary directory. COUNTER_TEST_KEEP=1 keeps it and
// says where it is.
//
// Threads: one at a time; path() of a living object from any thread.
#ifndef COUNTER_TESTS_SUPPORT_TEMP_DIR_H_
#define COUNTER_TESTS_SUPPORT_TEMP_DIR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace counter::testing {

class TempDir {
 public:
  // Ends the process if no directory can be made: no test can go on without.
  TempDir();
  // In `parent`, which must exist: "/tmp" for sockets, whose paths must be short.
  explicit TempDir(const std::string& parent);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name` in this directory; makes nothing.
  std::string File(absl::string_view name) const;

 private:
  std::string path_;
};

// The whole file; empty if it cannot be read.
std::string ReadFile(const std::string& path);
// Requires that the file can be written.
void WriteFile(const std::string& path, absl::string_view text);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_TEMP_DIR_H_
