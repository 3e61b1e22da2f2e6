#include "server/log/log_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"

namespace counter {
namespace {

void WriteLine(LogWriter& writer, absl::string_view event) {
  writer.Write({LogLevel::kInfo, absl::UnixEpoch(), event, {}});
}

// Both ends of a pipe that holds one page.
class Pipe {
 public:
  Pipe() {
    REQUIRE(pipe2(ends_, O_CLOEXEC) == 0);
    fcntl(ends_[1], F_SETPIPE_SZ, 4096);
  }
  ~Pipe() {
    CloseReader();
    close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  // What comes until `lines` lines are there or 10 s have passed.
  std::string Read(int lines) {
    std::string text;
    const MonotonicTime deadline = Clock::System().MonotonicNow() + absl::Seconds(10);
    while (std::count(text.begin(), text.end(), '\n') < lines &&
           Clock::System().MonotonicNow() < deadline) {
      pollfd descriptor{ends_[0], POLLIN, 0};
      if (poll(&descriptor, 1, 100) <= 0) continue;
      char buffer[65536];
      const ssize_t got = read(ends_[0], buffer, sizeof buffer);
      if (got <= 0) break;
      text.append(buffer, got);
    }
    return text;
  }

 private:
  int ends_[2];
};

template <class Condition>
bool Eventually(const Condition& condition) {
  const MonotonicTime deadline = Clock::System().MonotonicNow() + absl::Seconds(10);
  while (!condition()) {
    if (Clock::System().MonotonicNow() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_CASE("lines arrive in order, whole, in the format that was asked for") {
  Pipe pipe;
  LogWriter json({.fd = pipe.writer(), .json = true});
  WriteLine(json, "one");
  WriteLine(json, "two\nthree");
  CHECK(
      pipe.Read(2) ==
      "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"info\",\"event\":\"one\"}\n"
      "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"info\",\"event\":\"two\\nthree\"}\n");
  LogWriter text({.fd = pipe.writer(), .json = false});
  WriteLine(text, "four");
  CHECK(pipe.Read(1) == "1970-01-01T00:00:00.000000Z INFO  four\n");
  CHECK(json.lines_lost() == 0);
}

TEST_CASE("auto means JSON unless the log goes to a terminal") {
  Pipe pipe;
  CHECK(UseJson(LogFormat::kAuto, pipe.writer()));
  CHECK(UseJson(LogFormat::kJson, pipe.writer()));
  CHECK_FALSE(UseJson(LogFormat::kText, pipe.writer()));
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(terminal >= 0);
  CHECK_FALSE(UseJson(LogFormat::kAuto, terminal));
  close(terminal);
}

TEST_CASE("stopping writes what is queued") {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/log";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  LogWriter writer({.fd = fd, .queue_bytes_max = 100 << 20});
  for (int i = 0; i < 10'000; ++i) WriteLine(writer, std::to_string(i));
  writer.Stop();
  CHECK(writer.lines_lost() == 0);
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    REQUIRE(boost::json::parse(line).at("event").as_string() == std::to_string(lines));
    ++lines;
  }
  CHECK(lines == 10'000);
  WriteLine(writer, "late");
  CHECK(writer.lines_lost() == 1);
  close(fd);
}

TEST_CASE("lines of several threads are not mixed, and each is written or counted as lost") {
  Pipe pipe;
  LogWriter writer({.fd = pipe.writer(), .queue_bytes_max = 20'000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&writer] {
      for (int i = 0; i < 500; ++i) WriteLine(writer, std::string(i % 100, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int expected = 2000 - static_cast<int>(writer.lines_lost());
  const std::string text = pipe.Read(expected);
  int read = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    REQUIRE_NOTHROW(boost::json::parse({line.data(), line.size()}));
    ++read;
  }
  CHECK(read == expected);
}

TEST_CASE("who logs does not wait for a reader that does not read") {
  Pipe pipe;
  LogWriter writer(
      {.fd = pipe.writer(), .queue_bytes_max = 50'000, .stop_budget = absl::Milliseconds(100)});
  const MonotonicTime start = Clock::System().MonotonicNow();
  for (int i = 0; i < 10'000; ++i) WriteLine(writer, std::string(100, 'x'));
  CHECK(Between(start, Clock::System().MonotonicNow()) < absl::Seconds(5));
  CHECK(writer.lines_lost() > 9'000);
  writer.Stop();
  CHECK(Between(start, Clock::System().MonotonicNow()) < absl::Seconds(8));
  // What the pipe holds are whole lines.
  CHECK(absl::EndsWith(pipe.Read(1), "\"}\n"));
}

TEST_CASE("a closed pipe costs the lines and nothing else") {
  REQUIRE(std::signal(SIGPIPE, SIG_DFL) != SIG_ERR);  // Would end the process.
  Pipe pipe;
  LogWriter writer({.fd = pipe.writer()});
  pipe.CloseReader();
  for (int i = 0; i < 5; ++i) WriteLine(writer, "x");
  CHECK(Eventually([&writer] { return writer.lines_lost() == 5; }));
  for (int i = 0; i < 5; ++i) WriteLine(writer, "x");
  writer.Stop();
  CHECK(writer.lines_lost() == 10);
}

TEST_CASE("a full disk costs the lines, and the log goes on when there is room") {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  LogWriter to_full({.fd = full});
  for (int i = 0; i < 3; ++i) WriteLine(to_full, "x");
  CHECK(Eventually([&to_full] { return to_full.lines_lost() == 3; }));
  close(full);
}

TEST_CASE("a line that a full disk cut short does not spoil the next one") {
  // A limit on the file's size makes a short write, then EFBIG, as a full disk does.
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/limited";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  REQUIRE(std::signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{100, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  LogWriter writer({.fd = fd, .json = false});
  WriteLine(writer, std::string(200, 'x'));
  const bool is_lost = Eventually([&writer] { return writer.lines_lost() == 1; });
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE(is_lost);
  WriteLine(writer, "next");
  writer.Stop();
  close(fd);
  std::ifstream file(path);
  std::string cut, next;
  std::getline(file, cut);
  std::getline(file, next);
  CHECK(cut.size() == 100);
  CHECK(next == "1970-01-01T00:00:00.000000Z INFO  next");
}

}  // namespace
}  // namespace counter
