// RedisRecentLikes: RecentLikes in Redis, shared by all servers.
//
// A user has three keys in one slot (keys.h): the likes with the time of their verification as
// score, the traces of unlikes, and the versions that put facts in order. Find is one ZMSCORE;
// Record is the script RecordLikes, which is recent_set.h again. docs/decisions/ says why three.
//
// The facts of many users leave in one script call, of a cluster those of the users of one slot: a
// call costs Redis about as much as two facts. Likes that were just made change nothing of users of
// whom nothing is known, which EXISTS shows first.
//
// Records that come while another is under way go together, as counts do (redis_count_cache.h).
//
// Redis may lose a user's keys at any time, and with them the traces of unlikes. When a connection
// shows another run of Redis, likes verified before are not taken from then on. Of an eviction
// nothing is known: a like that is on its way while the traces of its user are evicted can come
// back, until it is verified again or fresh_for has passed.
//
// Threads and ownership: as RedisCountCache.
#ifndef COUNTER_CACHE_REDIS_REDIS_RECENT_LIKES_H_
#define COUNTER_CACHE_REDIS_REDIS_RECENT_LIKES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/recent_likes.h"
#include "cache/redis/call_batcher.h"
#include "cache/redis/channel.h"
#include "cache/redis/keys.h"
#include "cache/redis/look_first.h"
#include "cache/redis/scripts.h"

namespace counter::redis {

struct RedisRecentLikesOptions {
  absl::Duration ttl = absl::Hours(24);  // RECENT_LIKES_TTL, after a set's last change.
  int64_t likes_max = 1000;              // Of each user.
  int64_t traces_max = 1000;             // Of each user.
  absl::Duration trace_life = kUnlikeTraceLife;
  absl::Duration fresh_for = absl::Minutes(5);
  absl::Duration budget = absl::Milliseconds(20);  // Of one call.
};

// Since the start, in script calls.
struct RedisRecentLikesStats {
  int64_t records = 0;       // Acknowledged.
  int64_t records_lost = 0;  // Not acknowledged.
};

class RedisRecentLikes final : public RecentLikes {
 public:
  RedisRecentLikes(Channel& channel, const Keys& keys, const Clock& clock,
                   RedisRecentLikesOptions options = {});

  Task<std::vector<std::optional<absl::Time>>> Find(UserId user, std::vector<Item> items) override;
  Task<bool> Record(std::vector<UserFacts> users) override;

  // Redis may have lost its traces: likes verified up to now are refused from now on.
  void OnNewRun();

  RedisRecentLikesStats Stats() const { return {records_, records_lost_}; }

 private:
  // Whether calls are joined: see above. Who cannot be asked is not waited for.
  bool joins() const { return channel_.usable() && !channel_.by_slot(); }

  Task<std::vector<char>> RecordNow(std::vector<UserFacts> users, MonotonicTime deadline);
  Task<bool> DropUnknown(std::vector<UserFacts>& users, MonotonicTime deadline);
  std::vector<ScriptCall> CallsOf(const std::vector<UserFacts>& users) const;
  // To the last of `calls`, which takes `room` facts more, and to further ones made of `empty`.
  void AddFacts(const UserFacts& one, const ScriptCall& empty, size_t& room,
                std::vector<ScriptCall>& calls) const;

  Channel& channel_;
  const Keys& keys_;
  const Clock& clock_;
  const RedisRecentLikesOptions options_;
  LookFirst look_first_;
  CallBatcher<UserFacts, char> records_together_;  // Whether each was acknowledged.
  std::atomic<int64_t> refused_up_to_us_ = 0;
  std::atomic<int64_t> records_ = 0;
  std::atomic<int64_t> records_lost_ = 0;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REDIS_RECENT_LIKES_H_
