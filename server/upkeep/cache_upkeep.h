// CacheUpkeep: keeps a shared cache of counts true to the store when words between them are lost.
//
// Put it between the service and the cache. Puts pass through it; those that the cache acknowledges
// acknowledge the store's outbox rows; write-throughs that it did not acknowledge are owed to it.
// Each second, on a thread of its own, it makes good what was lost: it reads from the store and
// puts into the cache
// - the items of outbox rows that nobody acknowledged in time (a server died, or the cache was
//   gone), and deletes the rows when the cache has taken them;
// - the items that are owed: what the cache may not have taken, or may have lost since. While
//   nothing fails they do not wait for the second to pass;
// - after a failover of the store (failover_doubt.h), evicts on the way what may be of the history
//   that was lost;
// and has the unlikes told that the recent likes were not told of (recent_likes_upkeep.h).
// What cannot be made good is tried again the next second.
//
// It is no cache and decides nothing about counts: the rules are cache/count_cache.h.
//
// Bounds: owed_max items that are to be put again, outbox_rows_max rows that wait for puts,
// sweep_rows_max rows at once.
//
// Threads: Get, Put, BatchCommitted, PutAgain and Stats any; Start and Stop one at a time.
// Ownership: borrows its parts; stop it before them, and take it away from the outbox first.
#ifndef COUNTER_SERVER_UPKEEP_CACHE_UPKEEP_H_
#define COUNTER_SERVER_UPKEEP_CACHE_UPKEEP_H_

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "cache/count_cache.h"
#include "server/upkeep/outbox_match.h"
#include "server/upkeep/recent_likes_upkeep.h"
#include "storage/cache_outbox.h"
#include "storage/like_store.h"
#include "storage/stale_outbox.h"

namespace counter {

struct CacheUpkeepOptions {
  absl::Duration period = absl::Seconds(1);
  absl::Duration stale_age = absl::Seconds(2);  // Of a row that nobody acknowledged.
  int sweep_rows_max = 200;
  int64_t outbox_rows_max = 100'000;
  int64_t owed_max = 200'000;
  absl::Duration store_budget = absl::Seconds(1);  // Of one statement of the upkeep.
};

// Since the start, but for the last two.
struct CacheUpkeepStats {
  int64_t rows_acknowledged = 0;  // By puts that passed through.
  int64_t rows_swept = 0;
  int64_t items_doubted = 0;  // Hits that were evicted after a failover of the store.
  int64_t items_put_again = 0;
  int64_t failures = 0;         // Rounds in which something could not be made good.
  int64_t items_forgotten = 0;  // Owed, but there was no room; their counts are old for their life.
  int64_t items_owed = 0;
  int64_t rows_waiting = 0;  // Outbox rows that wait for puts.
};

class CacheUpkeep final : public CountCache, public OutboxListener {
 public:
  struct Parts {
    LikeStore& store;
    CountCache& cache;
    CacheOutbox* outbox = nullptr;  // Null: the store has none.
    StaleOutbox* stale = nullptr;   // Null: nothing is swept.
    const Clock& clock;
    RecentLikesUpkeep* recent_likes = nullptr;  // Null: there are none to keep up.
  };

  explicit CacheUpkeep(Parts parts, CacheUpkeepOptions options = {});
  ~CacheUpkeep() override;  // Stops.

  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override;
  Task<bool> Put(std::vector<CountPut> puts) override;
  void Evict(const std::vector<Item>& items) override { parts_.cache.Evict(items); }

  void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) override;

  // The cache may have lost what it had taken of these items. Does not block.
  void PutAgain(const std::vector<Item>& items);

  // Begins and ends the rounds.
  void Start();
  void Stop();

  // What happens each second; for tests. True if nothing is left to make good.
  Task<bool> Round();

  CacheUpkeepStats Stats() const;

 private:
  // The places of hits that may be of a history that the store has lost.
  std::vector<size_t> InDoubt(const std::vector<CountLookup>& lookups) const;
  void Run();
  Task<bool> Sweep();
  // One statement's worth of rows; how many. Absent if something could not be made good.
  Task<std::optional<int>> SweepSome();
  bool Stopping() const;
  Task<bool> PutOwed();
  // Reads the items from the primary and puts them. True if the cache has taken all of them.
  Task<bool> PutFromStore(std::vector<Item> items);
  CallLimits Limits() const;

  const Parts parts_;
  const CacheUpkeepOptions options_;

  mutable Mutex mutex_;
  CondVar wake_;
  OutboxMatch match_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Item> owed_ ABSL_GUARDED_BY(mutex_);
  CacheUpkeepStats stats_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_UPKEEP_CACHE_UPKEEP_H_
