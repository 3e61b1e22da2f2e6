// LiveStats: what the live page shows, as one line of JSON a second: rates, errors and percentiles
// of the calls by method, cache hits, how the store and Redis do, the hottest items.
//
// Everything comes from what the server counts for Prometheus anyway, from a sketch of hot items,
// and from one strong read and one cache look-up a second, by which it measures how fast they
// answer. Nothing runs while nobody looks.
//
// Threads: one at a time (the HTTP server's); the probes end on threads of the store and the cache.
// Ownership: borrows the parts; probes that are under way keep what they write to, and must have
// ended (the store's Stop() sees to it) before the parts go.
#ifndef COUNTER_SERVER_PAGES_LIVE_STATS_H_
#define COUNTER_SERVER_PAGES_LIVE_STATS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/recent_likes.h"
#include "server/hot_items.h"
#include "server/metrics/metrics.h"
#include "storage/like_store.h"

namespace counter::pages {

class LiveStats {
 public:
  struct Parts {
    Metrics& metrics;
    HotItems& hot_items;
    LikeStore& store;
    RecentLikes& recent_likes;
    const Clock& clock;
    std::vector<std::pair<std::string, ItemType>> item_types;
    std::string version;
    std::string store_name;  // "PostgreSQL"
    std::function<bool()> store_ok;
    std::function<std::optional<bool>()> redis_ok;  // None: Redis is not used.
    // Which method an HTTP route is: "Like" for "POST /v1/like"; empty for one that is none.
    std::function<std::string(const std::string& route)> method_of_route;
  };

  explicit LiveStats(Parts parts);

  // The next line, and the start of the next probes. Rates are since the last one.
  std::string Next();

 private:
  // What was counted of one method until a moment.
  struct Totals {
    double calls = 0;
    double errors = 0;
    std::map<double, double> at_most;  // By upper bound in seconds, how many took no longer.
  };
  struct Sample {
    MonotonicTime time;
    std::map<std::string, Totals> methods;
    double count_hits = 0, count_misses = 0;
    double recent_hits = 0, recent_misses = 0;
    double in_flight = 0;
    double write_queue = 0;
  };
  // Where probes leave what they found.
  struct Probes;

  Sample Take() const;
  void StartProbes(const std::vector<HotItems::Hot>& hot);
  std::string NameOf(const Item& item) const;

  const Parts parts_;
  const MonotonicTime started_;
  std::deque<Sample> samples_;  // Of the last 10 s, oldest first.
  const std::shared_ptr<Probes> probes_;
};

}  // namespace counter::pages

#endif  // COUNTER_SERVER_PAGES_LIVE_STATS_H_
