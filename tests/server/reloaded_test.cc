#include "server/files/reloaded.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "server/files/file_watch.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {
namespace {

// Takes everything but texts with the word "bad".
absl::StatusOr<std::string> Join(const std::vector<std::string>& texts) {
  std::string joined = absl::StrJoin(texts, "+");
  if (joined.find("bad") != std::string::npos) return absl::InvalidArgumentError("it is bad");
  return joined;
}

class TwoFiles {
 public:
  TwoFiles() {
    Write("a", "one");
    Write("b", "two");
  }

  void Write(const char* name, const char* text) const { WriteFile(folder_.File(name), text); }
  void Remove(const char* name) const { std::filesystem::remove(folder_.File(name)); }
  std::vector<std::string> paths() const { return {folder_.File("a"), folder_.File("b")}; }

 private:
  TempDir folder_;
};

TEST_CASE("What files hold at the start is in use, and what changes later") {
  const TwoFiles files;
  Reloaded<std::string> value("words", files.paths(), Join);
  REQUIRE(value.Load().ok());
  CHECK(*value.current() == "one+two");
  const auto before = value.current();
  value.Look();
  CHECK(value.current() == before);
  CHECK(value.reloads() == 0);

  files.Write("b", "three");
  value.Look();
  value.Look();
  CHECK(*value.current() == "one+three");
  CHECK(*before == "one+two");
  CHECK(value.reloads() == 1);
}

TEST_CASE("What cannot be used at the start is refused") {
  const TwoFiles files;
  Reloaded<std::string> value("words", files.paths(), Join);
  files.Write("a", "bad");
  CHECK(value.Load().message() == "it is bad");
  files.Remove("a");
  CHECK_FALSE(value.Load().ok());
}

TEST_CASE("What cannot be used later leaves the former value, and is told until it is mended") {
  const TwoFiles files;
  Reloaded<std::string> value("words", files.paths(), Join);
  REQUIRE(value.Load().ok());
  const bool is_gone = GENERATE(false, true);
  CAPTURE(is_gone);
  if (is_gone)
    files.Remove("b");
  else
    files.Write("b", "bad");
  value.Look();
  // It may be in the middle of being replaced.
  CHECK_FALSE(value.stale());
  value.Look();
  CHECK(value.stale());
  CHECK(*value.current() == "one+two");
  files.Write("b", "four");
  value.Look();
  value.Look();
  CHECK_FALSE(value.stale());
  CHECK(*value.current() == "one+four");
}

TEST_CASE("What is being written is not taken before it stays the same") {
  const TwoFiles files;
  Reloaded<std::string> value("words", files.paths(), Join);
  REQUIRE(value.Load().ok());
  // Each half can be used by itself.
  for (const char* part : {"f", "fo", "fou", "bad", "four"}) {
    files.Write("b", part);
    value.Look();
    CHECK(*value.current() == "one+two");
    CHECK_FALSE(value.stale());
  }
  value.Look();
  CHECK(*value.current() == "one+four");
  CHECK(value.reloads() == 1);
}

TEST_CASE("Putting back what was there before mends it, too") {
  const TwoFiles files;
  Reloaded<std::string> value("words", files.paths(), Join);
  REQUIRE(value.Load().ok());
  files.Write("b", "bad");
  value.Look();
  value.Look();
  REQUIRE(value.stale());
  files.Write("b", "two");
  value.Look();
  CHECK_FALSE(value.stale());
  CHECK(value.reloads() == 0);
}

TEST_CASE("A watch looks again and again until it is stopped") {
  std::atomic<int> looks = 0;
  FileWatch watch;
  watch.Add([&looks] { ++looks; });
  watch.Start();
  CHECK(Eventually(absl::Seconds(20), [&] { return looks >= 2; }));
  watch.Stop();
  watch.Stop();
}

}  // namespace
}  // namespace counter::testing
