// Overload (design.md 3.7, known fault K04): a store that is slowed on purpose and ten times what
// it can do; and a store that stands still under full load.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/test_settings.h"
#include "tests/torture/open_loop.h"
#include "tests/torture/stage.h"

namespace counter::testing {
namespace {

constexpr int kDeadlineExceeded = 4;
constexpr int kResourceExhausted = 8;
constexpr int kUnavailable = 14;

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kMemoryMax = 512 * kMebibyte;
// A store on a slow line that takes small batches: more than a hundred likes a second in the short
// form, almost three hundred in the long one, and a thousand if programs are optimised. Ten times
// as many must be little for a machine that runs the generator, too: where the cores are what is
// short, calls wait before anything of ours sees them, and the case would say nothing of the store.
constexpr absl::Duration kSlowLine = absl::Milliseconds(50);
#ifdef NDEBUG
constexpr int kBatchRows = 32;
#else
constexpr int kBatchRows = 8;
#endif
int SmallBatches() { return Sized(4, kBatchRows); }
// Batches of two lanes, two each under way and as much again waiting, are full then.
int FullBatches() { return 8 * SmallBatches(); }

int64_t users_used = 1;

OpenLoopOptions Load(Stage& stage) {
  OpenLoopOptions load;
  load.target = stage.server(0).target();
  load.users_first = users_used;
  users_used += 10'000'000;
  return load;
}

double NormalRate(Stage& stage) { return ClosedLoopRate(Load(stage), 64, absl::Milliseconds(500)); }

// Whether, within 10 s, likes come to go as fast as `normal`, or nearly.
bool RateComesBack(Stage& stage, double normal) {
  constexpr double kNearly = 0.7;
  const absl::Time begin = absl::Now();
  double rate = 0;
  while (absl::Now() < begin + absl::Seconds(10) * Slowness() && rate < kNearly * normal)
    rate = NormalRate(stage);
  WARN("the rate is " << rate << " a second again, of " << normal << ", after "
                      << absl::FormatDuration(absl::Now() - begin));
  return rate >= kNearly * normal;
}

TEST_CASE("Ten times the peak is refused quickly, with a hint, and the peak is still served") {
  Stage stage({.servers = 1, .settings = {{"BATCH_ROWS_MAX", absl::StrCat(SmallBatches())}}});
  const double normal = NormalRate(stage);
  stage.database_line(0).Slow(kSlowLine);
  const double peak = ClosedLoopRate(Load(stage), FullBatches(),
                                     Sized(absl::Milliseconds(1500), absl::Seconds(10)));
  REQUIRE(peak > 50);
  stage.server(0).process().ResetPeak();
  OpenLoopOptions load = Load(stage);
  load.rate = 10 * peak;
  load.duration = Sized(absl::Seconds(3), absl::Seconds(60));
  load.calls_per_probe = 20;
  const OpenLoopResult result = RunOpenLoop(load);
  const double goodput = static_cast<double>(result.ok) / absl::ToDoubleSeconds(load.duration);
  const double offered = static_cast<double>(result.sent) / absl::ToDoubleSeconds(load.duration);
  WARN("peak " << peak << " a second, offered " << offered << ", goodput " << goodput << ": "
               << result.ToString());
  // Less than ten times the peak if this machine has too much else to do.
  CHECK(offered > 3 * peak);
  CHECK(goodput > 0.8 * peak);
  // Beside what this machine takes for nothing, with whatever else it has to do.
  CHECK(result.RefusedWithin(95) < result.ProbedWithin(95) + absl::Milliseconds(50) * Slowness());
  CHECK(result.refused_without_hint == 0);
  // Who is taken is served: next to nobody waits in vain until the deadline.
  CHECK(result.EndedWith(kDeadlineExceeded) <= result.sent / 100);
  CHECK(result.ok + result.EndedWith(kResourceExhausted) + result.EndedWith(kDeadlineExceeded) ==
        result.sent);
  CHECK(stage.server(0).process().PeakResidentBytes() < kMemoryMax);
  stage.database_line(0).Pass();
  CHECK(RateComesBack(stage, normal));
  CHECK(stage.End().drifts.empty());
}

// A store that stands still under that load, and goes on.
void StandStill(const OpenLoopOptions& load, Stage& stage, double normal) {
  stage.postgres().SignalAll(SIGSTOP);
  stage.server(0).process().ResetPeak();
  const OpenLoopResult result = RunOpenLoop(load);
  const int64_t memory = stage.server(0).process().PeakResidentBytes();
  stage.postgres().SignalAll(SIGCONT);
  WARN(load.likes_per_call << " likes a call: " << result.ToString() << "; at most "
                           << memory / kMebibyte << " MiB");
  CHECK(memory < kMemoryMax);
  CHECK(result.ok == 0);
  // Nobody waits for a minute: an outage is said within a second or two.
  CHECK(result.EndedWith(kResourceExhausted) + result.EndedWith(kUnavailable) == result.sent);
  CHECK(RateComesBack(stage, normal));
}

TEST_CASE(
    "K04: a store that stands still under likes, or the largest WriteLikes, costs no memory, and "
    "all comes back") {
  Stage stage({.servers = 1});
  const double normal = NormalRate(stage);
  OpenLoopOptions likes = Load(stage);
  likes.connections = Sized(50, 200);
  likes.rate = Sized(1500, 5000);
  likes.deadline = absl::Seconds(60);
  likes.duration = Sized(absl::Seconds(2), absl::Seconds(60));
  StandStill(likes, stage, normal);
  OpenLoopOptions many = likes;
  many.users_first = Load(stage).users_first;
  many.likes_per_call = 1000;
  many.rate = Sized(200, 400);
  many.duration = Sized(absl::Seconds(2), absl::Seconds(20));
  StandStill(many, stage, normal);
  CHECK(stage.End().drifts.empty());
}

}  // namespace
}  // namespace counter::testing
