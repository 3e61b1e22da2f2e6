#include "cache/local/local_count_cache.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "cache/count_protocol.h"
#include "cache/local/lru_map.h"

namespace counter {
namespace {

struct Standing {
  CountCell cell;
  MonotonicTime ends_at;
};

}  // namespace

struct LocalCountCache::Now {
  MonotonicTime monotonic;
  absl::Time wall;
};

struct alignas(64) LocalCountCache::Shard {
  Shard(size_t room, uint64_t seed) : entries_max(room), random_state(seed) {}

  const size_t entries_max;
  Mutex mutex;
  LruMap<Item, Standing> standing ABSL_GUARDED_BY(mutex);
  FillToken last_token ABSL_GUARDED_BY(mutex) = 0;
  uint64_t random_state ABSL_GUARDED_BY(mutex);
  int64_t evictions ABSL_GUARDED_BY(mutex) = 0;
};

LocalCountCache::LocalCountCache(const Clock& clock, LocalCountCacheOptions options)
    : clock_(clock), options_(options) {
  const auto entries_max = static_cast<size_t>(options_.entries_max);
  const size_t shards = std::min(static_cast<size_t>(options_.shards), entries_max);
  for (size_t i = 0; i < shards; ++i) {
    shards_.push_back(
        std::make_unique<Shard>(ShardShare(entries_max, shards, i), Mix64(options_.seed + i)));
  }
}

LocalCountCache::~LocalCountCache() = default;

Task<std::vector<CountLookup>> LocalCountCache::Get(std::vector<Item> items) {
  const Now now{clock_.MonotonicNow(), clock_.WallNow()};
  std::vector<CountLookup> lookups;
  lookups.reserve(items.size());
  for (const Item& item : items) lookups.push_back(GetOne(item, now));
  co_return lookups;
}

Task<bool> LocalCountCache::Put(std::vector<CountPut> puts) {
  const Now now{clock_.MonotonicNow(), clock_.WallNow()};
  for (const CountPut& put : puts) PutOne(put, now);
  co_return true;
}

Task<std::vector<PeekedCount>> LocalCountCache::Peek(std::vector<Item> items) {
  const MonotonicTime now = clock_.MonotonicNow();
  std::vector<PeekedCount> peeked(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    peeked[i].kind = PeekedCount::Kind::kNothing;
    Shard& shard = ShardFor(items[i]);
    MutexLock lock(shard.mutex);
    const Standing* found = shard.standing.Peek(items[i]);
    if (found == nullptr || found->ends_at <= now || found->cell.kind != CountCell::Kind::kValue)
      continue;
    const CountCell& cell = found->cell;
    peeked[i] = {PeekedCount::Kind::kValue, {items[i], cell.count, cell.version, cell.read_at}};
  }
  co_return peeked;
}

CountLookup LocalCountCache::GetOne(const Item& item, const Now& now) {
  Shard& shard = ShardFor(item);
  MutexLock lock(shard.mutex);
  Standing& standing = shard.standing.FindOrMake(item);
  if (standing.ends_at <= now.monotonic) standing.cell = CountCell{};

  const CountGetStep step = StepGet(standing.cell, shard.last_token + 1);
  CountLookup lookup;
  lookup.kind = step.answer;
  if (step.answer == CountLookup::Kind::kHit) {
    lookup.entry = CountEntry{item, step.cell.count, step.cell.version, step.cell.read_at};
  } else if (step.answer == CountLookup::Kind::kLease) {
    lookup.token = ++shard.last_token;
    standing = Standing{step.cell, now.monotonic + kFillLeaseLife};
    if (shard.standing.size() > shard.entries_max) {
      shard.standing.PopOldest();
      ++shard.evictions;
    }
  }
  return lookup;
}

void LocalCountCache::PutOne(const CountPut& put, const Now& now) {
  using Effect = CountPutStep::Effect;
  Shard& shard = ShardFor(put.entry.item);
  MutexLock lock(shard.mutex);
  const Standing* found = shard.standing.Find(put.entry.item);
  const bool is_there = found != nullptr && found->ends_at > now.monotonic;
  const Standing before = is_there ? *found : Standing{};

  const CountPutStep step = StepPut(before.cell, put);
  if (step.cell.kind == CountCell::Kind::kAbsent) {
    shard.standing.Erase(put.entry.item);
    return;
  }
  Standing after{step.cell, before.ends_at};
  if (step.effect == Effect::kStored || step.effect == Effect::kRefreshed) {
    const absl::Duration age = now.wall - step.cell.read_at;
    const absl::Duration life = CountLife(options_.ttl, age, Mix64(++shard.random_state));
    const absl::Duration left = Between(now.monotonic, before.ends_at);
    after.ends_at =
        now.monotonic + LifeAfterPut(before.cell, step.effect, left, std::min(life, put.life_max));
  }
  shard.standing.FindOrMake(put.entry.item) = after;
}

void LocalCountCache::Forget(const Item& item) {
  Shard& shard = ShardFor(item);
  MutexLock lock(shard.mutex);
  shard.standing.Erase(item);
}

LocalCacheStats LocalCountCache::Stats() const {
  LocalCacheStats stats;
  stats.entries_max = options_.entries_max;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    MutexLock lock(shard->mutex);
    stats.entries += static_cast<int64_t>(shard->standing.size());
    stats.evictions += shard->evictions;
  }
  return stats;
}

LocalCountCache::Shard& LocalCountCache::ShardFor(const Item& item) const {
  return *shards_[ShardOf(item, shards_.size())];
}

}  // namespace counter
