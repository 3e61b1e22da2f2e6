#include "cache/redis/recent_puts.h"

#include <algorithm>

namespace counter::redis {

void RecentPuts::Note(const Item& item, MonotonicTime now) {
  MonotonicTime& last_put = last_put_[item];
  // An item that is put all the time is noted once a tenth of the span, or its notes would fill the
  // queue. The note is then at most that much too old, and Since looks that much further back.
  if (last_put != MonotonicTime() && Between(last_put, now) < span_ / 10) return;
  last_put = now;
  notes_.emplace_back(now, item);
  Trim(now);
}

std::vector<Item> RecentPuts::Since(MonotonicTime now) {
  Trim(now);
  std::vector<Item> items;
  items.reserve(last_put_.size());
  for (const auto& [item, last_put] : last_put_) items.push_back(item);
  std::sort(items.begin(), items.end());  // So that a simulation can be replayed.
  return items;
}

void RecentPuts::Trim(MonotonicTime now) {
  const absl::Duration kept = span_ + span_ / 10;
  while (!notes_.empty() &&
         (Between(notes_.front().first, now) > kept || last_put_.size() > items_max_)) {
    const auto [at, item] = notes_.front();
    notes_.pop_front();
    const auto known = last_put_.find(item);
    if (known != last_put_.end() && known->second == at) last_put_.erase(known);
  }
}

}  // namespace counter::redis
