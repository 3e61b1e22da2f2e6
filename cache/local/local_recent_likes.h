// LocalRecentLikes: RecentLikes inside the process.
//
// Use it where one server holds its own store (the embedded default), and in tests. It is not
// shared between servers. Its rules are recent_set.h; here are the users, the clock and the locks.
//
// Bounds: facts_max facts (likes and traces) over all users; the user used longest ago goes first,
// as a whole. A fact takes 56 to 112 bytes in a large set and up to kBytesPerFactMax where it is
// all that is known of a user, so the default bound is at most 90 MB. What was forgotten for want
// of room can bring back no like: likes verified before the youngest trace that was forgotten are
// refused from then on.
//
// Threads: any; answers are at hand, a task never suspends and never waits longer than for one of
// `shards` mutexes. Ownership: borrows the clock, which must outlive it.
#ifndef COUNTER_CACHE_LOCAL_LOCAL_RECENT_LIKES_H_
#define COUNTER_CACHE_LOCAL_LOCAL_RECENT_LIKES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/local/local_cache_stats.h"
#include "cache/local/recent_set.h"
#include "cache/recent_likes.h"

namespace counter {

struct LocalRecentLikesOptions {
  absl::Duration ttl = absl::Hours(24);  // RECENT_LIKES_TTL, after a set's last change.
  RecentSetBounds bounds;                // Of each user.
  int64_t facts_max = 500'000;  // Over all users. Requires >= 1; to hold a full set, more than
                                // shards * (likes_max + traces_max).
  int shards = 16;              // Mutexes. Requires >= 1.
};

class LocalRecentLikes final : public RecentLikes {
 public:
  static constexpr int64_t kBytesPerFactMax = 180;

  explicit LocalRecentLikes(const Clock& clock, LocalRecentLikesOptions options = {});
  ~LocalRecentLikes() override;

  Task<std::vector<std::optional<absl::Time>>> Find(UserId user, std::vector<Item> items) override;
  Task<bool> Record(std::vector<UserFacts> users) override;

  // Forgets what is known of a user, as an eviction does.
  void Forget(UserId user);

  // An entry is a fact.
  LocalCacheStats Stats() const;

 private:
  struct Shard;

  Shard& ShardFor(UserId user) const;
  void RecordAll(const UserFacts& told);

  const Clock& clock_;
  const LocalRecentLikesOptions options_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace counter

#endif  // COUNTER_CACHE_LOCAL_LOCAL_RECENT_LIKES_H_
