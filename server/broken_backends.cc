#include "server/broken_backends.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/task.h"

namespace counter {
namespace {

// Answers one call in four before anything was written, which happens a moment later.
class HastyStore final : public LikeStore {
 public:
  explicit HastyStore(LikeStore& next) : next_(next), writer_([this] { WriteLate(); }) {}
  ~HastyStore() override { Stop(); }

  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation> mutations,
                                                   CallLimits limits) override {
    constexpr uint64_t kOneIn = 4;
    if (mutations.size() != 1 || ++calls_ % kOneIn != 0) {
      Task<std::vector<absl::StatusOr<Applied>>> applied =
          next_.Apply(std::move(mutations), std::move(limits));
      co_return co_await std::move(applied);
    }
    const Mutation mutation = mutations[0];
    Task<absl::StatusOr<PairsRead>> has_liked =
        next_.HasLiked(mutation.user, {{mutation.item, 0}}, Consistency::kStrong, limits);
    const absl::StatusOr<PairsRead> pairs = co_await std::move(has_liked);
    Task<absl::StatusOr<CountsRead>> counts =
        next_.Counts({{mutation.item, 0}}, Consistency::kStrong, limits);
    const absl::StatusOr<CountsRead> read = co_await std::move(counts);
    std::vector<absl::StatusOr<Applied>> guess;
    if (!pairs.ok() || !read.ok()) {
      guess.emplace_back(pairs.ok() ? read.status() : pairs.status());
      co_return guess;
    }
    const bool is_like = mutation.action == Action::kLike;
    Applied applied;
    applied.changed = pairs->pairs[0].liked != is_like;
    applied.count = read->counts[0].count + (applied.changed ? (is_like ? 1 : -1) : 0);
    applied.version = read->counts[0].version;
    guess.emplace_back(applied);
    {
      MutexLock lock(mutex_);
      late_.push_back(mutation);
    }
    co_return guess;
  }

  Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead> items, Consistency consistency,
                                          CallLimits limits) override {
    return next_.Counts(std::move(items), consistency, std::move(limits));
  }
  Task<absl::StatusOr<PairsRead>> HasLiked(UserId user, std::vector<ItemRead> items,
                                           Consistency consistency, CallLimits limits) override {
    return next_.HasLiked(user, std::move(items), consistency, std::move(limits));
  }
  Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery query, CallLimits limits) override {
    return next_.ListLikes(std::move(query), std::move(limits));
  }
  Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery query, CallLimits limits) override {
    return next_.ListLikers(query, std::move(limits));
  }
  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item> after, int items_max,
                                        CallLimits limits) override {
    return next_.Audit(after, items_max, std::move(limits));
  }
  std::string Timeline() const override { return next_.Timeline(); }
  std::optional<Failover> LastFailover() const override { return next_.LastFailover(); }
  absl::Status Health() const override { return next_.Health(); }
  void Stop() override {
    if (!writer_.joinable()) return;
    stop_ = true;
    writer_.join();
  }

 private:
  void WriteLate() {
    while (!stop_) {
      absl::SleepFor(absl::Milliseconds(20));
      std::deque<Mutation> late;
      {
        MutexLock lock(mutex_);
        late.swap(late_);
      }
      for (const Mutation& mutation : late)
        (void)BlockingWait(next_.Apply({mutation}, CallLimits()));
    }
  }

  LikeStore& next_;
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  std::deque<Mutation> late_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;
};

// Moves what is cached by what this server has seen an item change, as if nobody else wrote.
class DeltaCache final : public CountCache {
 public:
  explicit DeltaCache(CountCache& next) : next_(next) {}

  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override {
    return next_.Get(std::move(items));
  }
  Task<bool> Put(std::vector<CountPut> puts) override {
    for (CountPut& put : puts) {
      const int64_t delta = DeltaOf(put.entry);
      if (put.token != 0) continue;
      Task<std::vector<CountLookup>> get = next_.Get({put.entry.item});
      const std::vector<CountLookup> lookups = co_await std::move(get);
      if (lookups[0].kind == CountLookup::Kind::kHit)
        put.entry.count = lookups[0].entry.count + delta;
    }
    Task<bool> put = next_.Put(std::move(puts));
    co_return co_await std::move(put);
  }
  void Evict(const std::vector<Item>& items) override { next_.Evict(items); }

 private:
  int64_t DeltaOf(const CountEntry& entry) {
    MutexLock lock(mutex_);
    const auto [seen, is_new] = seen_.emplace(entry.item, entry.count);
    const int64_t delta = is_new ? 1 : entry.count - seen->second;
    seen->second = entry.count;
    return delta;
  }

  CountCache& next_;
  Mutex mutex_;
  absl::flat_hash_map<Item, int64_t> seen_ ABSL_GUARDED_BY(mutex_);
};

class BrokenBackends final : public Backends {
 public:
  BrokenBackends(std::unique_ptr<Backends> sound, const std::string& how)
      : sound_(std::move(sound)), delta_cache_(sound_->count_cache()) {
    if (how == "acknowledge-before-commit") {
      hasty_store_ = std::make_unique<HastyStore>(sound_->store());
    } else if (how == "cache-by-delta") {
      breaks_cache_ = true;
    } else {
      std::fprintf(stderr, "counterd_broken: COUNTER_BREAK is \"%s\"\n", how.c_str());
      std::abort();
    }
  }

  LikeStore& store() override { return hasty_store_ != nullptr ? *hasty_store_ : sound_->store(); }
  LikeMaintenance& maintenance() override { return sound_->maintenance(); }
  CounterCopies& copies() override { return sound_->copies(); }
  std::vector<CheckedCache> checked_caches() override { return sound_->checked_caches(); }
  CountCache& count_cache() override {
    if (breaks_cache_) return delta_cache_;
    return sound_->count_cache();
  }
  RecentLikes& recent_likes() override { return sound_->recent_likes(); }
  RateLimiter& rate_limiter() override { return sound_->rate_limiter(); }
  std::vector<MetricReading> Readings() const override { return sound_->Readings(); }
  std::optional<bool> RedisAnswers() const override { return sound_->RedisAnswers(); }
  void Stop() override {
    if (hasty_store_ != nullptr) hasty_store_->Stop();
    sound_->Stop();
  }

 private:
  const std::unique_ptr<Backends> sound_;
  DeltaCache delta_cache_;
  std::unique_ptr<HastyStore> hasty_store_;
  bool breaks_cache_ = false;
};

}  // namespace

std::unique_ptr<Backends> BreakOnPurpose(std::unique_ptr<Backends> sound) {
  const char* how = std::getenv("COUNTER_BREAK");
  return std::make_unique<BrokenBackends>(std::move(sound), how == nullptr ? "" : how);
}

}  // namespace counter
