// Random schedules of the write combiner against a sequential execution: random likes and unlikes
// over few users and items, random batch limits and units in flight, random failures, expiries and
// cancellations. COUNTER_TEST_SEED replays one schedule.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "storage/write_combiner.h"

namespace counter {
namespace {

using Pair = std::pair<UserId, Item>;

// The store of the model: what one unit after the other would find.
struct SequentialStore {
  std::set<Pair> likes;
  std::map<Item, int64_t> counts;
  std::map<Item, int64_t> versions;

  bool Apply(const Pair& pair, Action action) {
    const bool changed =
        action == Action::kLike ? likes.insert(pair).second : likes.erase(pair) == 1;
    if (changed) counts[pair.second] += action == Action::kLike ? 1 : -1;
    return changed;
  }
};

// Runs one schedule. The first broken promise is kept in `fault`.
class Schedule {
 public:
  explicit Schedule(uint64_t seed)
      : random_(seed),
        users_(Draw(1, 5)),
        items_(Draw(1, 4)),
        rows_max_(Draw(1, 12)),
        in_flight_max_(Draw(1, 4)),
        limits_{.mutations_max = Draw(5, 80), .retries_max = Draw(0, 3)},
        combiner_(limits_) {
    if (Chance(2)) poison_ = {UserId{Draw(1, users_)}, Post(Draw(1, items_))};
  }

  std::string Run() {
    for (int step = Draw(10, 60); step > 0 && fault_.empty(); --step) Step();
    for (int left = 10'000; combiner_.mutations() > 0 && fault_.empty(); --left) {
      Check(left > 0, "a mutation starved");
      GiveOut();
      if (!in_flight_.empty()) EndOne();
    }
    Check(!combiner_.NextUnit(1, now_, ended_), "a unit came out of an empty combiner");
    for (const Pushed& pushed : pushed_) Check(pushed.ended, "a mutation never ended");
    CompareWithSequentialExecution();
    return fault_;
  }

 private:
  struct Pushed {
    Mutation mutation;
    CallLimits limits;
    bool ended = false;
    int applied_at = -1;  // Of which commit it was a part; -1: of none.
    std::optional<Applied> answer;
  };

  static Item Post(int id) { return {ItemType{1}, id}; }
  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int one_in) { return Draw(1, one_in) == 1; }
  void Check(bool holds, const char* promise) {
    if (!holds && fault_.empty()) fault_ = promise;
  }

  void Step() {
    now_ += std::chrono::milliseconds(Draw(0, 3));
    for (int pushes = Draw(0, 6); pushes > 0; --pushes) Push();
    if (!pushed_.empty() && Chance(8)) pushed_[DrawPushed()].limits.cancellation.Cancel();
    if (Chance(2)) GiveOut();
    if (!in_flight_.empty() && Chance(2)) EndOne();
    if (Chance(20)) Sweep();
  }

  size_t DrawPushed() { return static_cast<size_t>(Draw(0, static_cast<int>(pushed_.size()) - 1)); }

  void Push() {
    Pushed next;
    next.mutation = {UserId{Draw(1, users_)}, Post(Draw(1, items_)),
                     Chance(2) ? Action::kLike : Action::kUnlike};
    next.limits.cancellation = Cancellation::Make();
    if (Chance(4)) next.limits.deadline = now_ + std::chrono::milliseconds(Draw(0, 20));
    const bool room = combiner_.mutations() < limits_.mutations_max;
    const bool taken =
        combiner_.Push(next.mutation, next.limits, Ticket{this, static_cast<int>(pushed_.size())});
    Check(taken == room, "the limit in mutations is not kept");
    if (taken) pushed_.push_back(std::move(next));
  }

  void Sweep() {
    if (Chance(4)) {
      combiner_.FailWaiting(MakeError(ErrorReason::kShuttingDown, "stop"), ended_);
      Check(combiner_.waiting() == 0, "FailWaiting left something");
    } else {
      combiner_.DropUnwanted(now_, ended_);
    }
    TakeEnded(-1, nullptr);
  }

  void GiveOut() {
    if (static_cast<int>(in_flight_.size()) >= in_flight_max_) return;
    const bool retry = combiner_.has_retries();
    std::optional<WriteUnit> unit = combiner_.NextUnit(rows_max_, now_, ended_);
    TakeEnded(-1, nullptr);
    if (!unit) return;
    CheckShape(*unit, retry);
    in_flight_.push_back(*std::move(unit));
  }

  void CheckShape(const WriteUnit& unit, bool retry) {
    Check(!unit.rows.empty(), "a unit is empty");
    Check(retry || static_cast<int>(unit.rows.size()) <= rows_max_, "a unit is too large");
    Check(unit.mutations >= static_cast<int>(unit.rows.size()), "a row has no mutation");
    auto key = [](const UnitRow& row) { return std::tie(row.item.type, row.user, row.item.id); };
    for (size_t i = 1; i < unit.rows.size(); ++i) {
      Check(key(unit.rows[i - 1]) < key(unit.rows[i]), "rows are not sorted and distinct");
    }
    for (size_t i = 1; i < unit.counters.size(); ++i) {
      Check(unit.counters[i - 1] < unit.counters[i], "counters are not sorted and distinct");
    }
    for (const UnitRow& row : unit.rows) {
      Check(unit.counters[static_cast<size_t>(row.counter)] == row.item, "a counter is wrong");
      for (const WriteUnit& other : in_flight_) {
        for (const UnitRow& busy : other.rows) {
          Check(busy.user != row.user || busy.item != row.item, "a pair is in flight twice");
        }
      }
    }
  }

  // Ends one unit in flight, any of them, in one of the ways that a store may.
  void EndOne() {
    const size_t chosen = static_cast<size_t>(Draw(0, static_cast<int>(in_flight_.size()) - 1));
    const WriteUnit unit = in_flight_[chosen];
    in_flight_.erase(in_flight_.begin() + static_cast<int>(chosen));
    const bool poisoned = std::any_of(unit.rows.begin(), unit.rows.end(), [&](const UnitRow& row) {
      return poison_ && poison_ == Pair{row.user, row.item};
    });
    const absl::Status error = MakeError(ErrorReason::kInternal, "the store says no");
    if (poisoned) {
      const absl::Status fault = MakeError(ErrorReason::kInvalidRequest, "poison");
      combiner_.Fail(unit.id, UnitFailure::kRejected, fault, ended_);
      return TakeEnded(-1, &unit);
    }
    switch (Draw(0, 9)) {
      case 0:
        combiner_.Fail(unit.id, UnitFailure::kRetryable, error, ended_);
        return TakeEnded(-1, &unit);
      case 1:
        combiner_.Fail(unit.id, UnitFailure::kNotSent, error, ended_);
        return TakeEnded(-1, &unit);
      case 2: {  // The outcome is lost.
        const bool committed = Chance(2);
        if (committed) Commit(unit);
        combiner_.Fail(unit.id, UnitFailure::kFinal, error, ended_);
        return TakeEnded(committed ? commits_ : -1, &unit);
      }
      default:
        combiner_.Complete(unit.id, Commit(unit), ended_);
        return TakeEnded(commits_, &unit);
    }
  }

  std::vector<Applied> Commit(const WriteUnit& unit) {
    ++commits_;
    std::vector<Applied> outcomes;
    for (const UnitRow& row : unit.rows) {
      outcomes.push_back({store_.Apply({row.user, row.item}, unit.action), 0, 0});
      if (outcomes.back().changed) store_.versions[row.item] = commits_;
    }
    for (size_t i = 0; i < outcomes.size(); ++i) {
      outcomes[i].count = store_.counts[unit.rows[i].item];
      outcomes[i].version = store_.versions[unit.rows[i].item];
    }
    return outcomes;
  }

  void TakeEnded(int commit, const WriteUnit* unit) {
    for (const EndedMutation& one : ended_) {
      Check(one.ticket.call == this, "a ticket is not what was pushed");
      Pushed& pushed = pushed_[static_cast<size_t>(one.ticket.position)];
      Check(!pushed.ended, "a mutation ended twice");
      pushed.ended = true;
      pushed.applied_at = commit;
      if (one.result.ok()) {
        Check(commit >= 0, "a mutation was answered without a commit");
        pushed.answer = *one.result;
        continue;
      }
      const ErrorReason reason = ReasonOf(one.result.status());
      const bool dropped =
          reason == ErrorReason::kDeadlineExceeded || reason == ErrorReason::kCancelled;
      if (reason == ErrorReason::kDeadlineExceeded) {
        Check(pushed.limits.expired(now_), "a mutation was dropped before its deadline");
      }
      if (reason == ErrorReason::kCancelled) {
        Check(pushed.limits.cancellation.cancelled(), "a mutation was dropped but not cancelled");
      }
      if (reason == ErrorReason::kInvalidRequest) {
        Check(poison_ == Pair(pushed.mutation.user, pushed.mutation.item),
              "a row's failure hurt a neighbour");
      }
      Check(!dropped || IsNotApplied(one.result.status()), "a drop is not marked as not applied");
      Check(dropped || unit != nullptr || reason == ErrorReason::kShuttingDown,
            "a mutation failed with no unit");
    }
    ended_.clear();
  }

  // Every pair's mutations that took effect, one at a time in the order of their pushes, must give
  // the answers that were given, and the final state.
  void CompareWithSequentialExecution() {
    SequentialStore sequential;
    std::map<Pair, int> last_commit;
    std::map<std::pair<int, Item>, std::pair<int64_t, int64_t>> seen;
    for (const Pushed& pushed : pushed_) {
      if (pushed.applied_at < 0) continue;
      const Pair pair{pushed.mutation.user, pushed.mutation.item};
      const bool changed = sequential.Apply(pair, pushed.mutation.action);
      int& last = last_commit[pair];
      Check(last <= pushed.applied_at, "a pair's mutations took effect out of order");
      last = pushed.applied_at;
      if (!pushed.answer) continue;
      Check(pushed.answer->changed == changed, "changed differs from a sequential execution");
      // One commit shows one count and version of an item, whoever asks.
      const auto shown = std::make_pair(pushed.answer->count, pushed.answer->version);
      const auto entry = seen.emplace(std::make_pair(pushed.applied_at, pair.second), shown);
      Check(entry.first->second == shown, "two answers of one commit differ");
      Check(!changed || pushed.answer->version == pushed.applied_at, "an answer is another's");
    }
    Check(sequential.likes == store_.likes, "the final state differs from a sequential execution");
    CompareCounts(seen);
  }

  // The counts that were answered against a recount in the order of commits.
  void CompareCounts(const std::map<std::pair<int, Item>, std::pair<int64_t, int64_t>>& answered) {
    std::map<int, std::vector<Mutation>> by_commit;
    for (const Pushed& pushed : pushed_) {
      if (pushed.applied_at >= 0) by_commit[pushed.applied_at].push_back(pushed.mutation);
    }
    SequentialStore recount;
    for (const auto& [commit, mutations] : by_commit) {
      for (const Mutation& one : mutations) recount.Apply({one.user, one.item}, one.action);
      for (const Mutation& one : mutations) {
        const auto shown = answered.find({commit, one.item});
        if (shown == answered.end()) continue;
        Check(shown->second.first == recount.counts[one.item], "a count is wrong");
      }
    }
  }

  std::mt19937_64 random_;
  const int users_;
  const int items_;
  const int rows_max_;
  const int in_flight_max_;
  const WriteCombiner::Limits limits_;
  std::optional<Pair> poison_;

  WriteCombiner combiner_;
  MonotonicTime now_ = MonotonicTime(std::chrono::hours(1));
  std::vector<Pushed> pushed_;
  std::vector<EndedMutation> ended_;
  std::vector<WriteUnit> in_flight_;
  SequentialStore store_;
  int commits_ = 0;
  std::string fault_;
};

TEST_CASE("every schedule gives the answers of a sequential execution") {
  const char* replay = std::getenv("COUNTER_TEST_SEED");
  const uint64_t first = replay != nullptr ? std::strtoull(replay, nullptr, 10)
                                           : std::random_device{}() * uint64_t{1'000'000};
  const int schedules = replay != nullptr ? 1 : 2000;
  for (int i = 0; i < schedules; ++i) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    const std::string fault = Schedule(seed).Run();
    INFO("COUNTER_TEST_SEED=" << seed);
    REQUIRE(fault == "");
  }
}

}  // namespace
}  // namespace counter
