// ModelStore: the store's contract in the simplest code there is (a map and a mutex), plus switches
// for scripting what a real store does rarely. For tests of the rooms above storage only; promises
// about durability are tested on real stores.
#ifndef COUNTER_SERVER_TESTING_MODEL_STORE_H_
#define COUNTER_SERVER_TESTING_MODEL_STORE_H_

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "storage/like_store.h"

namespace counter {

class ModelStore final : public LikeStore {
 public:
  explicit ModelStore(const Clock& clock) : clock_(clock) {}

  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation> mutations,
                                                   CallLimits limits) override {
    std::vector<absl::StatusOr<Applied>> results;
    for (const Mutation& mutation : mutations) results.push_back(ApplyOne(mutation, limits));
    co_return results;
  }

  Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead> items, Consistency,
                                          CallLimits) override {
    CountsRead read;
    {
      MutexLock lock(mutex_);
      ++reads_;
      if (!read_error_.ok()) co_return read_error_;
      read.as_of = clock_.WallNow();
      for (const ItemRead& item : items) {
        const Counter& counter = counters_[item.item];
        read.counts.push_back({counter.count, counter.version, ReadSource::kPrimary});
      }
    }
    if (after_read) after_read();
    co_return read;
  }

  Task<absl::StatusOr<PairsRead>> HasLiked(UserId user, std::vector<ItemRead> items, Consistency,
                                           CallLimits) override {
    PairsRead read;
    {
      MutexLock lock(mutex_);
      ++reads_;
      if (!read_error_.ok()) co_return read_error_;
      read.as_of = clock_.WallNow();
      for (const ItemRead& item : items) {
        const bool liked = likes_.contains({user, item.item});
        read.pairs.push_back({liked, liked ? counters_[item.item].version : 0});
      }
    }
    if (after_read) after_read();
    co_return read;
  }

  Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery query, CallLimits) override {
    MutexLock lock(mutex_);
    if (!read_error_.ok()) co_return read_error_;
    const auto order = [](const ListedLike& like) { return std::tie(like.liked_at, like.item); };
    std::vector<ListedLike> likes;
    for (const auto& [pair, liked_at] : likes_) {
      const ListedLike like = {pair.second, liked_at};
      const bool of_type = std::count(query.types.begin(), query.types.end(), like.item.type) > 0;
      const bool comes = !query.after.has_value() || order(like) < order(*query.after);
      if (pair.first == query.user && of_type && comes) likes.push_back(like);
    }
    std::sort(likes.begin(), likes.end(),
              [&](const ListedLike& a, const ListedLike& b) { return order(a) > order(b); });
    const bool more = Cut(likes, query.likes_max);
    co_return LikesPage{std::move(likes), more};
  }

  Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery query, CallLimits) override {
    MutexLock lock(mutex_);
    if (!read_error_.ok()) co_return read_error_;
    const auto order = [](const ListedLiker& liker) {
      return std::tie(liker.liked_at, liker.user);
    };
    std::vector<ListedLiker> likers;
    for (const auto& [pair, liked_at] : likes_) {
      const ListedLiker liker = {pair.first, liked_at};
      const bool comes = !query.after.has_value() || order(liker) < order(*query.after);
      if (pair.second == query.item && comes) likers.push_back(liker);
    }
    std::sort(likers.begin(), likers.end(),
              [&](const ListedLiker& a, const ListedLiker& b) { return order(a) > order(b); });
    const bool more = Cut(likers, query.likers_max);
    co_return LikersPage{std::move(likers), more};
  }

  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item>, int, CallLimits) override {
    co_return AuditPage{};
  }

  std::string Timeline() const override {
    MutexLock lock(mutex_);
    return timeline_;
  }
  absl::Status Health() const override {
    MutexLock lock(mutex_);
    return health_;
  }
  void Stop() override {}

  // Writes of this item fail so; OK heals it.
  void FailWrites(const Item& item, absl::Status error) {
    MutexLock lock(mutex_);
    write_errors_[item] = std::move(error);
  }
  void FailReads(absl::Status error) {
    MutexLock lock(mutex_);
    read_error_ = std::move(error);
  }
  // Makes it the store of another history.
  void SetTimeline(std::string timeline) {
    MutexLock lock(mutex_);
    timeline_ = std::move(timeline);
  }
  void SetHealth(absl::Status health) {
    MutexLock lock(mutex_);
    health_ = std::move(health);
  }
  // How many reads of counts or pairs there were.
  int reads() const {
    MutexLock lock(mutex_);
    return reads_;
  }
  // Called after a read took its snapshot and before its result is given: where races live.
  absl::AnyInvocable<void()> after_read;

 private:
  // Leaves the first so many; whether there were more.
  template <class Listed>
  static bool Cut(std::vector<Listed>& all, int max) {
    if (all.size() <= static_cast<size_t>(max)) return false;
    all.resize(static_cast<size_t>(max));
    return true;
  }

  struct Counter {
    int64_t count = 0;
    int64_t version = 0;
  };

  absl::StatusOr<Applied> ApplyOne(const Mutation& mutation, const CallLimits& limits) {
    MutexLock lock(mutex_);
    if (limits.expired(clock_.MonotonicNow())) {
      absl::Status error = MakeError(ErrorReason::kDeadlineExceeded, "expired");
      MarkNotApplied(error);
      return error;
    }
    const auto error = write_errors_.find(mutation.item);
    if (error != write_errors_.end() && !error->second.ok()) return error->second;
    const std::pair<UserId, Item> pair = {mutation.user, mutation.item};
    const bool like = mutation.action == Action::kLike;
    const int64_t now = absl::ToUnixSeconds(clock_.WallNow());
    const bool changed = like ? likes_.emplace(pair, now).second : likes_.erase(pair) == 1;
    Counter& counter = counters_[mutation.item];
    if (changed) {
      counter.count += like ? 1 : -1;
      counter.version = std::max(counter.version + 1, absl::ToUnixMicros(clock_.WallNow()));
    }
    return Applied{changed, counter.count, counter.version};
  }

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::pair<UserId, Item>, int64_t> likes_ ABSL_GUARDED_BY(mutex_);
  std::map<Item, Counter> counters_ ABSL_GUARDED_BY(mutex_);
  std::map<Item, absl::Status> write_errors_ ABSL_GUARDED_BY(mutex_);
  absl::Status read_error_ ABSL_GUARDED_BY(mutex_);
  std::string timeline_ ABSL_GUARDED_BY(mutex_) = "model";
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace counter

#endif  // COUNTER_SERVER_TESTING_MODEL_STORE_H_
