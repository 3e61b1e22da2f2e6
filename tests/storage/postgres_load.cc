#include "tests/storage/postgres_load.h"

#include <algorithm>
#include <random>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

void Record(const Mutation& mutation, const absl::StatusOr<Applied>& result, LoadReport& report) {
  PairTally& pair = report.pairs[{mutation.user.value, mutation.item.id}];
  const bool like = mutation.action == Action::kLike;
  if (result.ok()) {
    ++report.ok;
    if (result->changed) ++(like ? pair.liked : pair.unliked);
    if (result->count < 0 || (like && result->count < 1))
      report.faults.push_back(absl::StrCat("count ", result->count, " after a like or unlike"));
    if (result->count > 0 && result->version <= 0) report.faults.emplace_back("no version");
    return;
  }
  ++report.errors[ReasonOf(result.status())];
  if (IsNotApplied(result.status())) {
    ++report.not_applied;
    return;
  }
  ++report.unknown;
  ++(like ? pair.unknown_likes : pair.unknown_unlikes);
}

LoadReport RunWorker(LikeStore& store, const LoadOptions& options, uint64_t seed,
                     const std::atomic<bool>* stop) {
  LoadReport report;
  std::mt19937_64 random(seed);
  const auto pick = [&random](int64_t most) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  const absl::Time end = absl::Now() + options.duration;
  while (stop != nullptr ? !stop->load() : absl::Now() < end) {
    std::vector<Mutation> mutations;
    for (int i = 0; i < options.batch; ++i) {
      const bool unlike = pick(100) <= options.unlikes_percent;
      mutations.push_back(unlike ? UnlikeOf(pick(options.users), pick(options.items))
                                 : LikeOf(pick(options.users), pick(options.items)));
    }
    const absl::Time begin = absl::Now();
    const auto results = BlockingWait(store.Apply(mutations, Within(options.deadline)));
    report.slowest = std::max(report.slowest, absl::Now() - begin);
    for (size_t i = 0; i < mutations.size(); ++i) {
      Record(mutations[i], results[i], report);
      if (results[i].ok()) report.last_ok = absl::Now();
      const bool may_be_written = results[i].ok() || !IsNotApplied(results[i].status());
      if (options.written != nullptr && may_be_written) ++*options.written;
    }
    // A store that is gone answers at once: do not count millions of refusals.
    if (!results[0].ok()) absl::SleepFor(absl::Milliseconds(2));
  }
  return report;
}

}  // namespace

void Merge(LoadReport& into, const LoadReport& from) {
  into.ok += from.ok;
  into.not_applied += from.not_applied;
  into.unknown += from.unknown;
  for (const auto& [reason, count] : from.errors) into.errors[reason] += count;
  for (const auto& [pair, tally] : from.pairs) {
    PairTally& sum = into.pairs[pair];
    sum.liked += tally.liked;
    sum.unliked += tally.unliked;
    sum.unknown_likes += tally.unknown_likes;
    sum.unknown_unlikes += tally.unknown_unlikes;
  }
  into.slowest = std::max(into.slowest, from.slowest);
  into.last_ok = std::max(into.last_ok, from.last_ok);
  into.faults.insert(into.faults.end(), from.faults.begin(), from.faults.end());
}

LoadReport RunLoad(const std::vector<LikeStore*>& stores, const LoadOptions& options,
                   const std::atomic<bool>* stop) {
  std::vector<LoadReport> reports(static_cast<size_t>(options.threads));
  RunWorkers(options.threads, [&](int worker) {
    const auto at = static_cast<size_t>(worker);
    reports[at] = RunWorker(*stores[at % stores.size()], options,
                            TestSeed() + static_cast<uint64_t>(worker), stop);
  });
  LoadReport sum;
  for (const LoadReport& report : reports) Merge(sum, report);
  return sum;
}

BackgroundLoad::BackgroundLoad(std::vector<LikeStore*> stores, const LoadOptions& options)
    : thread_([this, stores = std::move(stores), options] {
        report_ = RunLoad(stores, options, &stop_);
      }) {}

BackgroundLoad::~BackgroundLoad() {
  if (thread_.joinable()) Stop();
}

LoadReport BackgroundLoad::Stop() {
  stop_ = true;
  thread_.join();
  return report_;
}

std::vector<std::string> Contradictions(const LoadReport& report, const PostgresServer& server,
                                        const std::string& url) {
  std::vector<std::string> found = report.faults;
  const auto rows = server.Psql(url, "SELECT user_id, item_id FROM user_likes");
  if (!rows.ok()) return {std::string(rows.status().message())};
  std::set<std::pair<int64_t, int64_t>> there;
  for (const absl::string_view line : absl::StrSplit(*rows, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    std::pair<int64_t, int64_t> pair;
    if (absl::SimpleAtoi(cells[0], &pair.first) && absl::SimpleAtoi(cells[1], &pair.second))
      there.insert(pair);
  }
  for (const auto& [pair, tally] : report.pairs) {
    const int now = there.erase(pair) > 0 ? 1 : 0;
    const int told = tally.liked - tally.unliked;
    if (now > told + tally.unknown_likes || now < told - tally.unknown_unlikes)
      found.push_back(absl::StrCat("user ", pair.first, " item ", pair.second, ": liked ",
                                   tally.liked, ", unliked ", tally.unliked, ", unknown ",
                                   tally.unknown_likes, "/", tally.unknown_unlikes, ", there ",
                                   now));
  }
  for (const auto& pair : there)
    found.push_back(absl::StrCat("nobody liked user ", pair.first, " item ", pair.second));
  return found;
}

}  // namespace counter::testing
