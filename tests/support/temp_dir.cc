#include "tests/support/temp_dir.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace counter::testing {
namespace {

std::string ParentDirectory() {
  const char* of_bazel = std::getenv("TEST_TMPDIR");
  if (of_bazel != nullptr) return of_bazel;
  return std::filesystem::temp_directory_path().string();
}

bool KeepsDirectories() {
  const char* keep = std::getenv("COUNTER_TEST_KEEP");
  return keep != nullptr && absl::string_view(keep) == "1";
}

}  // namespace

TempDir::TempDir() : TempDir(ParentDirectory()) {}

TempDir::TempDir(const std::string& parent) : path_(absl::StrCat(parent, "/counter-XXXXXX")) {
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror(path_.c_str());
    std::abort();
  }
}

TempDir::~TempDir() {
  if (KeepsDirectories()) {
    std::fprintf(stderr, "kept: %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;  // What cannot be removed is left to the machine.
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::File(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

std::string ReadFile(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  // A process may end while its file below /proc is read. Copied this way, that ends the text; read
  // through an iterator of the buffer, it would throw.
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

void WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) {
    std::perror(path.c_str());
    std::abort();
  }
}

}  // namespace counter::testing
