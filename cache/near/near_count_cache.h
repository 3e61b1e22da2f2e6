// NearCountCache: a small CountCache in the process in front of one that is far (Redis), so that a
// hot item costs one look a second there and not thousands.
//
// Use it beside a cache that several servers share. It is no store of its own and grants no leases:
// what it does not know it asks the far cache, and every put goes on to it.
//
// A count is answered from here for `fresh` after it came: from the far cache, from a fill or from
// a put of this server. Then one caller asks the far cache again while the others are answered from
// here, until `stale` at most. So a CACHED read is behind the far cache by `stale` at most, when
// another server wrote; a write of this server is seen at once. Both are well inside the second
// that CACHED reads may be behind. But a caller of two servers may see a count step back, which a
// far cache alone does not do: so it is for operators to turn on.
//
// It never goes back in version: a count that is no longer fresh is still remembered, and a far
// cache that knows only an older one is not believed (kMiss: the caller reads the store, and its
// put mends the far cache). Servers do not share this memory: for `stale` two of them may answer
// differently.
//
// Bounds: entries_max entries of about kBytesPerEntry bytes, the one used longest ago goes first.
//
// Threads: any; it waits for one of `shards` mutexes, and for the far cache, which goes on where it
// says. Ownership: borrows the far cache and the clock, which must outlive it.
#ifndef COUNTER_CACHE_NEAR_NEAR_COUNT_CACHE_H_
#define COUNTER_CACHE_NEAR_NEAR_COUNT_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/count_cache.h"
#include "cache/count_peek.h"

namespace counter {

struct NearCountCacheOptions {
  absl::Duration fresh = absl::Milliseconds(400);
  absl::Duration stale = absl::Milliseconds(600);  // Requires stale >= fresh.
  int64_t entries_max = 100'000;                   // Requires >= 1.
  int shards = 16;                                 // Requires >= 1.
};

class NearCountCache final : public CountCache, public CountPeek {
 public:
  static constexpr int64_t kBytesPerEntry = 176;

  struct Stats {
    int64_t entries = 0;
    int64_t hits = 0;       // Answered from here, since the start.
    int64_t misses = 0;     // Asked of the far cache.
    int64_t evictions = 0;  // For want of room.
    int64_t older = 0;      // Answers of the far cache that were older than what was known here.
  };

  NearCountCache(CountCache& far, const Clock& clock, NearCountCacheOptions options = {});
  ~NearCountCache() override;

  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override;
  Task<bool> Put(std::vector<CountPut> puts) override;
  void Evict(const std::vector<Item>& items) override;
  // Of this cache alone: the far one is not asked.
  Task<std::vector<PeekedCount>> Peek(std::vector<Item> items) override;

  Stats stats() const;
  int64_t entries_max() const { return options_.entries_max; }

 private:
  struct Shard;

  Shard& ShardFor(const Item& item) const;
  struct Seen {
    std::optional<CountEntry> entry;  // May be answered. Absent: ask the far cache.
    uint64_t evicts = 0;              // Of the shard, at this moment.
  };
  Seen Look(const Item& item, MonotonicTime now);
  // Takes what is known now, unless the shard has had an Evict since it had `evicts` of them. False
  // if something newer was known already.
  bool Keep(const CountEntry& entry, MonotonicTime now, std::optional<uint64_t> evicts = {});

  CountCache& far_;
  const Clock& clock_;
  const NearCountCacheOptions options_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace counter

#endif  // COUNTER_CACHE_NEAR_NEAR_COUNT_CACHE_H_
