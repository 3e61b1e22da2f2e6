// CounterService: WHAT a like means. Checks requests, charges the rate limit, asks the store for
// the truth and keeps the caches up to date. Every way in (gRPC now, REST later) calls the same
// object.
//
// It knows no gRPC, no HTTP, no driver and no SQL: requests come as plain values, as unchecked as
// they came over the wire; errors go out as absl::Status of base/error.h.
//
// Rules it keeps (docs/contract.md):
// - Nothing is acknowledged from a cache. A write is answered from the store's result alone; a
// cache
//   that fails costs speed only.
// - The cache learns of a write after its commit and before its reply.
// - Like and Unlike never believe the recent likes.
// - A like is charged before the write and given back when it changed nothing or was certainly not
//   applied.
//
// Threads: any. A task goes on on a thread of the store or of a cache once it has waited for one.
// Ownership: borrows everything; must outlive its tasks.
#ifndef COUNTER_SERVER_COUNTER_SERVICE_H_
#define COUNTER_SERVER_COUNTER_SERVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "cache/count_cache.h"
#include "cache/rate_limiter.h"
#include "cache/recent_likes.h"
#include "server/item_room.h"
#include "server/item_types.h"
#include "server/request_check.h"
#include "storage/like_store.h"

namespace counter {

// Where an answer came from.
enum class AnswerSource : uint8_t { kCache, kReplica, kPrimary };

// What became of one like or unlike.
struct WriteAnswer {
  bool changed = false;
  int64_t count = 0;
  std::string consistency_token;
};

struct CountAnswer {
  int64_t count = 0;
  AnswerSource source = AnswerSource::kPrimary;
  absl::Time as_of;  // Everything committed before this instant is in the count.
  std::string consistency_token;
  int64_t version = 0;
};

// What a watch comes to. reads[i], names[i] and has_token[i] are of one item; the items are
// distinct.
struct WatchedCounts {
  std::vector<ItemRead> reads;  // min_version: of its newest token.
  std::vector<ItemRef> names;
  std::vector<bool> has_token;
  std::string timeline;  // The history that versions and tokens are of.
};

struct LikedAnswer {
  std::vector<bool> liked;
  AnswerSource source =
      AnswerSource::kPrimary;  // kCache only if all of the answer came from there.
  absl::Time as_of;            // Of the oldest part.
};

// One like of a user's list.
struct LikedItem {
  ItemRef item;
  absl::Time liked_at;  // In whole seconds.
};

// A page of a list. The token is empty when nothing follows.
struct LikesAnswer {
  std::vector<LikedItem> likes;
  std::string next_page_token;
};

struct ItemLiker {
  int64_t user_id = 0;
  absl::Time liked_at;
};

struct LikersAnswer {
  std::vector<ItemLiker> likers;
  std::string next_page_token;
};

// Told what the caches were good for; for metrics. Called on any thread; must not block.
class ServiceObserver {
 public:
  virtual ~ServiceObserver() = default;
  virtual void CountLookups(int64_t hits, int64_t misses) = 0;
  virtual void RecentLikeLookups(int64_t hits, int64_t misses) = 0;
  virtual void RateLimited(int64_t likes) = 0;
  // A batch was refused before any work for it.
  virtual void Refused(ErrorReason /*reason*/) {}
  // Likes or unlikes ended with an error that leaves open whether they were applied.
  virtual void OutcomeUnknown(int64_t /*writes*/) {}
  // A like or unlike, a repeat too, was applied.
  virtual void Wrote(const Item& /*item*/) {}
  // The caches have been told of it, too, and its reply is about to leave.
  virtual void Acknowledged(const Item& /*item*/, const Applied& /*applied*/) {}
};

class CounterService {
 public:
  // Everything the service works with; borrowed.
  struct Parts {
    LikeStore& store;
    CountCache& count_cache;
    RecentLikes& recent_likes;
    RateLimiter& rate_limiter;
    const Clock& clock;
    ServiceObserver& observer;
  };

  struct Options {
    // Mutations that the writes which are worked on may have together, and items that the reads
    // may. A batch that finds no room is refused as a whole: kOverloaded, not applied.
    int items_in_flight_max = 100'000;
  };

  CounterService(ItemTypes item_types, Parts parts);  // With default options.
  CounterService(ItemTypes item_types, Parts parts, Options options);
  CounterService(const CounterService&) = delete;
  CounterService& operator=(const CounterService&) = delete;

  // Errors: kInvalidRequest, kRateLimited (likes only), and those of LikeStore.
  Task<absl::StatusOr<WriteAnswer>> Like(int64_t user_id, ItemRef item, CallLimits limits);
  Task<absl::StatusOr<WriteAnswer>> Unlike(int64_t user_id, ItemRef item, CallLimits limits);

  // Answer i is of mutations[i], each with an outcome of its own. One that was refused before it
  // came here is answered by its refused[i] and goes no further, but keeps its place, so that what
  // is said of the others names the caller's own. Requires a status for each mutation, or none at
  // all: nothing was refused. Errors of the whole: kInvalidRequest for more than kBatchItemsMax
  // mutations, kOverloaded if there is no room for them.
  Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> WriteLikes(
      std::vector<MutationRef> mutations, std::vector<absl::Status> refused, CallLimits limits);

  // For operators, who are not users: charges nobody. Otherwise as WriteLikes.
  Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> ImportLikes(
      std::vector<MutationRef> mutations, CallLimits limits);
  // The same for mutations that need no check. Result i is of mutations[i].
  Task<std::vector<absl::StatusOr<Applied>>> WriteUncharged(std::vector<Mutation> mutations,
                                                            CallLimits limits);

  // Answer i is for items[i]. Errors: kInvalidRequest, kOverloaded if there is no room for so many
  // items, and those of LikeStore.
  Task<absl::StatusOr<std::vector<CountAnswer>>> Counts(CountsRequest request, CallLimits limits);

  Task<absl::StatusOr<LikedAnswer>> HasLiked(LikedRequest request, CallLimits limits);

  // What is to be watched. Errors: kInvalidRequest, kResumeOutOfRange for tokens of another history
  // of the store, kStoreUnavailable while it cannot say which it has.
  absl::StatusOr<WatchedCounts> CheckWatch(const WatchRequest& request) const;
  // The counts of distinct items as a CACHED read sees them. Errors: those of LikeStore.
  Task<absl::StatusOr<std::vector<CountAnswer>>> CachedCounts(std::vector<ItemRead> reads,
                                                              CallLimits limits);
  std::string Timeline() const { return parts_.store.Timeline(); }

  // Of the calls that are worked on.
  int64_t mutations_in_flight() const { return write_room_.taken(); }
  int64_t items_in_flight() const { return read_room_.taken(); }

  // Pages of lists, newest first, always from the store. In counter_service_lists.cc.
  Task<absl::StatusOr<LikesAnswer>> ListLikes(LikesListRequest request, CallLimits limits);
  Task<absl::StatusOr<LikersAnswer>> ListLikers(LikersListRequest request, CallLimits limits);

 private:
  using WriteResults = std::vector<absl::StatusOr<Applied>>;

  Task<absl::StatusOr<WriteAnswer>> WriteOne(Action action, int64_t user_id, ItemRef item,
                                             CallLimits limits);
  enum class Charging : uint8_t { kCharged, kUncharged };
  Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> WriteMany(
      std::vector<MutationRef> mutations, std::vector<absl::Status> refused, Charging charging,
      CallLimits limits);
  // Charges, applies and tells the caches. Result i is of mutations[i].
  Task<WriteResults> Write(std::vector<Mutation> mutations, CallLimits limits);
  Task<std::vector<LikeGrant>> Charge(const std::vector<LikeCharge>& charges);
  // What follows a write: tells the caches, and counts outcomes that are unknown.
  Task<> FinishWrite(const std::vector<Mutation>& mutations, const WriteResults& results,
                     absl::Time as_of);
  Task<> TellCaches(const std::vector<Mutation>& mutations, const WriteResults& results,
                    absl::Time as_of);

  absl::StatusOr<ItemRoom::Share> TakeRoom(ItemRoom& room, size_t items);

  // Counts of distinct items.
  Task<absl::StatusOr<std::vector<CountAnswer>>> ReadCounts(std::vector<ItemRead> reads,
                                                            Consistency consistency,
                                                            CallLimits limits);
  // Which of distinct items the user likes.
  Task<absl::StatusOr<LikedAnswer>> ReadLiked(UserId user, std::vector<ItemRead> reads,
                                              Consistency consistency, CallLimits limits);

  const ItemTypes item_types_;
  const Parts parts_;
  ItemRoom write_room_;
  ItemRoom read_room_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_COUNTER_SERVICE_H_
