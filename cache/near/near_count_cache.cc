#include "cache/near/near_count_cache.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "cache/local/lru_map.h"
#include "cache/near/known_count.h"

namespace counter {

struct alignas(64) NearCountCache::Shard {
  explicit Shard(size_t room) : entries_max(room) {}

  const size_t entries_max;
  mutable Mutex mutex;
  LruMap<Item, KnownCount> known ABSL_GUARDED_BY(mutex);
  uint64_t evicts ABSL_GUARDED_BY(mutex) = 0;  // Evict() of any of its items.
  Stats stats ABSL_GUARDED_BY(mutex);
};

NearCountCache::NearCountCache(CountCache& far, const Clock& clock, NearCountCacheOptions options)
    : far_(far), clock_(clock), options_(options) {
  const auto entries_max = static_cast<size_t>(options_.entries_max);
  const size_t shards = std::min(static_cast<size_t>(options_.shards), entries_max);
  for (size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(ShardShare(entries_max, shards, i)));
  }
}

NearCountCache::~NearCountCache() = default;

Task<std::vector<CountLookup>> NearCountCache::Get(std::vector<Item> items) {
  std::vector<CountLookup> lookups(items.size());
  std::vector<Item> unknown;
  std::vector<size_t> places;
  std::vector<uint64_t> evicts;
  const MonotonicTime now = clock_.MonotonicNow();
  for (size_t i = 0; i < items.size(); ++i) {
    const Seen seen = Look(items[i], now);
    if (seen.entry.has_value()) {
      lookups[i] = {CountLookup::Kind::kHit, *seen.entry, 0};
    } else {
      unknown.push_back(items[i]);
      places.push_back(i);
      evicts.push_back(seen.evicts);
    }
  }
  if (unknown.empty()) co_return lookups;

  Task<std::vector<CountLookup>> ask = far_.Get(std::move(unknown));
  const std::vector<CountLookup> found = co_await std::move(ask);
  const MonotonicTime came = clock_.MonotonicNow();
  for (size_t i = 0; i < found.size(); ++i) {
    const bool is_older =
        found[i].kind == CountLookup::Kind::kHit && !Keep(found[i].entry, came, evicts[i]);
    if (!is_older) lookups[places[i]] = found[i];  // Else it stays a kMiss.
  }
  co_return lookups;
}

Task<bool> NearCountCache::Put(std::vector<CountPut> puts) {
  const MonotonicTime now = clock_.MonotonicNow();
  for (const CountPut& put : puts) (void)Keep(put.entry, now);
  Task<bool> put = far_.Put(std::move(puts));
  const bool all = co_await std::move(put);
  co_return all;
}

void NearCountCache::Evict(const std::vector<Item>& items) {
  for (const Item& item : items) {
    Shard& shard = ShardFor(item);
    MutexLock lock(shard.mutex);
    shard.known.Erase(item);
    ++shard.evicts;
  }
  far_.Evict(items);
}

Task<std::vector<PeekedCount>> NearCountCache::Peek(std::vector<Item> items) {
  const MonotonicTime now = clock_.MonotonicNow();
  std::vector<PeekedCount> peeked(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    peeked[i].kind = PeekedCount::Kind::kNothing;
    Shard& shard = ShardFor(items[i]);
    MutexLock lock(shard.mutex);
    const KnownCount* known = shard.known.Peek(items[i]);
    if (known == nullptr || known->is_stale(now)) continue;
    peeked[i] = {PeekedCount::Kind::kValue,
                 {items[i], known->count, known->version, known->read_at}};
  }
  co_return peeked;
}

NearCountCache::Seen NearCountCache::Look(const Item& item, MonotonicTime now) {
  Shard& shard = ShardFor(item);
  MutexLock lock(shard.mutex);
  KnownCount* known = shard.known.Find(item);
  if (known == nullptr || !known->Answers(now)) {
    ++shard.stats.misses;
    return {std::nullopt, shard.evicts};
  }
  ++shard.stats.hits;
  return {CountEntry{item, known->count, known->version, known->read_at}, shard.evicts};
}

bool NearCountCache::Keep(const CountEntry& entry, MonotonicTime now,
                          std::optional<uint64_t> evicts) {
  Shard& shard = ShardFor(entry.item);
  MutexLock lock(shard.mutex);
  if (evicts.has_value() && *evicts != shard.evicts) return true;
  KnownCount& known = shard.known.FindOrMake(entry.item);
  if (shard.known.size() > shard.entries_max) {
    shard.known.PopOldest();
    ++shard.stats.evictions;
  }
  if (known.Take(entry, now, {options_.fresh, options_.stale})) return true;
  ++shard.stats.older;
  return false;
}

NearCountCache::Stats NearCountCache::stats() const {
  Stats all;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    MutexLock lock(shard->mutex);
    all.entries += static_cast<int64_t>(shard->known.size());
    all.hits += shard->stats.hits;
    all.misses += shard->stats.misses;
    all.evictions += shard->stats.evictions;
    all.older += shard->stats.older;
  }
  return all;
}

NearCountCache::Shard& NearCountCache::ShardFor(const Item& item) const {
  return *shards_[ShardOf(item, shards_.size())];
}

}  // namespace counter
