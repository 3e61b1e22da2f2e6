#include "cache/local/local_recent_likes.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "cache/local/lru_map.h"

namespace counter {
namespace {

struct UserLikes {
  RecentSet set;
  MonotonicTime ends_at;
};

}  // namespace

struct alignas(64) LocalRecentLikes::Shard {
  explicit Shard(size_t room) : facts_max(room) {}

  // Forgets a user. Traces that still stood go on to work through `refused_up_to`.
  void Drop(UserId user, const RecentSet& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (std::optional<MonotonicTime> youngest = set.YoungestTrace()) Refuse(*youngest);
    facts -= set.size();
    users.Erase(user);
  }
  void Refuse(MonotonicTime up_to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    refused_up_to = std::max(refused_up_to, up_to);
  }
  // The user's set if it has not ended.
  UserLikes* Standing(UserId user, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    UserLikes* likes = users.Find(user);
    if (likes == nullptr || likes->ends_at > now) return likes;
    Drop(user, likes->set);
    return nullptr;
  }

  const size_t facts_max;
  Mutex mutex;
  LruMap<UserId, UserLikes> users ABSL_GUARDED_BY(mutex);
  size_t facts ABSL_GUARDED_BY(mutex) = 0;
  // Likes that were verified up to this instant are not taken: the trace of an unlike that would
  // have refused them may be gone.
  MonotonicTime refused_up_to ABSL_GUARDED_BY(mutex) = MonotonicTime::min();
  int64_t evictions ABSL_GUARDED_BY(mutex) = 0;
};

LocalRecentLikes::LocalRecentLikes(const Clock& clock, LocalRecentLikesOptions options)
    : clock_(clock), options_(options) {
  const auto facts_max = static_cast<size_t>(options_.facts_max);
  const size_t shards = std::min(static_cast<size_t>(options_.shards), facts_max);
  for (size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(ShardShare(facts_max, shards, i)));
  }
}

LocalRecentLikes::~LocalRecentLikes() = default;

Task<std::vector<std::optional<absl::Time>>> LocalRecentLikes::Find(UserId user,
                                                                    std::vector<Item> items) {
  const MonotonicTime now = clock_.MonotonicNow();
  std::vector<std::optional<absl::Time>> found(items.size());
  Shard& shard = ShardFor(user);
  {
    MutexLock lock(shard.mutex);
    if (const UserLikes* likes = shard.Standing(user, now)) {
      for (size_t i = 0; i < items.size(); ++i) {
        found[i] = likes->set.Find(items[i], now, options_.bounds);
      }
    }
  }
  co_return found;
}

Task<bool> LocalRecentLikes::Record(std::vector<UserFacts> users) {
  for (const UserFacts& one : users) RecordAll(one);
  co_return true;
}

void LocalRecentLikes::RecordAll(const UserFacts& told) {
  const MonotonicTime now = clock_.MonotonicNow();
  const absl::Time wall_now = clock_.WallNow();
  Shard& shard = ShardFor(told.user);
  MutexLock lock(shard.mutex);
  UserLikes* standing = shard.Standing(told.user, now);
  // Of an unknown user a write tells something with its first unlike.
  auto first = told.facts.begin();
  if (standing == nullptr && told.of_write) {
    first = std::find_if(first, told.facts.end(), [](const LikeFact& fact) { return !fact.liked; });
  }
  if (first == told.facts.end()) return;
  UserLikes& likes = standing != nullptr ? *standing : shard.users.FindOrMake(told.user);

  const size_t before = likes.set.size();
  for (; first != told.facts.end(); ++first) {
    LikeFact fact = *first;
    // What is verified in the future was verified by a clock that is ahead: now is the latest that
    // it can have been.
    fact.verified_at = std::min(fact.verified_at, wall_now);
    const MonotonicTime verified = now + (fact.verified_at - wall_now);
    const bool is_refused = fact.liked && (verified <= shard.refused_up_to ||
                                           IsTooLate(verified, now, options_.bounds));
    if (!is_refused && likes.set.Record(fact, verified, now)) likes.ends_at = now + options_.ttl;
  }
  if (auto forgotten = likes.set.Trim(now, options_.bounds)) shard.Refuse(*forgotten);
  shard.facts += likes.set.size();
  shard.facts -= before;

  if (likes.set.empty()) shard.users.Erase(told.user);
  while (shard.facts > shard.facts_max) {
    const auto& oldest = shard.users.Oldest();
    shard.evictions += static_cast<int64_t>(oldest.value.set.size());
    shard.Drop(UserId(oldest.key), oldest.value.set);
  }
}

void LocalRecentLikes::Forget(UserId user) {
  Shard& shard = ShardFor(user);
  MutexLock lock(shard.mutex);
  if (const UserLikes* likes = shard.users.Find(user)) shard.Drop(user, likes->set);
}

LocalCacheStats LocalRecentLikes::Stats() const {
  LocalCacheStats stats;
  stats.entries_max = options_.facts_max;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    MutexLock lock(shard->mutex);
    stats.entries += static_cast<int64_t>(shard->facts);
    stats.evictions += shard->evictions;
  }
  return stats;
}

LocalRecentLikes::Shard& LocalRecentLikes::ShardFor(UserId user) const {
  return *shards_[ShardOf(user, shards_.size())];
}

}  // namespace counter
