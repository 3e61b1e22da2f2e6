// ModelStore: the store's contract in the simplest code there is (a map and a mutex), plus switches
// for scripting what a real store does rarely. For tests of the rooms above storage only; promises
// about durability are tested on real stores.
#ifndef COUNTER_SERVER_TESTING_MODEL_STORE_H_
#define COUNTER_SERVER_TESTING_MODEL_STORE_H_

#include <map>
#include <set>
#include <string>
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

  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item>, int, CallLimits) override {
    co_return AuditPage{};
  }

  std::string Timeline() const override { return "model"; }
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
    const bool changed = like ? likes_.insert(pair).second : likes_.erase(pair) == 1;
    Counter& counter = counters_[mutation.item];
    if (changed) {
      counter.count += like ? 1 : -1;
      counter.version = std::max(counter.version + 1, absl::ToUnixMicros(clock_.WallNow()));
    }
    return Applied{changed, counter.count, counter.version};
  }

  const Clock& clock_;
  mutable Mutex mutex_;
  std::set<std::pair<UserId, Item>> likes_ ABSL_GUARDED_BY(mutex_);
  std::map<Item, Counter> counters_ ABSL_GUARDED_BY(mutex_);
  std::map<Item, absl::Status> write_errors_ ABSL_GUARDED_BY(mutex_);
  absl::Status read_error_ ABSL_GUARDED_BY(mutex_);
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace counter

#endif  // COUNTER_SERVER_TESTING_MODEL_STORE_H_
