// The parts of the simulated world: a store, a Redis, and the messages between. Values only; what
// happens to them in which order is cache_simulation.cc.
#ifndef COUNTER_TESTS_SIMULATION_WORLD_H_
#define COUNTER_TESTS_SIMULATION_WORLD_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/count_protocol.h"
#include "cache/local/like_window.h"
#include "cache/local/recent_set.h"
#include "storage/like.h"

namespace counter::simulation {

inline constexpr int kItems = 2;
inline constexpr int kUsers = 2;
inline constexpr int kServers = 2;
inline constexpr int64_t kLikesMax = 6;  // Of a window of the rate limiter.
inline constexpr absl::Duration kWindow = absl::Seconds(60);

inline Item ItemOf(int index) { return {ItemType{1}, index + 1}; }

// Simulated time since the schedule began, and its two faces.
inline MonotonicTime Monotonic(absl::Duration now) {
  return MonotonicTime(std::chrono::hours(1)) + now;
}
inline absl::Time Wall(absl::Duration now) { return absl::FromUnixSeconds(1'700'000'000) + now; }

// The truth: likes, counts and versions, and everything that they ever were.
class Store {
 public:
  struct Commit {
    absl::Duration at;
    int64_t count = 0;
  };

  Store() {
    for (auto& history : history_) history.push_back({-absl::InfiniteDuration(), 0});
  }

  struct Applied {
    bool changed = false;
    int64_t delta = 0;
  };
  Applied Apply(int user, int item, bool like, absl::Duration now) {
    bool& liked = liked_[user][item];
    if (liked == like) return {};
    liked = like;
    (like ? liked_until_ : unliked_until_)[user][item] = absl::InfiniteDuration();
    (like ? unliked_until_ : liked_until_)[user][item] = now;
    const int64_t delta = like ? 1 : -1;
    history_[item].push_back({now, count(item) + delta});
    return {true, delta};
  }

  bool liked(int user, int item) const { return liked_[user][item]; }
  // Whether the pair was in that state at some instant since.
  bool WasLikedSince(int user, int item, absl::Duration since) const {
    return liked_until_[user][item] >= since;
  }
  bool WasUnlikedSince(int user, int item, absl::Duration since) const {
    return unliked_until_[user][item] >= since;
  }

  int64_t count(int item) const { return history_[item].back().count; }
  // A version is an index of history, so that nothing is stored about it twice.
  int64_t version(int item) const { return static_cast<int64_t>(history_[item].size()) - 1; }
  // Whether the item ever had that count at that version.
  bool Held(int item, int64_t version, int64_t count) const {
    return version >= 0 && version <= this->version(item) &&
           history_[item][static_cast<size_t>(version)].count == count;
  }
  int64_t VersionAt(int item, absl::Duration time) const {
    int64_t version = this->version(item);
    while (version > 0 && history_[item][static_cast<size_t>(version)].at > time) --version;
    return version;
  }

 private:
  std::array<std::array<bool, kItems>, kUsers> liked_ = {};
  std::array<std::array<absl::Duration, kItems>, kUsers> liked_until_ =
      Filled(-absl::InfiniteDuration());
  std::array<std::array<absl::Duration, kItems>, kUsers> unliked_until_ =
      Filled(absl::InfiniteDuration());
  std::array<std::vector<Commit>, kItems> history_;

  static std::array<std::array<absl::Duration, kItems>, kUsers> Filled(absl::Duration with) {
    std::array<std::array<absl::Duration, kItems>, kUsers> filled;
    for (auto& row : filled) row.fill(with);
    return filled;
  }
};

// What stands in Redis. Copied when a replica catches up.
struct Redis {
  struct Standing {
    CountCell cell;
    absl::Duration ends_at;
  };
  std::array<Standing, kItems> counts = {};
  std::array<RecentSet, kUsers> recent = {};
  std::array<LikeWindow, kUsers> windows = {};

  CountCell Cell(int item, absl::Duration now) const {
    return counts[item].ends_at > now ? counts[item].cell : CountCell{};
  }
};

// A put or a fact on its way to Redis.
struct Message {
  enum class Kind : uint8_t { kWriteThrough, kFill, kSweep, kPutAgain, kFact };
  Kind kind = Kind::kWriteThrough;
  int server = 0;
  int user = 0;
  int item = 0;
  int call = -1;  // Whose answer waits for it; -1: nobody's.
  int run = 0;    // Of Redis, when it was sent: it dies with the run.
  CountPut put;
  int64_t delta = 0;
  LikeFact fact;
  absl::Duration sent_at;
};

// A client's call that has begun.
struct Call {
  enum class Kind : uint8_t { kLike, kUnlike, kHasLiked, kGetCount };
  enum class Stage : uint8_t { kBegun, kCommitted, kHoldsLease, kAnswered, kEnded };
  Kind kind = Kind::kLike;
  Stage stage = Stage::kBegun;
  int server = 0;
  int user = 0;
  int item = 0;
  absl::Duration began_at;
  // Of a write that has committed: what became of its write-through.
  bool acknowledged = false;
  bool given_up = false;
  FillToken token = 0;  // Of a read: its lease.
};

}  // namespace counter::simulation

#endif  // COUNTER_TESTS_SIMULATION_WORLD_H_
