// RecentPuts: which items were put into the cache lately, so that they can be put again when the
// cache has lost what it acknowledged (a failover, rule 6 in count_cache.h's design).
//
// Bounds: items_max items; the one put longest ago goes first.
//
// Threads: one at a time. Ownership: values only; it has no clock.
#ifndef COUNTER_CACHE_REDIS_RECENT_PUTS_H_
#define COUNTER_CACHE_REDIS_RECENT_PUTS_H_

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/like.h"

namespace counter::redis {

class RecentPuts {
 public:
  // Requires items_max >= 1.
  RecentPuts(absl::Duration span, size_t items_max) : span_(span), items_max_(items_max) {}

  void Note(const Item& item, MonotonicTime now);

  // The items put within the span before `now`, each once, in order.
  std::vector<Item> Since(MonotonicTime now);

  size_t size() const { return last_put_.size(); }

 private:
  void Trim(MonotonicTime now);

  absl::Duration span_;
  size_t items_max_;
  absl::flat_hash_map<Item, MonotonicTime> last_put_;
  std::deque<std::pair<MonotonicTime, Item>> notes_;  // Oldest first; an item may come again.
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_RECENT_PUTS_H_
