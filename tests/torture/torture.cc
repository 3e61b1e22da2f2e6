#include "tests/torture/torture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using verify::Finding;
using verify::History;
using verify::Instant;
using verify::SteadyNow;

constexpr size_t kFindingsShown = 5;

absl::Duration Part(Random& random, absl::Duration shortest, absl::Duration longest) {
  constexpr uint64_t kSteps = 1000;
  return shortest + (longest - shortest) * static_cast<double>(random() % kSteps) / kSteps;
}

// A machine that is busy with other things makes a budget of 20 ms for Redis end now and then, and
// what was not told then is told again each second: so a second is not enough here.
verify::Bounds BoundsHere() {
  verify::Bounds bounds;
  bounds.cached = absl::Milliseconds(2500) * Slowness();
  bounds.heal = absl::Seconds(5) * Slowness();
  return bounds;
}

class Run {
 public:
  Run(Stage& stage, const TortureOptions& options)
      : stage_(stage), options_(options), random_(TestSeed()), start_(SteadyNow()) {}

  TortureReport Go() {
    verify::PairLoadOptions load_options = options_.load;
    load_options.seed = TestSeed();
    verify::PairLoad load(stage_.Clients(), load_options);
    RunSchedule();
    // Until caches must be right again, and reads have seen it.
    if (!options_.load_ends_first) absl::SleepFor(BoundsHere().heal + absl::Seconds(1));
    verify::History history = load.Stop();
    verify::Append(history, {{}, {}, {}, disturbances_});
    report_.totals = load.totals();
    if (report_.totals.fatal.has_value())
      Complain("a call failed as none may: " + report_.totals.fatal->ToString());
    const std::string differences = stage_.CacheDifferences();
    if (!differences.empty()) Complain("the cache is not what the store is:\n" + differences);
    report_.findings = verify::Check(history, End(history), BoundsHere());
    report_.history = std::move(history);
    if (!report_.findings.empty() || !report_.complaints.empty()) WriteDown();
    return std::move(report_);
  }

 private:
  void RunSchedule() {
    std::vector<const Fault*> order;
    for (const Fault& fault : options_.faults) order.push_back(&fault);
    std::shuffle(order.begin(), order.end(), random_);
    const Instant end = start_ + absl::ToInt64Microseconds(options_.duration);
    for (size_t i = 0; i < order.size() || SteadyNow() < end; ++i) {
      absl::SleepFor(Part(random_, absl::ZeroDuration(), options_.calm_max));
      if (order.empty()) continue;
      Suffer(i < order.size() ? *order[i] : *order[random_() % order.size()]);
    }
  }

  void Suffer(const Fault& fault) {
    const Instant from = SteadyNow();
    Say(absl::StrCat(fault.name, ": begins"));
    fault.begin(random_);
    absl::SleepFor(Part(random_, fault.shortest, fault.longest));
    fault.end();
    const Instant ended = SteadyNow();
    Say(absl::StrCat(fault.name, ": ends"));
    if (!stage_.AwaitService(options_.heal_max * Slowness()))
      Complain(absl::StrCat("after \"", fault.name, "\" the service did not come back within ",
                            absl::FormatDuration(options_.heal_max)));
    const Instant healed = SteadyNow();
    Say(absl::StrFormat("serves again after %.3f s", static_cast<double>(healed - ended) / 1e6));
    if (fault.ages_cache) disturbances_.push_back({from, healed, fault.name});
  }

  // What the store holds; of the embedded one by its own word.
  std::optional<verify::FinalState> End(const History& history) {
    if (!stage_.embedded()) return stage_.End();
    constexpr int kAttempts = 20;
    auto state =
        verify::ReadFinalState(*stage_.Clients()[0], options_.load.item_type, history, kAttempts);
    if (!state.ok()) {
      Complain("what the service holds cannot be read: " + state.error().ToString());
      return std::nullopt;
    }
    verify::FinalState whole = *std::move(state);
    whole.drifts = stage_.End().drifts;
    return whole;
  }

  void Say(const std::string& what) {
    absl::StrAppendFormat(&report_.schedule, "%9.3f %s\n",
                          static_cast<double>(SteadyNow() - start_) / 1e6, what);
  }
  void Complain(std::string what) {
    Say(what);
    report_.complaints.push_back(std::move(what));
  }

  void WriteDown() {
    stage_.Keep();
    std::string text = absl::StrCat("COUNTER_TEST_SEED=", TestSeed(), "\n",
                                    absl::StrJoin(report_.complaints, "\n"), "\n");
    std::set<verify::Pair> pairs;
    for (const Finding& finding : report_.findings) {
      absl::StrAppend(&text, verify::Name(finding.kind), " user ", finding.pair.user, " item ",
                      finding.pair.item, ": ", finding.what, "\n");
      pairs.insert(finding.pair);
    }
    WriteFile(stage_.folder() + "/findings", text);
    WriteFile(stage_.folder() + "/schedule", report_.schedule);
    constexpr size_t kLogsMax = 50;
    size_t written = 0;
    for (const verify::Pair& pair : pairs) {
      if (++written > kLogsMax) break;
      WriteFile(absl::StrCat(stage_.folder(), "/user_", pair.user, "_item_", pair.item, ".log"),
                verify::LogOf(report_.history, pair, start_));
    }
  }

  Stage& stage_;
  const TortureOptions& options_;
  Random random_;
  const Instant start_;
  std::vector<verify::Disturbance> disturbances_;
  TortureReport report_;
};

}  // namespace

TortureReport Torture(Stage& stage, const TortureOptions& options) {
  return Run(stage, options).Go();
}

void RequireClean(const TortureReport& report, const Stage& stage) {
  std::string errors;
  for (const auto& [kind, count] : report.totals.errors)
    absl::StrAppend(&errors, ", ", count, " ", kind);
  WARN(report.totals.calls << " calls, " << report.history.writes.size() << " likes and unlikes, "
                           << report.history.pair_reads.size() + report.history.count_reads.size()
                           << " reads" << errors);
  INFO("everything is in " << stage.folder());
  INFO(report.schedule);
  for (const std::string& complaint : report.complaints) FAIL_CHECK(complaint);
  for (size_t i = 0; i < std::min(report.findings.size(), kFindingsShown); ++i) {
    const Finding& finding = report.findings[i];
    FAIL_CHECK(verify::Name(finding.kind) << ", user " << finding.pair.user << " item "
                                          << finding.pair.item << ": " << finding.what);
  }
  CHECK(report.findings.empty());
}

}  // namespace counter::testing
