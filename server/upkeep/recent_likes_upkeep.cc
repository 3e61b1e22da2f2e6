#include "server/upkeep/recent_likes_upkeep.h"

#include "server/upkeep/failover_doubt.h"

namespace counter {

Task<std::vector<std::optional<absl::Time>>> RecentLikesUpkeep::Find(UserId user,
                                                                     std::vector<Item> items) {
  Task<std::vector<std::optional<absl::Time>>> find = likes_.Find(user, std::move(items));
  std::vector<std::optional<absl::Time>> found = co_await std::move(find);
  const std::optional<Failover> failover =
      store_ != nullptr ? store_->LastFailover() : std::nullopt;
  for (std::optional<absl::Time>& verified : found)
    if (verified.has_value() && IsInDoubt(failover, *verified)) verified.reset();
  co_return found;
}

Task<bool> RecentLikesUpkeep::Record(std::vector<UserFacts> users) {
  const std::vector<UserFacts> unlikes = UnlikesOf(users);
  Task<bool> record = likes_.Record(std::move(users));
  const bool acknowledged = co_await std::move(record);
  if (unlikes.empty()) co_return acknowledged;
  MutexLock lock(mutex_);
  if (acknowledged)
    NoteTold(unlikes);
  else
    Owe(unlikes);
  co_return acknowledged;
}

std::vector<UserFacts> RecentLikesUpkeep::UnlikesOf(const std::vector<UserFacts>& users) {
  std::vector<UserFacts> unlikes;
  for (const UserFacts& one : users) {
    UserFacts facts{one.user, {}};
    for (const LikeFact& fact : one.facts) {
      if (!fact.liked) facts.facts.push_back(fact);
    }
    if (!facts.facts.empty()) unlikes.push_back(std::move(facts));
  }
  return unlikes;
}

void RecentLikesUpkeep::Owe(const std::vector<UserFacts>& unlikes) {
  for (const UserFacts& one : unlikes) {
    for (const LikeFact& fact : one.facts) {
      const Pair pair(one.user, fact.item);
      const auto known = owed_.find(pair);
      if (known != owed_.end()) {
        if (fact.item_version > known->second.item_version) known->second = fact;
      } else if (static_cast<int64_t>(owed_.size()) < options_.unlikes_max) {
        owed_.emplace(pair, fact);
      } else {
        ++stats_.unlikes_forgotten;
      }
    }
  }
}

void RecentLikesUpkeep::NoteTold(const std::vector<UserFacts>& unlikes) {
  const MonotonicTime now = clock_.MonotonicNow();
  ForgetOldTold(now);
  for (const UserFacts& one : unlikes) {
    for (const LikeFact& fact : one.facts) told_.push_back({now, one.user, fact});
  }
  while (static_cast<int64_t>(told_.size()) > options_.unlikes_max) {
    told_.pop_front();
    ++stats_.unlikes_forgotten;
  }
}

void RecentLikesUpkeep::ForgetOldTold(MonotonicTime now) {
  while (!told_.empty() && Between(told_.front().at, now) > options_.told_span) told_.pop_front();
}

void RecentLikesUpkeep::TellAgain() {
  MutexLock lock(mutex_);
  ForgetOldTold(clock_.MonotonicNow());
  for (const Told& told : told_) Owe({{told.user, {told.fact}}});
  told_.clear();
}

Task<bool> RecentLikesUpkeep::Round() {
  constexpr size_t kUnlikesAtOnce = 500;
  while (true) {
    std::vector<UserFacts> some;
    {
      MutexLock lock(mutex_);
      while (!owed_.empty() && some.size() < kUnlikesAtOnce) {
        const auto first = owed_.begin();
        if (some.empty() || some.back().user != first->first.first)
          some.push_back({first->first.first, {}});
        some.back().facts.push_back(first->second);
        owed_.erase(first);
      }
    }
    if (some.empty()) co_return true;
    Task<bool> record = likes_.Record(some);
    const bool acknowledged = co_await std::move(record);
    MutexLock lock(mutex_);
    if (!acknowledged) {
      Owe(some);
      co_return false;
    }
    NoteTold(some);
    for (const UserFacts& one : some)
      stats_.unlikes_told_again += static_cast<int64_t>(one.facts.size());
  }
}

RecentLikesUpkeepStats RecentLikesUpkeep::Stats() const {
  MutexLock lock(mutex_);
  RecentLikesUpkeepStats stats = stats_;
  stats.unlikes_owed = static_cast<int64_t>(owed_.size());
  return stats;
}

}  // namespace counter
