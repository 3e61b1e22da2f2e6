// RecentLikes: A HINT at what a user likes, for HasLiked with CACHED consistency alone. Like and
// Unlike never ask it: no answer of a cache survives an eviction, a flush or a failover.
//
// It knows some of a user's likes (positives); "not there" means "ask the store". Facts about one
// (user, item) are put in order by the item's version, so that neither a late like nor a late read
// can bring back what an unlike has ended: a fact is dropped unless its version is above the one
// known, or equal to it (then the later verified_at counts). An unlike leaves a trace for long
// enough (60 s) to refuse facts that were on their way; a like that was on its way for longer than
// that is not taken.
//
// Bounds: at most 1000 likes a user, the one verified longest ago goes first; a user's set lives 24
// h (RECENT_LIKES_TTL) after its last change. Find answers only with facts verified within the
// freshness bound (a setting, minutes).
//
// Failure is not an error: a cache that is gone finds nothing and acknowledges nothing. Threads and
// ownership: as CountCache.
#ifndef COUNTER_CACHE_RECENT_LIKES_H_
#define COUNTER_CACHE_RECENT_LIKES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/task.h"
#include "storage/like.h"

namespace counter {

// How long an unlike leaves its trace.
inline constexpr absl::Duration kUnlikeTraceLife = absl::Seconds(60);

// That a user did or did not like an item when the item was at `item_version`.
struct LikeFact {
  Item item;
  bool liked = false;
  int64_t item_version = 0;  // Requires > 0.
  absl::Time verified_at;    // The store held it then or soon after; the future counts as now.
};

struct UserFacts {
  UserId user;
  std::vector<LikeFact> facts;
  // Told by a write, not by a read of the store. Nobody may ever ask for this user: a like is then
  // noted only if something is known of the user already. Reads make the set, as an unlike does.
  bool of_write = false;
};

class RecentLikes {
 public:
  virtual ~RecentLikes() = default;

  // For each item: when the like was last verified in the store, if a fresh like is known.
  virtual Task<std::vector<std::optional<absl::Time>>> Find(UserId user,
                                                            std::vector<Item> items) = 0;

  // Takes note of facts, those of one user in order. True, also of facts that the rules refuse,
  // when the cache has acknowledged every one of them: whoever asks Find afterwards, through any
  // server, sees them. After a false some of them may have been taken.
  virtual Task<bool> Record(std::vector<UserFacts> users) = 0;
};

}  // namespace counter

#endif  // COUNTER_CACHE_RECENT_LIKES_H_
