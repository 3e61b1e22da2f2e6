// RecentSet: what is known of one user's likes, as a value: the rules of RecentLikes without a
// clock, a lock or a map of users.
//
// Use it inside an implementation of RecentLikes that holds its state in the process. It is no
// cache: its owner says what time it is and when to Trim, and refuses facts that were too long on
// their way (see IsTooLate).
//
// Threads: one at a time. Ownership: values only. Costs kFactBytes a fact; Find is a binary search,
// Record moves the facts behind it.
#ifndef COUNTER_CACHE_LOCAL_RECENT_SET_H_
#define COUNTER_CACHE_LOCAL_RECENT_SET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/recent_likes.h"
#include "storage/like.h"

namespace counter {

// How far a set may grow and how long its parts are good for.
struct RecentSetBounds {
  size_t likes_max = 1000;
  size_t traces_max = 1000;                      // Traces of unlikes.
  absl::Duration trace_life = kUnlikeTraceLife;  // How long an unlike leaves its trace.
  absl::Duration fresh_for = absl::Minutes(5);   // Find answers with likes verified since.
};

class RecentSet {
 public:
  // Puts `fact` in order with what is known of its item. `verified` is fact.verified_at on the
  // monotonic clock. True when it was taken.
  bool Record(const LikeFact& fact, MonotonicTime verified, MonotonicTime now);

  // When the like of `item` was last verified, if that was within bounds.fresh_for.
  std::optional<absl::Time> Find(const Item& item, MonotonicTime now,
                                 const RecentSetBounds& bounds) const;

  // Forgets traces that have ended, then what is over the bounds: likes verified longest ago,
  // traces made longest ago. Returns when the youngest trace that was forgotten too early was made,
  // if one was: what was verified up to then could bring back what that unlike has ended.
  std::optional<MonotonicTime> Trim(MonotonicTime now, const RecentSetBounds& bounds);

  // When the youngest trace was made, if there is one.
  std::optional<MonotonicTime> YoungestTrace() const;

  size_t size() const { return known_.size(); }
  bool empty() const { return known_.empty(); }

 private:
  struct Known {
    Item item;
    int64_t version = 0;
    absl::Time verified_at;
    MonotonicTime at;  // Of a like: when it was verified. Of a trace: when it was made.
    bool liked = false;
  };

  // Erases the `erase` oldest likes, or traces; returns the time of the youngest erased. Requires
  // that there are so many, and erase >= 1.
  MonotonicTime EraseOldest(bool liked, size_t erase);

  std::vector<Known> known_;  // In order of item.

 public:
  static constexpr int64_t kFactBytes = sizeof(Known);
};

// Whether a like that was verified then may have been overtaken by an unlike whose trace is gone.
inline bool IsTooLate(MonotonicTime verified, MonotonicTime now, const RecentSetBounds& bounds) {
  return Between(verified, now) >= bounds.trace_life;
}

}  // namespace counter

#endif  // COUNTER_CACHE_LOCAL_RECENT_SET_H_
