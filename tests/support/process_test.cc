#include "tests/support/process.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {
namespace {

Process::Options Shell(const std::string& script) {
  Process::Options options;
  options.argv = {"/bin/sh", "-c", script};
  options.env = Process::BaseEnv();
  return options;
}

// Whether a process of this pid exists and is no zombie.
bool Lives(pid_t pid) {
  const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

TEST_CASE("Wait gives the exit code, and gives it again") {
  absl::StatusOr<Process> process = Process::Start(Shell("exit 7"));
  REQUIRE(process.ok());
  CHECK(process->Wait(absl::Seconds(10)) == ExitStatus{7, 0});
  CHECK(process->Wait(absl::ZeroDuration()) == ExitStatus{7, 0});
  CHECK_FALSE(process->Running());
}

TEST_CASE("Wait gives the signal that ended the process") {
  absl::StatusOr<Process> process = Process::Start(Shell("exec sleep 100"));
  REQUIRE(process.ok());
  CHECK(process->Signal(SIGTERM));
  const std::optional<ExitStatus> status = process->Wait(absl::Seconds(10));
  REQUIRE(status.has_value());
  CHECK(*status == ExitStatus{-1, SIGTERM});
  CHECK(ToString(*status) == "signal 15");
}

TEST_CASE("Wait gives up at its deadline and leaves the process alone") {
  absl::StatusOr<Process> process = Process::Start(Shell("exec sleep 100"));
  REQUIRE(process.ok());
  const absl::Time before = absl::Now();
  CHECK_FALSE(process->Wait(absl::Milliseconds(50)).has_value());
  CHECK(absl::Now() - before >= absl::Milliseconds(50));
  CHECK(process->Running());
}

TEST_CASE("A program that does not exist is an error of Start") {
  Process::Options options = Shell("");
  options.argv = {"/nowhere/counterd"};
  const absl::StatusOr<Process> process = Process::Start(options);
  REQUIRE_FALSE(process.ok());
  CHECK(process.status().message().find("/nowhere/counterd") != absl::string_view::npos);
}

TEST_CASE("The child sees only the environment it was given, and its output lands in the files") {
  TempDir temp;
  Process::Options options = Shell("echo $GIVEN; echo \"[$HOME]\" >&2; pwd >&2");
  options.env["GIVEN"] = "a b";
  options.stdout_path = temp.File("out");
  options.stderr_path = temp.File("err");
  options.working_directory = "/";
  absl::StatusOr<Process> process = Process::Start(options);
  REQUIRE(process.ok());
  REQUIRE(process->Wait(absl::Seconds(10)) == ExitStatus{0, 0});
  CHECK(ReadFile(temp.File("out")) == "a b\n");
  CHECK(ReadFile(temp.File("err")) == "[]\n/\n");
}

TEST_CASE("The destructor ends the whole process group") {
  TempDir temp;
  pid_t leader = -1;
  int grandchild = -1;
  {
    Process::Options options = Shell("sleep 100 & echo $!; wait");
    options.stdout_path = temp.File("out");
    absl::StatusOr<Process> process = Process::Start(options);
    REQUIRE(process.ok());
    leader = process->pid();
    REQUIRE(Eventually(absl::Seconds(10), [&] {
      const std::string text = ReadFile(temp.File("out"));
      return absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &grandchild);
    }));
    CHECK(Lives(grandchild));
  }
  CHECK_FALSE(Lives(leader));
  CHECK(Eventually(absl::Seconds(10), [&] { return !Lives(grandchild); }));
}

TEST_CASE("A descriptor of the test does not live on in the child") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);  // Without O_CLOEXEC, on purpose.
  absl::StatusOr<Process> process = Process::Start(Shell("exec sleep 100"));
  REQUIRE(process.ok());
  close(ends[1]);
  char byte = 0;
  // End of file: nobody holds the writing end any more.
  CHECK(read(ends[0], &byte, 1) == 0);
  close(ends[0]);
}

TEST_CASE("A moved process is ended once, by its last owner") {
  absl::StatusOr<Process> started = Process::Start(Shell("exec sleep 100"));
  REQUIRE(started.ok());
  Process second = *std::move(started);
  const pid_t pid = second.pid();
  absl::StatusOr<Process> other = Process::Start(Shell("exec sleep 100"));
  REQUIRE(other.ok());
  const pid_t other_pid = other->pid();
  second = *std::move(other);
  CHECK_FALSE(Lives(pid));
  CHECK(Lives(other_pid));
  CHECK(second.ResidentBytes() > 0);
  CHECK(second.PeakResidentBytes() >= second.ResidentBytes());
}

}  // namespace
}  // namespace counter::testing
