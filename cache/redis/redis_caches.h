// RedisCaches: the three caches in Redis over one connection, wired together.
//
// Use it in the one file that names concrete classes, and in tests. It owns everything that a
// shared cache needs; what it does not do is to read the store: when Redis may have lost what it
// had acknowledged (another run of the server's process), it says which items were put lately, and
// its owner reads them and puts them again.
//
// Threads: the caches any; OnNewRun, Start and Stop one at a time. Ownership: borrows the clock.
#ifndef COUNTER_CACHE_REDIS_REDIS_CACHES_H_
#define COUNTER_CACHE_REDIS_REDIS_CACHES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cache/redis/connection.h"
#include "cache/redis/keys.h"
#include "cache/redis/redis_count_cache.h"
#include "cache/redis/redis_rate_limiter.h"
#include "cache/redis/redis_recent_likes.h"

namespace counter::redis {

struct RedisCachesOptions {
  ConnectionOptions connection;
  std::map<int16_t, std::string> type_names;  // {1, "post"}: how item types are called in keys.
  RedisCountCacheOptions counts;
  RedisRecentLikesOptions recent_likes;
  RedisRateLimiterOptions rate_limiter;
};

struct RedisCachesStats {
  ConnectionStats connection;
  RedisCountCacheStats counts;
  RedisRecentLikesStats recent_likes;
  int64_t limiter_fallbacks = 0;
  LocalCacheStats limiter_fallback;  // The limiter inside the process; an entry is a user.
};

class RedisCaches {
 public:
  explicit RedisCaches(RedisCachesOptions options, const Clock& clock = Clock::System());
  ~RedisCaches();  // Stops.
  RedisCaches(const RedisCaches&) = delete;
  RedisCaches& operator=(const RedisCaches&) = delete;

  // `put_again` is called with the items put lately, each time when Redis may have lost what it
  // acknowledged of them; on the loop thread, which it must not block. Requires that Start was not
  // called.
  void OnNewRun(std::function<void(std::vector<Item>)> put_again);

  // Begins to connect; returns at once. Until the connection stands everything is a miss.
  void Start();
  // Ends whatever waits. Call it before what the waiting tasks use is destroyed.
  void Stop();

  RedisCountCache& counts() { return counts_; }
  RedisRecentLikes& recent_likes() { return recent_likes_; }
  RedisRateLimiter& rate_limiter() { return rate_limiter_; }
  const Connection& connection() const { return connection_; }

  RedisCachesStats Stats() const;

 private:
  const Keys keys_;
  Connection connection_;
  RedisCountCache counts_;
  RedisRecentLikes recent_likes_;
  RedisRateLimiter rate_limiter_;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REDIS_CACHES_H_
