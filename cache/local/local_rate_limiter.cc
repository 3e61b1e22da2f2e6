#include "cache/local/local_rate_limiter.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "cache/local/like_window.h"
#include "cache/local/lru_map.h"

namespace counter {
namespace {

// How many ended windows a new one sweeps away. Two, so that the sweep gains on the newcomers.
constexpr int kSweptPerNewcomer = 2;

}  // namespace

struct alignas(64) LocalRateLimiter::Shard {
  explicit Shard(size_t room) : users_max(room) {}

  void MakeRoom(MonotonicTime now, absl::Duration length) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    for (int i = 0; i < kSweptPerNewcomer && windows.size() > 1; ++i) {
      if (windows.Oldest().value.IsOpen(now, length)) break;
      windows.PopOldest();
    }
    if (windows.size() <= users_max) return;
    windows.PopOldest();
    ++evictions;
  }

  const size_t users_max;
  Mutex mutex;
  LruMap<UserId, LikeWindow> windows ABSL_GUARDED_BY(mutex);
  uint64_t last_id ABSL_GUARDED_BY(mutex) = 0;
  int64_t evictions ABSL_GUARDED_BY(mutex) = 0;
};

LocalRateLimiter::LocalRateLimiter(const Clock& clock, LocalRateLimiterOptions options)
    : clock_(clock), options_(options) {
  const auto users_max = static_cast<size_t>(options_.users_max);
  const size_t shards = std::min(static_cast<size_t>(options_.shards), users_max);
  for (size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(ShardShare(users_max, shards, i)));
  }
}

LocalRateLimiter::~LocalRateLimiter() = default;

Task<std::vector<LikeGrant>> LocalRateLimiter::Reserve(std::vector<LikeCharge> charges) {
  std::vector<LikeGrant> grants;
  grants.reserve(charges.size());
  for (const LikeCharge& charge : charges) grants.push_back(ReserveOne(charge));
  co_return grants;
}

Task<> LocalRateLimiter::GiveBack(std::vector<LikeRefund> refunds) {
  for (const LikeRefund& refund : refunds) GiveBackOne(refund);
  co_return;
}

LikeGrant LocalRateLimiter::ReserveOne(const LikeCharge& charge) {
  LikeGrant grant;
  if (options_.limit <= 0) {
    grant.granted = charge.likes;
    return grant;
  }
  Shard& shard = ShardFor(charge.user);
  MutexLock lock(shard.mutex);
  // Read under the lock: a time from before another caller opened the window would make the window
  // seem to end too late.
  const MonotonicTime now = clock_.MonotonicNow();
  LikeWindow& window = shard.windows.FindOrMake(charge.user);
  if (!window.IsOpen(now, options_.window)) {
    window = LikeWindow{++shard.last_id, now + options_.window, 0};
    shard.MakeRoom(now, options_.window);
  }
  grant.granted = window.Reserve(charge.likes, options_.limit);
  grant.limit = options_.limit;
  grant.remaining = options_.limit - window.used;
  grant.resets_after = Between(now, window.ends_at);
  grant.window = window.id;
  return grant;
}

void LocalRateLimiter::GiveBackOne(const LikeRefund& refund) {
  Shard& shard = ShardFor(refund.user);
  MutexLock lock(shard.mutex);
  LikeWindow* window = shard.windows.Find(refund.user);
  if (window == nullptr || window->id != refund.window) return;
  if (window->IsOpen(clock_.MonotonicNow(), options_.window)) window->GiveBack(refund.likes);
}

void LocalRateLimiter::Forget(UserId user) {
  Shard& shard = ShardFor(user);
  MutexLock lock(shard.mutex);
  shard.windows.Erase(user);
}

LocalCacheStats LocalRateLimiter::Stats() const {
  LocalCacheStats stats;
  stats.entries_max = options_.users_max;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    MutexLock lock(shard->mutex);
    stats.entries += static_cast<int64_t>(shard->windows.size());
    stats.evictions += shard->evictions;
  }
  return stats;
}

LocalRateLimiter::Shard& LocalRateLimiter::ShardFor(UserId user) const {
  return *shards_[ShardOf(user, shards_.size())];
}

}  // namespace counter
