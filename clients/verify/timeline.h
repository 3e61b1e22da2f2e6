// PairTimeline and CountTimeline: what may have been true at each instant, of a pair and of the
// count of an item.
//
// A count lies between the likes that certainly were there and those that may have been: so both
// are never narrower than the truth, and what they rule out was never true.
//
// Pure. Threads: const methods any.
#ifndef COUNTER_CLIENTS_VERIFY_TIMELINE_H_
#define COUNTER_CLIENTS_VERIFY_TIMELINE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "clients/verify/history.h"
#include "clients/verify/pair_fold.h"

namespace counter::verify {

class PairTimeline {
 public:
  struct Step {
    Instant at = 0;  // From here to the next step.
    Possible possible;
  };

  // From `begin` on `during` may be true, from `end` on only `after`. Requires that calls come in
  // their order.
  void Add(Instant begin, Instant end, const Possible& during, const Possible& after);

  // Whether it may have been so at some instant from `from` to `to`.
  bool WasEver(bool liked, Instant from, Instant to) const;

  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;  // Before the first one: not liked.
};

class CountTimeline {
 public:
  // Of all pairs of the item.
  explicit CountTimeline(const std::vector<const PairTimeline*>& pairs);

  // Whether the count may have been `count` at some instant from `from` to `to`.
  bool WasEver(int64_t count, Instant from, Instant to) const;
  // The least and the most that it may have been then.
  std::pair<int64_t, int64_t> Range(Instant from, Instant to) const;

 private:
  struct Step {
    Instant at = 0;
    int64_t least = 0;
    int64_t most = 0;
  };
  std::vector<Step> steps_;  // Before the first one: 0.
};

}  // namespace counter::verify

#endif  // COUNTER_CLIENTS_VERIFY_TIMELINE_H_
