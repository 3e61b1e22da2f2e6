#include "clients/verify/checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/verify/pair_fold.h"
#include "clients/verify/timeline.h"

namespace counter::verify {
namespace {

Instant Micros(absl::Duration duration) { return absl::ToInt64Microseconds(duration); }

// What an answer that no state allows shows.
FindingKind KindOf(Act act, Outcome outcome) {
  if (outcome == Outcome::kChanged) return FindingKind::kDuplicated;
  return act == Act::kLike ? FindingKind::kUnexpected : FindingKind::kLost;
}

std::string WordsOf(Act act, Outcome outcome) {
  if (outcome == Outcome::kChanged)
    return act == Act::kLike ? "LIKED, and it was liked before" : "UNLIKED, and it was not liked";
  return act == Act::kLike ? "ALREADY_LIKED, and nobody had liked it"
                           : "NOT_LIKED, and it was liked: the like was lost";
}

// When a cached read that ran from `begin` may have been true at the earliest.
class Windows {
 public:
  Windows(const std::vector<Disturbance>& disturbances, const Bounds& bounds)
      : cached_(Micros(bounds.cached)), longest_(Micros(bounds.longest)) {
    std::vector<std::pair<Instant, Instant>> spans;
    for (const Disturbance& disturbance : disturbances)
      spans.emplace_back(disturbance.from - cached_, disturbance.to + Micros(bounds.heal));
    std::sort(spans.begin(), spans.end());
    for (const auto& span : spans) {
      if (!spans_.empty() && span.first <= spans_.back().second) {
        spans_.back().second = std::max(spans_.back().second, span.second);
      } else {
        spans_.push_back(span);
      }
    }
  }

  Instant Start(Instant begin, Instant end) const {
    Instant start = begin - cached_;
    for (const auto& [from, to] : spans_) {
      if (from <= end && to >= start) {
        start = std::min(start, from);
        break;
      }
    }
    return longest_ > begin ? start : std::max(start, begin - longest_);
  }

 private:
  const Instant cached_;
  const Instant longest_;
  std::vector<std::pair<Instant, Instant>> spans_;  // Apart from each other, in order.
};

class Checker {
 public:
  Checker(const History& history, const Bounds& bounds)
      : history_(history), windows_(history.disturbances, bounds) {}

  std::vector<Finding> Run(const std::optional<FinalState>& final_state) {
    FoldPairs();
    CheckReplies();
    CheckReads();
    if (final_state.has_value()) CheckEnd(*final_state);
    std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      return std::tie(a.kind, a.at) < std::tie(b.kind, b.at);
    });
    return std::move(findings_);
  }

 private:
  void Find(FindingKind kind, const Pair& pair, Instant at, std::string what) {
    findings_.push_back({kind, pair, at, std::move(what)});
  }

  void FoldPairs() {
    std::vector<const WriteRecord*> writes;
    for (const WriteRecord& write : history_.writes) writes.push_back(&write);
    std::stable_sort(writes.begin(), writes.end(), [](const WriteRecord* a, const WriteRecord* b) {
      return a->begin < b->begin;
    });
    for (const WriteRecord* write : writes) {
      PairFold& fold = folds_[write->pair];
      const Possible before = fold.possible();
      if (!fold.Take(write->act, write->outcome))
        Find(KindOf(write->act, write->outcome), write->pair, write->begin,
             WordsOf(write->act, write->outcome));
      const Possible after = fold.possible();
      pairs_[write->pair].Add(write->begin, write->end, Either(before, after), after);
    }
    std::map<int64_t, std::vector<const PairTimeline*>> of_item;
    for (const auto& [pair, timeline] : pairs_) of_item[pair.item].push_back(&timeline);
    for (const auto& [item, timelines] : of_item) counts_.emplace(item, CountTimeline(timelines));
  }

  void CheckReplies() {
    for (const WriteRecord& write : history_.writes) {
      if (write.count >= 0)
        CheckCount({write.pair.user, write.pair.item}, write.count, write.begin, write.begin,
                   write.end, "a reply");
    }
  }

  void CheckReads() {
    for (const CountReadRecord& read : history_.count_reads) {
      const bool strong = read.freshness == Freshness::kStrong;
      CheckCount({0, read.item}, read.count,
                 strong ? read.begin : windows_.Start(read.begin, read.end), read.begin, read.end,
                 strong ? "a strong read" : "a cached read");
    }
    static const PairTimeline untouched;
    for (const PairReadRecord& read : history_.pair_reads) {
      const bool strong = read.freshness == Freshness::kStrong;
      const Instant from = strong ? read.begin : windows_.Start(read.begin, read.end);
      const auto found = pairs_.find(read.pair);
      const PairTimeline& timeline = found == pairs_.end() ? untouched : found->second;
      if (timeline.WasEver(read.liked, from, read.end)) continue;
      Find(FindingKind::kUntrue, read.pair, read.begin,
           absl::StrCat(strong ? "a strong read" : "a cached read", " says ",
                        read.liked ? "liked" : "not liked",
                        ", which it was at no instant of the last ",
                        absl::FormatDuration(absl::Microseconds(read.end - from))));
    }
  }

  void CheckCount(const Pair& pair, int64_t count, Instant from, Instant begin, Instant end,
                  const char* who) {
    static const CountTimeline untouched({});
    const auto found = counts_.find(pair.item);
    const CountTimeline& timeline = found == counts_.end() ? untouched : found->second;
    if (timeline.WasEver(count, from, end)) return;
    const auto [least, most] = timeline.Range(from, end);
    Find(FindingKind::kUntrue, pair, begin,
         absl::StrCat(who, " says count ", count, ", and in the last ",
                      absl::FormatDuration(absl::Microseconds(end - from)), " it was from ", least,
                      " to ", most));
  }

  void CheckEnd(const FinalState& end) {
    // After everything else.
    constexpr Instant kAtEnd = INT64_MAX;
    std::map<int64_t, int64_t> rows;
    for (const Pair& pair : end.likes) {
      ++rows[pair.item];
      if (folds_.find(pair) == folds_.end())
        Find(FindingKind::kUnexpected, pair, kAtEnd, "it is liked, and no call liked it");
    }
    for (const auto& [pair, fold] : folds_) {
      const bool liked = end.likes.count(pair) > 0;
      const Possible possible = fold.possible();
      if (liked && !possible.liked)
        Find(FindingKind::kUnexpected, pair, kAtEnd, "it is liked, and cannot be");
      if (!liked && !possible.unliked)
        Find(FindingKind::kLost, pair, kAtEnd, "it was liked, and is not there");
    }
    std::set<int64_t> items;
    for (const auto& [item, count] : rows) items.insert(item);
    for (const auto& [item, count] : end.counts) items.insert(item);
    for (const int64_t item : items) {
      const auto count = end.counts.find(item);
      const int64_t counted = count == end.counts.end() ? 0 : count->second;
      if (counted != rows[item])
        Find(FindingKind::kDrift, {0, item}, kAtEnd,
             absl::StrCat("the count is ", counted, ", the likes are ", rows[item]));
    }
    for (const std::string& drift : end.drifts) Find(FindingKind::kDrift, {}, kAtEnd, drift);
  }

  const History& history_;
  const Windows windows_;
  std::map<Pair, PairFold> folds_;
  std::map<Pair, PairTimeline> pairs_;
  std::map<int64_t, CountTimeline> counts_;
  std::vector<Finding> findings_;
};

}  // namespace

const char* Name(FindingKind kind) {
  switch (kind) {
    case FindingKind::kLost:
      return "lost";
    case FindingKind::kUnexpected:
      return "unexpected";
    case FindingKind::kDuplicated:
      return "duplicated";
    case FindingKind::kDrift:
      return "drift";
    case FindingKind::kUntrue:
      break;
  }
  return "untrue";
}

std::vector<Finding> Check(const History& history, const std::optional<FinalState>& final_state,
                           const Bounds& bounds) {
  return Checker(history, bounds).Run(final_state);
}

}  // namespace counter::verify
