// The contract suite of RecentLikes: one case for each sentence of recent_likes.h.
//
// Use it to hold an implementation to the interface: link the suite into a test that defines
// MakeRecentLikesUnderTest(). It tests no driver, no bound on memory over all users and no threads:
// that is each implementation's own.
#ifndef COUNTER_TESTS_CONTRACT_RECENT_LIKES_CONTRACT_H_
#define COUNTER_TESTS_CONTRACT_RECENT_LIKES_CONTRACT_H_

#include <memory>

#include "absl/time/time.h"
#include "cache/recent_likes.h"

namespace counter::testing {

// What the suite asks of a cache. Short times, because a real clock has to be waited for.
struct RecentLikesSettings {
  absl::Duration ttl = absl::Hours(24);
  absl::Duration fresh_for = absl::Minutes(5);
  absl::Duration trace_life = absl::Seconds(60);
};

class RecentLikesUnderTest {
 public:
  virtual ~RecentLikesUnderTest() = default;

  virtual RecentLikes& likes() = 0;
  // The wall clock that the cache goes by.
  virtual absl::Time Now() = 0;
  // Lets time pass: a manual clock moves, a real one is waited for.
  virtual void Elapse(absl::Duration duration) = 0;
  // Makes the cache lose what it has of a user.
  virtual void Evict(UserId user) = 0;
};

// An empty cache that keeps 1000 likes a user. Defined by the test of each implementation.
std::unique_ptr<RecentLikesUnderTest> MakeRecentLikesUnderTest(const RecentLikesSettings& settings);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_CONTRACT_RECENT_LIKES_CONTRACT_H_
