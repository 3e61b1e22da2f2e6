#include "clients/verify/timeline.h"

#include <algorithm>

namespace counter::verify {
namespace {

// The steps that hold at some instant from `from` to `to`, as far back as the one that `from` is
// in; calls `look` with each, the newest first, until it says true.
template <class Step, class Look>
bool LookBack(const std::vector<Step>& steps, Instant from, Instant to, const Look& look) {
  auto step = std::upper_bound(steps.begin(), steps.end(), to,
                               [](Instant at, const Step& s) { return at < s.at; });
  while (step != steps.begin()) {
    --step;
    if (look(*step)) return true;
    if (step->at <= from) return false;
  }
  return look(Step{});
}

}  // namespace

void PairTimeline::Add(Instant begin, Instant end, const Possible& during, const Possible& after) {
  // A microsecond more on both sides: the clock counts whole ones.
  steps_.push_back({begin - 1, during});
  if (!(after == during)) steps_.push_back({end + 1, after});
}

bool PairTimeline::WasEver(bool liked, Instant from, Instant to) const {
  return LookBack(steps_, from, to, [liked](const Step& step) {
    const bool unset = !step.possible.liked && !step.possible.unliked;
    return liked ? step.possible.liked : unset || step.possible.unliked;
  });
}

CountTimeline::CountTimeline(const std::vector<const PairTimeline*>& pairs) {
  struct Change {
    Instant at = 0;
    int least = 0;
    int most = 0;
  };
  std::vector<Change> changes;
  for (const PairTimeline* pair : pairs) {
    int least = 0;
    int most = 0;
    for (const PairTimeline::Step& step : pair->steps()) {
      const int least_now = step.possible.unliked ? 0 : 1;
      const int most_now = step.possible.liked ? 1 : 0;
      changes.push_back({step.at, least_now - least, most_now - most});
      least = least_now;
      most = most_now;
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  Step now;
  for (const Change& change : changes) {
    now = {change.at, now.least + change.least, now.most + change.most};
    steps_.push_back(now);
  }
}

bool CountTimeline::WasEver(int64_t count, Instant from, Instant to) const {
  return LookBack(steps_, from, to,
                  [count](const Step& step) { return step.least <= count && count <= step.most; });
}

std::pair<int64_t, int64_t> CountTimeline::Range(Instant from, Instant to) const {
  std::pair<int64_t, int64_t> range = {INT64_MAX, 0};
  LookBack(steps_, from, to, [&range](const Step& step) {
    range.first = std::min(range.first, step.least);
    range.second = std::max(range.second, step.most);
    return false;
  });
  return range;
}

}  // namespace counter::verify
