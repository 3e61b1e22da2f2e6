#include "cache/redis/redis_caches.h"

#include <utility>

namespace counter::redis {

RedisCaches::RedisCaches(RedisCachesOptions options, const Clock& clock)
    : keys_(std::move(options.type_names)),
      connection_(std::move(options.connection)),
      counts_(connection_, keys_, clock, options.counts),
      recent_likes_(connection_, keys_, clock, options.recent_likes),
      rate_limiter_(connection_, clock, options.rate_limiter) {
  connection_.OnNewRun([this](const SlotSet&) { recent_likes_.OnNewRun(); });
}

RedisCaches::~RedisCaches() { Stop(); }

void RedisCaches::OnNewRun(std::function<void(std::vector<Item>)> put_again) {
  connection_.OnNewRun([this, put_again = std::move(put_again)](const SlotSet& slots) {
    put_again(counts_.RecentlyPut(slots));
  });
}

void RedisCaches::Start() { connection_.Start(); }
void RedisCaches::Stop() { connection_.Stop(); }

RedisCachesStats RedisCaches::Stats() const {
  return {connection_.Stats(), counts_.Stats(), recent_likes_.Stats(), rate_limiter_.fallbacks(),
          rate_limiter_.FallbackStats()};
}

}  // namespace counter::redis
