#include "clients/cli/verify_command.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "clients/cli/exit_status.h"
#include "clients/cli/interrupt_watch.h"
#include "clients/verify/history.h"

namespace counter::cli {
namespace {

namespace json = boost::json;
using verify::Finding;
using verify::History;

// Runs that begin a microsecond apart have ids so far apart.
constexpr int64_t kIdsAMicrosecond = 1024;
constexpr int kAttempts = 20;  // Of calls that must go well in the end.
constexpr size_t kFindingsShown = 20;

struct Verdict {
  History history;
  verify::PairLoad::Totals totals;
  std::vector<Finding> findings;
  verify::Instant start = 0;
};

int64_t CountOf(const History& history, verify::Outcome outcome) {
  return std::count_if(
      history.writes.begin(), history.writes.end(),
      [outcome](const verify::WriteRecord& write) { return write.outcome == outcome; });
}

Row TotalsOf(const VerifySettings& settings, const Verdict& verdict) {
  const History& history = verdict.history;
  Row row = {{"verdict", std::string(verdict.findings.empty() ? "the contract held"
                                                              : "the contract was broken")},
             {"findings", static_cast<int64_t>(verdict.findings.size())},
             {"seed", std::to_string(settings.load.seed)},
             {"calls", verdict.totals.calls},
             {"failed", verdict.totals.failed},
             {"likes_and_unlikes", static_cast<int64_t>(history.writes.size())},
             {"made_a_change", CountOf(history, verify::Outcome::kChanged)},
             {"changed_nothing", CountOf(history, verify::Outcome::kUnchanged)},
             {"not_applied", CountOf(history, verify::Outcome::kNotApplied)},
             {"outcome_unknown", CountOf(history, verify::Outcome::kUnknown)},
             {"counts_read", static_cast<int64_t>(history.count_reads.size())},
             {"pairs_read", static_cast<int64_t>(history.pair_reads.size())}};
  for (const auto& [kind, count] : verdict.totals.errors)
    row.emplace_back(absl::StrCat("error_", kind), count);
  return row;
}

std::vector<std::string> LogLines(const Verdict& verdict, const Finding& finding) {
  return absl::StrSplit(verify::LogOf(verdict.history, finding.pair, verdict.start), '\n',
                        absl::SkipEmpty());
}

void PrintTable(const VerifySettings& settings, const Verdict& verdict, std::ostream& out) {
  std::vector<Row> lines;
  for (const auto& [name, value] : TotalsOf(settings, verdict))
    lines.push_back({{"what", name}, {"value", value}});
  PrintRows(lines, Format::kTable, out);
  for (size_t i = 0; i < std::min(verdict.findings.size(), kFindingsShown); ++i) {
    const Finding& finding = verdict.findings[i];
    out << '\n'
        << verify::Name(finding.kind) << ": user " << finding.pair.user << ", item "
        << settings.load.item_type << ':' << finding.pair.item << ": " << finding.what << '\n';
    for (const std::string& line : LogLines(verdict, finding)) out << "  " << line << '\n';
  }
}

void PrintJson(const VerifySettings& settings, const Verdict& verdict, std::ostream& out) {
  json::object object = ToJson(TotalsOf(settings, verdict));
  json::array found;
  for (const Finding& finding : verdict.findings) {
    json::array log;
    if (found.size() < kFindingsShown) {
      for (const std::string& line : LogLines(verdict, finding)) log.emplace_back(line);
    }
    found.push_back({{"kind", verify::Name(finding.kind)},
                     {"user_id", finding.pair.user},
                     {"item_type", settings.load.item_type},
                     {"item_id", finding.pair.item},
                     {"what", finding.what},
                     {"log", std::move(log)}});
  }
  object["found"] = std::move(found);
  out << json::serialize(object) << '\n';
}

// Takes back every like that may be there. The error that ended it early, if one did.
std::optional<client::Error> TakeBack(const client::Client& client, const History& history,
                                      const std::string& item_type) {
  constexpr size_t kMutationsACall = 500;
  std::set<verify::Pair> pairs;
  for (const verify::WriteRecord& write : history.writes) pairs.insert(write.pair);
  std::vector<client::Mutation> mutations;
  for (auto pair = pairs.begin(); pair != pairs.end();) {
    mutations.push_back({pair->user, {item_type, pair->item}, client::Action::kUnlike});
    if (++pair != pairs.end() && mutations.size() < kMutationsACall) continue;
    std::optional<client::Error> failed;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (failed.has_value()) absl::SleepFor(absl::Milliseconds(200));
      failed.reset();
      const auto written = client.WriteLikes(mutations);
      if (!written.ok()) failed = written.error();
      for (size_t i = 0; written.ok() && i < written->results.size(); ++i) {
        if (!written->results[i].ok()) failed = written->results[i].error();
      }
      if (!failed.has_value()) break;
    }
    if (failed.has_value()) return failed;
    mutations.clear();
  }
  return std::nullopt;
}

int Fail(const std::string& what, const client::Error& error, std::ostream& err) {
  err << "counterctl: " << what << ": " << error.ToString() << '\n';
  return kExitUsage + error.grpc_code;
}

}  // namespace

int RunVerify(const client::Client& once, const client::Client& patient, VerifySettings settings,
              Format format, std::ostream& out, std::ostream& err) {
  verify::PairLoadOptions& load_options = settings.load;
  if (!settings.yes) {
    err << "counterctl: verify likes and unlikes: " << load_options.item_type << " ids from "
        << VerifySettings::kIdsFirst << " on by users from there on, "
        << (settings.keep ? "which stay" : "taken back at the end")
        << "; say --yes if that is wanted\n";
    return kExitUsage;
  }
  load_options.users_first =
      VerifySettings::kIdsFirst + absl::ToUnixMicros(absl::Now()) * kIdsAMicrosecond;
  load_options.items_first = load_options.users_first;
  if (load_options.seed == 0) load_options.seed = std::random_device{}();

  // Somebody must be there, or the verdict would be one on nothing.
  const auto first = patient.Count({load_options.item_type, load_options.items_first});
  if (!first.ok()) return Fail("the deployment cannot be asked", first.error(), err);

  Verdict verdict;
  const InterruptWatch watch;
  verdict.start = verify::SteadyNow();
  verify::PairLoad load({&once}, load_options);
  const absl::Time end = absl::Now() + settings.duration;
  while (absl::Now() < end && !Interrupted() && !load.failed())
    absl::SleepFor(absl::Milliseconds(20));
  verdict.history = load.Stop();
  verdict.totals = load.totals();

  int status = 0;
  if (verdict.totals.fatal.has_value()) {
    status = Fail("a call failed as none may", *verdict.totals.fatal, err);
  } else {
    // What has no known outcome may still be under way.
    if (CountOf(verdict.history, verify::Outcome::kUnknown) > 0)
      absl::SleepFor(load_options.deadline);
    const auto state =
        verify::ReadFinalState(patient, load_options.item_type, verdict.history, kAttempts);
    std::optional<verify::FinalState> final_state;
    if (state.ok()) final_state = *state;
    verdict.findings = verify::Check(verdict.history, final_state, settings.bounds);
    if (format == Format::kJson) {
      PrintJson(settings, verdict, out);
    } else {
      PrintTable(settings, verdict, out);
    }
    if (!state.ok()) status = Fail("what is there in the end cannot be read", state.error(), err);
    if (!verdict.findings.empty()) status = kExitFindings;
  }
  if (!settings.keep) {
    const auto failed = TakeBack(patient, verdict.history, load_options.item_type);
    if (failed.has_value()) {
      const int failure = Fail("not all likes could be taken back", *failed, err);
      if (status == 0) status = failure;
    }
  }
  return status == 0 && Interrupted() ? kInterrupted : status;
}

}  // namespace counter::cli
