// Judge: what a schedule's world promises, and whether it was kept.
//
// The simulation tells it what happened: what the cache showed and acknowledged, what callers were
// answered, and which second fault excuses what the first one did. It rules at once, and at rest.
// The first violation counts; it keeps the journal that explains it.
//
// Threads: one at a time. Ownership: borrows the store.
#ifndef COUNTER_TESTS_SIMULATION_JUDGE_H_
#define COUNTER_TESTS_SIMULATION_JUDGE_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cache/count_protocol.h"
#include "tests/simulation/world.h"

namespace counter::simulation {

struct Outcome {
  std::string violation;  // Empty: none.
  int64_t hits = 0;       // Counts shown by the cache; for a test to see that something happened.
  std::string trace;      // What happened, a line a step, if it was asked for.
};

class Judge {
 public:
  // Nothing shown may be older than `bound`.
  Judge(const Store& store, absl::Duration bound, bool traced)
      : store_(store), bound_(bound), traced_(traced) {}

  // Writes down what happened. `text` is called only if somebody will read it.
  template <class Text>
  void Note(absl::Duration now, Text text) {
    if (traced_) absl::StrAppend(&outcome_.trace, absl::FormatDuration(now), " ", text(), "\n");
  }
  void Require(bool holds, absl::string_view what, absl::Duration now) {
    if (!holds) Violate(what, now);
  }
  bool has_ruled() const { return !outcome_.violation.empty(); }
  Outcome TakeOutcome() { return std::move(outcome_); }

  // What happened.
  void Shown(int item, const CountCell& cell, absl::Duration now);
  // A write-through was acknowledged while its caller waited for it.
  void Acknowledged(int item, int64_t version);
  // A write was answered: the pair was in the state that it says at some instant of the call.
  void Answered(const Call& call, absl::Duration now);

  // What is excused. Until then the item may be shown older than the bound: a second fault hit what
  // mends the first.
  void Excuse(int item, absl::Duration until);
  void ExcuseAll(absl::Duration until);
  // A like of the pair may be remembered too long, within its own bound: word of it was lost.
  void FactLost(int user, int item) { fact_lost_[user][item] = true; }
  // What Redis had shown and acknowledged may be gone, until it is put again.
  void RedisForgot();
  // The same of one item's count: of a cluster one node forgets its own.
  void RedisForgot(int item) { seen_[item] = acknowledged_[item] = 0; }

  // All messages have arrived or are lost, and every tick had its chance.
  void AtRest(const Redis& redis, absl::Duration now);

 private:
  void Violate(absl::string_view what, absl::Duration now);
  void RequireOf(int item, bool holds, absl::string_view what, absl::Duration now) {
    if (!holds) Violate(absl::StrCat(what, ", item ", item), now);
  }

  const Store& store_;
  const absl::Duration bound_;
  const bool traced_;
  Outcome outcome_;
  std::array<int64_t, kItems> seen_ = {};          // Newest versions shown, by item,
  std::array<int64_t, kItems> acknowledged_ = {};  // and acknowledged.
  std::array<absl::Duration, kItems> excused_until_ = {};
  std::array<std::array<bool, kItems>, kUsers> fact_lost_ = {};
};

}  // namespace counter::simulation

#endif  // COUNTER_TESTS_SIMULATION_JUDGE_H_
