// OpenCalls: the Apply calls of a store that have not ended in all their mutations.
//
// Use it between the interface, which takes calls, and the lanes, which end mutations one by one. A
// call is answered when its last mutation has ended, when its deadline comes or when the store
// gives up on all; it stays until its last mutation has ended, because tickets point to it.
//
// Threads: everything on the loop's thread. Resumers run from inside; anything may be pushed from
// there.
#ifndef COUNTER_STORAGE_POSTGRES_OPEN_CALLS_H_
#define COUNTER_STORAGE_POSTGRES_OPEN_CALLS_H_

#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/task.h"
#include "storage/like_store.h"
#include "storage/store_observer.h"
#include "storage/write_combiner.h"

namespace counter::postgres {

class OpenCalls {
 public:
  using Results = std::vector<absl::StatusOr<Applied>>;

  struct Call {
    Results results;
    std::vector<bool> ended;
    int open = 0;
    bool answered = false;
    CallLimits limits;
    std::optional<Resumer<Results>> resume;
    std::list<Call>::iterator self;
  };

  // The observer may be null.
  explicit OpenCalls(StoreObserver* observer) : observer_(observer) {}

  // The call's mutations have the tickets {&call, 0} to {&call, mutations - 1}. Requires
  // mutations >= 1.
  Call& Add(int mutations, CallLimits limits, Resumer<Results> resume);
  void End(std::vector<EndedMutation> ended);

  // Answers those whose deadline has come. What is still open of them was sent.
  void AnswerExpired(MonotonicTime now);
  // Answers all, with `error` for the mutations that have not ended.
  void AnswerAll(const absl::Status& error);

  bool AnyExpired(MonotonicTime now) const {
    return !deadlines_.empty() && deadlines_.begin()->first <= now;
  }
  bool all_answered() const { return deadlines_.empty(); }
  // Mutations whose deadline came, or whose caller went, before they were sent. Rising.
  int64_t dropped() const { return dropped_; }

 private:
  void EndMutation(Call& call, int position, absl::StatusOr<Applied> result);
  void Answer(Call& call, const absl::Status& error);

  StoreObserver* const observer_;
  int64_t dropped_ = 0;
  std::list<Call> calls_;
  absl::btree_set<std::pair<MonotonicTime, Call*>> deadlines_;  // Of calls that were not answered.
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_OPEN_CALLS_H_
