// Keys: the names under which things stand in Redis. Operators and other programs rely on them.
//
//   counter:post:456     what is known of an item's count (count_value.h)
//   recent_likes:{123}   a user's recent likes: members post:456, score: when verified, in us
//   rate:{123}:likes     likes of a user in his window, an integer
//
// The braces around a user's id are literal: in a cluster all keys of one user share a slot. An
// item's key has none, so that items spread.
//
// Threads: const methods any. Values only.
#ifndef COUNTER_CACHE_REDIS_KEYS_H_
#define COUNTER_CACHE_REDIS_KEYS_H_

#include <cstdint>
#include <map>
#include <string>

#include "storage/like.h"

namespace counter::redis {

class Keys {
 public:
  // The names of the configured types: "post". Requires names of [a-z][a-z0-9_]*, all different. A
  // type without a name goes by its number.
  explicit Keys(std::map<int16_t, std::string> type_names) : type_names_(std::move(type_names)) {}

  // "post:456"; also the member of a set of recent likes.
  std::string ItemName(const Item& item) const;
  std::string Count(const Item& item) const;

  static std::string RecentLikes(UserId user);
  // Traces of unlikes: members post:456, score: when the trace was made, in us.
  static std::string RecentUnlikes(UserId user);
  // What orders facts about each item of the two sets: field post:456, value version@verified_at.
  static std::string RecentVersions(UserId user);
  static std::string Rate(UserId user);

 private:
  const std::map<int16_t, std::string> type_names_;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_KEYS_H_
