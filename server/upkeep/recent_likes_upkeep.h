// RecentLikesUpkeep: sees to it that a shared cache of recent likes learns of every unlike.
//
// Put it between the service and the cache. A like that the cache was not told of costs a read of
// the store; an unlike that it was not told of is answered as a like until the like is no longer
// fresh (minutes). So unlikes that were not acknowledged are owed, and told again each second until
// they are; and when the cache may have lost what it had acknowledged, those of the last told_span
// are told once more. Telling late does no harm: facts are in order by version.
//
// What it does not do: a server that dies takes along what it owed. docs/contract.md says so.
//
// Bounds: unlikes_max that are owed, and as many that were told lately; what has no room is
// counted and forgotten.
//
// Threads: any; Round one at a time. Ownership: borrows the cache and the clock.
#ifndef COUNTER_SERVER_UPKEEP_RECENT_LIKES_UPKEEP_H_
#define COUNTER_SERVER_UPKEEP_RECENT_LIKES_UPKEEP_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "cache/recent_likes.h"
#include "storage/like_store.h"

namespace counter {

struct RecentLikesUpkeepOptions {
  int64_t unlikes_max = 100'000;
  absl::Duration told_span = absl::Seconds(10);
};

// Since the start, but for the last.
struct RecentLikesUpkeepStats {
  int64_t unlikes_told_again = 0;
  int64_t unlikes_forgotten = 0;
  int64_t unlikes_owed = 0;
};

class RecentLikesUpkeep final : public RecentLikes {
 public:
  // With a store, likes that it may have lost in a failover are not found (failover_doubt.h).
  RecentLikesUpkeep(RecentLikes& likes, const Clock& clock, RecentLikesUpkeepOptions options = {},
                    const LikeStore* store = nullptr)
      : likes_(likes), clock_(clock), options_(options), store_(store) {}

  Task<std::vector<std::optional<absl::Time>>> Find(UserId user, std::vector<Item> items) override;
  Task<bool> Record(std::vector<UserFacts> users) override;

  // The cache may have lost what it had acknowledged. Does not block.
  void TellAgain();

  // Tells what is owed. True if nothing is left.
  Task<bool> Round();

  RecentLikesUpkeepStats Stats() const;

 private:
  using Pair = std::pair<UserId, Item>;

  static std::vector<UserFacts> UnlikesOf(const std::vector<UserFacts>& users);
  void Owe(const std::vector<UserFacts>& unlikes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteTold(const std::vector<UserFacts>& unlikes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetOldTold(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RecentLikes& likes_;
  const Clock& clock_;
  const RecentLikesUpkeepOptions options_;
  const LikeStore* const store_;

  struct Told {
    MonotonicTime at;
    UserId user;
    LikeFact fact;
  };
  mutable Mutex mutex_;
  std::map<Pair, LikeFact> owed_ ABSL_GUARDED_BY(mutex_);
  std::deque<Told> told_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  RecentLikesUpkeepStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter

#endif  // COUNTER_SERVER_UPKEEP_RECENT_LIKES_UPKEEP_H_
