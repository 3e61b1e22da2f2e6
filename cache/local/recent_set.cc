#include "cache/local/recent_set.h"

#include <algorithm>

namespace counter {

bool RecentSet::Record(const LikeFact& fact, MonotonicTime verified, MonotonicTime now) {
  auto before = [](const Known& known, const Item& item) { return known.item < item; };
  auto place = std::lower_bound(known_.begin(), known_.end(), fact.item, before);
  const bool is_known = place != known_.end() && place->item == fact.item;
  if (is_known) {
    if (fact.item_version < place->version) return false;
    if (fact.item_version == place->version && fact.verified_at <= place->verified_at) return false;
  } else {
    place = known_.insert(place, Known{});
  }
  *place = Known{fact.item, fact.item_version, fact.verified_at, fact.liked ? verified : now,
                 fact.liked};
  return true;
}

std::optional<absl::Time> RecentSet::Find(const Item& item, MonotonicTime now,
                                          const RecentSetBounds& bounds) const {
  auto before = [](const Known& known, const Item& wanted) { return known.item < wanted; };
  auto place = std::lower_bound(known_.begin(), known_.end(), item, before);
  if (place == known_.end() || place->item != item || !place->liked) return std::nullopt;
  if (Between(place->at, now) > bounds.fresh_for) return std::nullopt;
  return place->verified_at;
}

std::optional<MonotonicTime> RecentSet::Trim(MonotonicTime now, const RecentSetBounds& bounds) {
  auto has_ended = [&](const Known& known) {
    return !known.liked && Between(known.at, now) >= bounds.trace_life;
  };
  std::erase_if(known_, has_ended);

  auto is_like = [](const Known& known) { return known.liked; };
  const auto likes = static_cast<size_t>(std::count_if(known_.begin(), known_.end(), is_like));
  const size_t traces = known_.size() - likes;
  if (likes > bounds.likes_max) EraseOldest(true, likes - bounds.likes_max);
  if (traces <= bounds.traces_max) return std::nullopt;
  return EraseOldest(false, traces - bounds.traces_max);
}

MonotonicTime RecentSet::EraseOldest(bool liked, size_t erase) {
  std::vector<std::pair<MonotonicTime, Item>> candidates;
  for (const Known& known : known_) {
    if (known.liked == liked) candidates.emplace_back(known.at, known.item);
  }
  auto last = candidates.begin() + static_cast<std::ptrdiff_t>(erase) - 1;
  std::nth_element(candidates.begin(), last, candidates.end());
  auto is_erased = [&](const Known& known) {
    return known.liked == liked && std::pair(known.at, known.item) <= *last;
  };
  std::erase_if(known_, is_erased);
  return last->first;
}

std::optional<MonotonicTime> RecentSet::YoungestTrace() const {
  std::optional<MonotonicTime> youngest;
  for (const Known& known : known_) {
    if (!known.liked && (!youngest || known.at > *youngest)) youngest = known.at;
  }
  return youngest;
}

}  // namespace counter
