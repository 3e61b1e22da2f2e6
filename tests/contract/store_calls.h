// Calls on a LikeStore in short, for the files of its contract suite and for tests of a store.
#ifndef COUNTER_TESTS_CONTRACT_STORE_CALLS_H_
#define COUNTER_TESTS_CONTRACT_STORE_CALLS_H_

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "storage/like_store.h"

namespace counter::testing {

using Results = std::vector<absl::StatusOr<Applied>>;

constexpr Item Post(int64_t id) { return {ItemType{1}, id}; }
constexpr Mutation Like(int64_t user, const Item& item) {
  return {UserId{user}, item, Action::kLike};
}
constexpr Mutation Unlike(int64_t user, const Item& item) {
  return {UserId{user}, item, Action::kUnlike};
}

inline CallLimits ExpiredLimits() { return {Clock::System().MonotonicNow(), {}}; }
inline CallLimits CancelledLimits() {
  CallLimits limits{MonotonicTime::max(), Cancellation::Make()};
  limits.cancellation.Cancel();
  return limits;
}
inline CallLimits Within(absl::Duration time) {
  return {Clock::System().MonotonicNow() + time, {}};
}

inline Results Apply(LikeStore& store, std::vector<Mutation> mutations, CallLimits limits = {}) {
  return BlockingWait(store.Apply(std::move(mutations), std::move(limits)));
}
inline absl::StatusOr<Applied> ApplyOne(LikeStore& store, const Mutation& mutation,
                                        CallLimits limits = {}) {
  return Apply(store, {mutation}, std::move(limits)).at(0);
}

inline std::vector<ItemRead> ReadsOf(const std::vector<Item>& items) {
  std::vector<ItemRead> reads;
  for (const Item& item : items) reads.push_back({item, 0});
  return reads;
}
inline absl::StatusOr<CountsRead> Counts(LikeStore& store, const std::vector<Item>& items,
                                         CallLimits limits = {}) {
  return BlockingWait(store.Counts(ReadsOf(items), Consistency::kStrong, std::move(limits)));
}
inline ItemCount CountOf(LikeStore& store, const Item& item) {
  return Counts(store, {item}).value().counts.at(0);
}
inline absl::StatusOr<PairsRead> HasLiked(LikeStore& store, int64_t user,
                                          const std::vector<Item>& items, CallLimits limits = {}) {
  return BlockingWait(
      store.HasLiked(UserId{user}, ReadsOf(items), Consistency::kStrong, std::move(limits)));
}
inline bool Likes(LikeStore& store, int64_t user, const Item& item) {
  return HasLiked(store, user, {item}).value().pairs.at(0).liked;
}
// Audits the whole store in pages.
inline AuditPage AuditAll(LikeStore& store, int items_max = 100'000) {
  AuditPage all;
  do {
    const AuditPage page = BlockingWait(store.Audit(all.next, items_max, {})).value();
    all.items_checked += page.items_checked;
    all.findings.insert(all.findings.end(), page.findings.begin(), page.findings.end());
    all.next = page.next;
  } while (all.next);
  return all;
}

// An Apply that is on its way. The test need not wait for one before it starts the next.
class PendingApply {
 public:
  PendingApply(LikeStore& store, std::vector<Mutation> mutations, CallLimits limits = {}) {
    Spawn(Run(store, std::move(mutations), std::move(limits)));
  }
  const Results& Wait() {
    ended_.Wait();
    return results_;
  }

 private:
  Task<> Run(LikeStore& store, std::vector<Mutation> mutations, CallLimits limits) {
    Task<Results> apply = store.Apply(std::move(mutations), std::move(limits));
    results_ = co_await std::move(apply);
    ended_.Notify();
  }

  Results results_;
  Notification ended_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_CONTRACT_STORE_CALLS_H_
