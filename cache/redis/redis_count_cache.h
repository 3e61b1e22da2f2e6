// RedisCountCache: CountCache in Redis, shared by all servers.
//
// Use it where several servers stand over one store. The rules of count_cache.h are kept by one
// native command and one script: Get is MGET, then for what is missing SET !token@0 NX EX 3 GET;
// Put is the script PutCounts (scripts.h), which is count_protocol.h again, for those items where
// MGET does not show that it would change nothing. The keys and the values are those of keys.h and
// count_value.h. Of a cluster the keys of one slot share a command, and
// what goes to one node leaves together.
//
// Calls that come while others are under way go together (call_batcher.h), but for a cluster's: a
// node that hangs is to hold up nobody who asks another.
//
// A value whose read_at is older than the longest time to live is not believed, whatever Redis says
// of its expiry: a command that was long on its way cannot stretch the bound.
//
// Threads: any; a task that has to wait goes on on the connection's loop thread. Ownership: borrows
// the channel, the keys and the clock; stop the connection before this is destroyed.
#ifndef COUNTER_CACHE_REDIS_REDIS_COUNT_CACHE_H_
#define COUNTER_CACHE_REDIS_REDIS_COUNT_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "cache/count_cache.h"
#include "cache/count_peek.h"
#include "cache/redis/call_batcher.h"
#include "cache/redis/channel.h"
#include "cache/redis/keys.h"
#include "cache/redis/look_first.h"
#include "cache/redis/recent_puts.h"
#include "cache/redis/scripts.h"
#include "cache/redis/slot.h"

namespace counter::redis {

struct RedisCountCacheOptions {
  absl::Duration ttl = absl::Hours(1);             // CACHE_TTL_SECONDS; +-10 % for each value.
  absl::Duration budget = absl::Milliseconds(20);  // Of one call, all round trips together.
  absl::Duration recent_puts_span = absl::Seconds(10);
  int64_t recent_puts_max = 200'000;  // Items. Requires >= 1.
  uint64_t seed = 0;                  // Of tokens and jitter; 0: a random one.
};

// Since the start.
struct RedisCountCacheStats {
  int64_t hits = 0;
  int64_t leases = 0;
  int64_t misses = 0;     // Somebody else's lease, or the cache could not be asked.
  int64_t puts = 0;       // Entries acknowledged.
  int64_t puts_lost = 0;  // Entries not acknowledged.
  int64_t damaged = 0;    // Keys that held something foreign or too old; they were deleted.
};

class RedisCountCache final : public CountCache, public CountPeek {
 public:
  RedisCountCache(Channel& channel, const Keys& keys, const Clock& clock,
                  RedisCountCacheOptions options = {});

  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override;
  Task<bool> Put(std::vector<CountPut> puts) override;
  void Evict(const std::vector<Item>& items) override;
  Task<std::vector<PeekedCount>> Peek(std::vector<Item> items) override;

  // The items of the puts of the last recent_puts_span whose keys are in `slots`, each once: what
  // has to be read from the store and put again when Redis may have lost what it acknowledged.
  std::vector<Item> RecentlyPut(const SlotSet& slots = SlotSet().set());

  RedisCountCacheStats Stats() const;

 private:
  // Whether calls are joined: see above. Who cannot be asked is not waited for.
  bool joins() const { return channel_.usable() && !channel_.by_slot(); }

  enum class Standing : uint8_t { kAnswered, kMissing, kDamaged };

  Task<std::vector<CountLookup>> GetNow(std::vector<Item> items, MonotonicTime deadline);
  Task<std::vector<char>> PutNow(std::vector<CountPut> puts, MonotonicTime deadline);
  Standing ReadValue(const Reply& reply, int slot, absl::Time now, CountLookup& lookup) const;
  void Delete(const std::vector<std::string>& keys);
  void DeleteDamaged(const std::vector<std::string>& keys);
  Task<> Lease(std::vector<std::string> keys, std::vector<size_t> missing,
               std::vector<CountLookup>& lookups, MonotonicTime deadline);
  Task<bool> DropIdle(std::vector<CountPut>& puts, std::vector<std::string>& keys,
                      MonotonicTime deadline);
  Task<std::optional<size_t>> PutByScript(const std::vector<CountPut>& puts,
                                          std::vector<std::string> keys, MonotonicTime deadline);
  void AddPut(const CountPut& put, std::string key, absl::Time now, ScriptCall& call);
  void Note(const std::vector<CountPut>& puts, MonotonicTime now);
  void Count(const std::vector<CountLookup>& lookups);
  uint64_t Random();

  Channel& channel_;
  const Keys& keys_;
  const Clock& clock_;
  const RedisCountCacheOptions options_;
  const absl::Duration longest_life_;
  const uint64_t seed_;
  std::atomic<uint64_t> randoms_ = 0;
  LookFirst look_first_;
  CallBatcher<Item, CountLookup> gets_;
  // Of fills, and of all other puts: these look first. Whether each was acknowledged.
  CallBatcher<CountPut, char> fills_;
  CallBatcher<CountPut, char> write_throughs_;

  std::atomic<int64_t> hits_ = 0;
  std::atomic<int64_t> leases_ = 0;
  std::atomic<int64_t> misses_ = 0;
  std::atomic<int64_t> puts_ = 0;
  std::atomic<int64_t> puts_lost_ = 0;
  std::atomic<int64_t> damaged_ = 0;

  Mutex mutex_;
  RecentPuts recent_puts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REDIS_COUNT_CACHE_H_
