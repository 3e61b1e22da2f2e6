// LocalCountCache: CountCache inside the process.
//
// Use it where one server holds its own store (the embedded default), and in tests. It is not
// shared: two servers over one store need a remote cache, or each would see its own writes only.
// Its decisions are count_protocol.h; here are the map, the clock and the locks.
//
// Bounds: entries_max entries (values and leases), the one used longest ago goes first. An entry
// takes about 160 bytes (kBytesPerEntry), so the default bound is about 160 MB when full.
//
// Threads: any; answers are at hand, a task never suspends and never waits longer than for one of
// `shards` mutexes. Ownership: borrows the clock, which must outlive it.
#ifndef COUNTER_CACHE_LOCAL_LOCAL_COUNT_CACHE_H_
#define COUNTER_CACHE_LOCAL_LOCAL_COUNT_CACHE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/count_cache.h"
#include "cache/count_peek.h"
#include "cache/local/local_cache_stats.h"

namespace counter {

struct LocalCountCacheOptions {
  absl::Duration ttl = absl::Hours(1);  // CACHE_TTL_SECONDS; +-10 % for each value.
  int64_t entries_max = 1'000'000;      // Requires >= 1.
  int shards = 16;                      // Mutexes. Requires >= 1.
  uint64_t seed = 1;                    // Of the jitter; any value.
};

class LocalCountCache final : public CountCache, public CountPeek {
 public:
  static constexpr int64_t kBytesPerEntry = 160;

  explicit LocalCountCache(const Clock& clock, LocalCountCacheOptions options = {});
  ~LocalCountCache() override;

  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override;
  // Always true.
  Task<bool> Put(std::vector<CountPut> puts) override;
  Task<std::vector<PeekedCount>> Peek(std::vector<Item> items) override;

  // Forgets what is known of an item, as an eviction does.
  void Forget(const Item& item);
  void Evict(const std::vector<Item>& items) override {
    for (const Item& item : items) Forget(item);
  }

  LocalCacheStats Stats() const;

 private:
  struct Shard;
  struct Now;

  Shard& ShardFor(const Item& item) const;
  CountLookup GetOne(const Item& item, const Now& now);
  void PutOne(const CountPut& put, const Now& now);

  const Clock& clock_;
  const LocalCountCacheOptions options_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace counter

#endif  // COUNTER_CACHE_LOCAL_LOCAL_COUNT_CACHE_H_
