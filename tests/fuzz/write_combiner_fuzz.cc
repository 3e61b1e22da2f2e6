// The write combiner against a store that does one mutation after the other: every mutation ends
// once, in its pair's order, with the answer of a sequential execution.
#include <fuzzer/FuzzedDataProvider.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "storage/write_combiner.h"
#include "tests/fuzz/require.h"

namespace counter {
namespace {

using fuzz::Require;

class Run {
 public:
  explicit Run(FuzzedDataProvider& data)
      : data_(data),
        combiner_({.mutations_max = data.ConsumeIntegralInRange(1, 40),
                   .retries_max = data.ConsumeIntegralInRange(0, 2)}),
        rows_max_(data.ConsumeIntegralInRange(1, 8)) {}

  void All() {
    while (data_.remaining_bytes() > 0) Step();
    for (int turns = 0; combiner_.mutations() > 0; ++turns) {
      Require(turns < 10'000);  // Else something starves.
      GiveOut();
      if (!in_flight_.empty()) End(0);
    }
    for (const Pushed& pushed : pushed_) Require(pushed.ended);
  }

 private:
  using Pair = std::pair<UserId, Item>;
  struct Pushed {
    Mutation mutation;
    CallLimits limits;
    bool ended = false;
  };

  void Step() {
    switch (data_.ConsumeIntegralInRange(0, 6)) {
      case 0:
      case 1:
      case 2:
        return Push();
      case 3:
        return GiveOut();
      case 4:
        if (!in_flight_.empty())
          End(data_.ConsumeIntegralInRange<size_t>(0, in_flight_.size() - 1));
        return;
      case 5:
        now_ += std::chrono::milliseconds(data_.ConsumeIntegralInRange(0, 10));
        combiner_.DropUnwanted(now_, ended_);
        return TakeUnapplied();
      default:
        if (!pushed_.empty()) {
          pushed_[data_.ConsumeIntegralInRange<size_t>(0, pushed_.size() - 1)]
              .limits.cancellation.Cancel();
        }
    }
  }

  void Push() {
    Pushed next;
    next.mutation = {UserId{data_.ConsumeIntegralInRange<int64_t>(1, 3)},
                     {ItemType{1}, data_.ConsumeIntegralInRange<int64_t>(1, 2)},
                     data_.ConsumeBool() ? Action::kLike : Action::kUnlike};
    next.limits.cancellation = Cancellation::Make();
    if (data_.ConsumeBool()) {
      next.limits.deadline = now_ + std::chrono::milliseconds(data_.ConsumeIntegralInRange(0, 20));
    }
    const Ticket ticket = {this, static_cast<int>(pushed_.size())};
    if (combiner_.Push(next.mutation, next.limits, ticket)) pushed_.push_back(std::move(next));
  }

  void GiveOut() {
    std::optional<WriteUnit> unit = combiner_.NextUnit(rows_max_, now_, ended_);
    TakeUnapplied();
    if (!unit.has_value()) return;
    for (const UnitRow& row : unit->rows) {
      for (const WriteUnit& other : in_flight_) {
        for (const UnitRow& busy : other.rows)
          Require(busy.user != row.user || busy.item != row.item);
      }
    }
    in_flight_.push_back(*std::move(unit));
  }

  void End(size_t chosen) {
    const WriteUnit unit = in_flight_[chosen];
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(chosen));
    constexpr UnitFailure kFailures[] = {UnitFailure::kNotSent, UnitFailure::kRetryable,
                                         UnitFailure::kRejected, UnitFailure::kFinal};
    const int ending = data_.remaining_bytes() > 0 ? data_.ConsumeIntegralInRange(0, 7) : 7;
    if (ending < 4) {
      combiner_.Fail(unit.id, kFailures[ending], MakeError(ErrorReason::kInternal, "no"), ended_);
      return TakeUnapplied();
    }
    std::vector<Applied> outcomes;
    ++commits_;
    for (const UnitRow& row : unit.rows) {
      const Pair pair = {row.user, row.item};
      const bool changed =
          unit.action == Action::kLike ? likes_.insert(pair).second : likes_.erase(pair) == 1;
      outcomes.push_back({changed, static_cast<int64_t>(likes_.size()), commits_});
    }
    combiner_.Complete(unit.id, outcomes, ended_);
    TakeAnswers(unit, outcomes);
  }

  void TakeUnapplied() {
    for (const EndedMutation& one : ended_) {
      Require(!one.result.ok());
      Finish(one);
    }
    ended_.clear();
  }

  // Every row is answered, one of its mutations as the one that changed something, if it did.
  void TakeAnswers(const WriteUnit& unit, const std::vector<Applied>& outcomes) {
    std::map<Pair, int> answered;
    std::map<Pair, int> changed;
    for (const EndedMutation& one : ended_) {
      const Mutation& mutation = Finish(one);
      if (!one.result.ok()) continue;  // Dropped on the way.
      Require(mutation.action == unit.action);
      const Pair pair = {mutation.user, mutation.item};
      ++answered[pair];
      if (one.result->changed) ++changed[pair];
      // In the order of the pushes of the pair.
      const auto [last, is_first] = last_applied_.try_emplace(pair, one.ticket.position);
      Require(is_first || last->second < one.ticket.position);
      last->second = one.ticket.position;
    }
    ended_.clear();
    Require(answered.size() == unit.rows.size());
    for (size_t i = 0; i < unit.rows.size(); ++i) {
      const Pair pair = {unit.rows[i].user, unit.rows[i].item};
      Require(answered.count(pair) == 1 && changed[pair] == (outcomes[i].changed ? 1 : 0));
    }
  }

  const Mutation& Finish(const EndedMutation& one) {
    Require(one.ticket.call == this);
    Pushed& pushed = pushed_[static_cast<size_t>(one.ticket.position)];
    Require(!std::exchange(pushed.ended, true));
    return pushed.mutation;
  }

  FuzzedDataProvider& data_;
  WriteCombiner combiner_;
  const int rows_max_;
  MonotonicTime now_ = MonotonicTime(std::chrono::hours(1));
  std::vector<Pushed> pushed_;
  std::vector<WriteUnit> in_flight_;
  std::vector<EndedMutation> ended_;
  std::set<Pair> likes_;
  std::map<Pair, int> last_applied_;
  int64_t commits_ = 0;
};

}  // namespace
}  // namespace counter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size > 2000) return 0;
  FuzzedDataProvider data(bytes, size);
  counter::Run(data).All();
  return 0;
}
