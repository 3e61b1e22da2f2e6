// Known fault K20, the part about a disk that fails: PostgreSQL's flush of its log reports an I/O
// error while two servers write.
//
// strace puts the error in; without it, or without the right to trace, the case says so and checks
// nothing.
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// Lets every flush of the process fail from now on, until it ends.
absl::StatusOr<Process> FailFlushes(int pid, const std::string& said) {
  Process::Options strace;
  strace.argv = {"strace", "-qq",
                 "-p",     absl::StrCat(pid),
                 "-e",     "trace=fsync,fdatasync",
                 "-e",     "inject=fsync,fdatasync:error=EIO"};
  strace.env = Process::BaseEnv();
  strace.stderr_path = said;
  return Process::Start(strace);
}

TEST_CASE("K20: when a flush fails PostgreSQL recovers, and nothing acknowledged is lost") {
  FullStack stack;
  constexpr int64_t kProber = 1'000'000'000;
  constexpr int64_t kProbed = 500'001;
  const TempDir temp;
  int panics = stack.postgres().CountLog("PANIC");
  MixedLoad load(stack, {.single_writers = 16, .batch_writers = 4, .readers = 0});
  for (int round = 0; round < Sized(1, 10); ++round) {
    CAPTURE(round);
    absl::SleepFor(absl::Milliseconds(500));
    // One that writes. It alone: what recovers must be able to flush.
    int pid = 0;
    REQUIRE(Eventually(absl::Seconds(10), [&] {
      return absl::SimpleAtoi(
          stack.Sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'counterd' AND "
                    "datname = current_database() AND query LIKE '%INSERT INTO user_likes%' "
                    "LIMIT 1"),
          &pid);
    }));
    auto strace = FailFlushes(pid, temp.File("strace"));
    const std::string why = strace.ok() ? "" : std::string(strace.status().message());
    const bool ended_at_once = strace.ok() && strace->Wait(absl::Milliseconds(200)).has_value();
    const bool panicked = Eventually(absl::Seconds(10) * Slowness(),
                                     [&] { return stack.postgres().CountLog("PANIC") > panics; });
    if (!panicked && (!strace.ok() || ended_at_once)) {
      WARN("nothing can be traced here, not tested: " << why << ReadFile(temp.File("strace")));
      return;
    }
    REQUIRE(panicked);
    panics = stack.postgres().CountLog("PANIC");
    // It recovers by itself, and so do the servers.
    CHECK(Eventually(absl::Seconds(15) * Slowness(), [&] {
      return stack.client(0).Like(kProber, Post(kProbed)).ok() &&
             stack.client(1).Like(kProber, Post(kProbed)).ok();
    }));
  }
  MixedLoadReport report = load.Stop();
  WARN(report.writes.ok << " writes, " << report.writes.not_applied << " not applied, "
                        << report.writes.unknown << " unknown");
  CHECK(report.writes.ok > 0);
  for (const auto& [reason, count] : report.writes.errors) {
    INFO(count << " writes ended with " << ErrorReasonName(reason));
    CHECK(reason == ErrorReason::kStoreUnavailable);
  }
  ++report.writes.pairs[{kProber, kProbed}].unknown_likes;
  for (const std::string& contradiction :
       Contradictions(report.writes, stack.postgres(), stack.database()))
    FAIL_CHECK(contradiction);
  stack.RequireSound();
}

}  // namespace
}  // namespace counter::testing
