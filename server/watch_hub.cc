#include "server/watch_hub.h"

#include <pthread.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/request_check.h"

namespace counter {
namespace {

absl::Status ShuttingDown() {
  return MakeError(ErrorReason::kShuttingDown,
                   "the server is shutting down; another one will answer");
}

}  // namespace

absl::Status ResumeOutOfRange() {
  return MakeError(ErrorReason::kResumeOutOfRange,
                   "the store's history has changed; watch again without consistency_tokens, for "
                   "counts of now");
}

WatchHub::WatchHub(CounterService& service, const Clock& clock, Options options)
    : service_(service), clock_(clock), options_(options), timeline_(service.Timeline()) {}

WatchHub::~WatchHub() { Stop(); }

// ---- Watches -----------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<CountWatch>> WatchHub::Watch(std::vector<Item> items,
                                                            const std::string& timeline,
                                                            std::shared_ptr<rpc::Wakeup> wakeup) {
  LookAtTimeline();
  std::unique_ptr<CountWatch> watch(new CountWatch(*this, std::move(items), std::move(wakeup)));
  MutexLock lock(mutex_);
  if (ended_) return ShuttingDown();
  if (timeline != timeline_) return ResumeOutOfRange();
  const auto is_new = [&](const Item& item)
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return items_.count(item) == 0; };
  const auto more = std::count_if(watch->items_.begin(), watch->items_.end(), is_new);
  if (static_cast<int64_t>(items_.size()) + more > options_.items_max) {
    absl::Status error =
        MakeError(ErrorReason::kOverloaded,
                  absl::StrCat("the server watches ", items_.size(), " items, its limit is ",
                               options_.items_max, "; try again later, or on another server"));
    SetRetryAfter(error, absl::Seconds(1));
    SetQuotaViolation(error, {"server", absl::StrCat(options_.items_max, " watched items")});
    return error;
  }
  for (const Item& item : watch->items_) {
    Watched& watched = items_[item];
    watched.watches.insert(watch.get());
    watch->places_.push_back({&watched, -1});
  }
  watches_.insert(watch.get());
  changed_.NotifyAll();
  return watch;
}

void WatchHub::Remove(CountWatch& watch) {
  MutexLock lock(mutex_);
  watches_.erase(&watch);
  // A watch that was refused has no places.
  for (size_t i = 0; i < watch.places_.size(); ++i) {
    const auto found = items_.find(watch.items_[i]);
    found->second.watches.erase(&watch);
    if (found->second.watches.empty()) items_.erase(found);
  }
}

void CountWatch::Told(size_t place, int64_t version) {
  MutexLock lock(hub_.mutex_);
  places_[place].told = std::max(places_[place].told, version);
}

std::vector<CountWatch::Change> CountWatch::Take() {
  std::vector<Change> changes;
  MutexLock lock(hub_.mutex_);
  if (!status_.ok()) return changes;
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (!place.item->known || place.item->count.version <= place.told) continue;
    place.told = place.item->count.version;
    changes.push_back({i, place.item->count});
  }
  return changes;
}

absl::Status CountWatch::status() const {
  MutexLock lock(hub_.mutex_);
  return status_;
}

void WatchHub::End() {
  Wakeups wakeups;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    for (CountWatch* watch : watches_) {
      watch->status_ = ShuttingDown();
      wakeups.push_back(watch->wakeup_);
    }
  }
  for (const auto& wakeup : wakeups) wakeup->Wake();
}

// ---- Rounds ------------------------------------------------------------------------------------

void WatchHub::Start() {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "watches");
}

void WatchHub::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void WatchHub::Run() {
  while (true) {
    const Clock& clock = Clock::System();
    const MonotonicTime begun = clock.MonotonicNow();
    BlockingWait(Round());
    // A round that took long must not be followed by the next at once: it would take all there is.
    const absl::Duration took = Between(begun, clock.MonotonicNow());
    const absl::Duration pause = std::max(options_.interval - took, options_.interval / 10);
    const MonotonicTime until = clock.MonotonicNow() + pause;
    MutexLock lock(mutex_);
    while (!stopping_ && clock.MonotonicNow() < until) changed_.WaitUntil(mutex_, until);
    while (!stopping_ && watches_.empty()) changed_.Wait(mutex_);
    if (stopping_) return;
  }
}

Task<> WatchHub::Round() {
  LookAtTimeline();
  const std::vector<Item> items = WatchedItems();
  for (size_t begin = 0; begin < items.size() && !Stopping(); begin += kBatchItemsMax) {
    const size_t end = std::min(items.size(), begin + kBatchItemsMax);
    std::vector<Item> some(items.begin() + static_cast<ptrdiff_t>(begin),
                           items.begin() + static_cast<ptrdiff_t>(end));
    Task<> read = ReadSome(std::move(some));
    co_await std::move(read);
  }
  MutexLock lock(mutex_);
  ++stats_.rounds;
}

bool WatchHub::Stopping() const {
  MutexLock lock(mutex_);
  return stopping_;
}

std::vector<Item> WatchHub::WatchedItems() const {
  std::vector<Item> items;
  MutexLock lock(mutex_);
  items.reserve(items_.size());
  for (const auto& [item, watched] : items_) items.push_back(item);
  return items;
}

Task<> WatchHub::ReadSome(std::vector<Item> items) {
  std::vector<ItemRead> reads;
  reads.reserve(items.size());
  for (const Item& item : items) reads.push_back({item, 0});
  CallLimits limits;
  limits.deadline = clock_.MonotonicNow() + options_.read_budget;
  const std::string timeline = service_.Timeline();
  Task<absl::StatusOr<std::vector<CountAnswer>>> read =
      service_.CachedCounts(std::move(reads), std::move(limits));
  const absl::StatusOr<std::vector<CountAnswer>> counts = co_await std::move(read);
  // Of which history the answer is cannot be told if it changed meanwhile.
  if (timeline != service_.Timeline()) co_return;
  if (!counts.ok()) {
    MutexLock lock(mutex_);
    ++stats_.failed_reads;
    co_return;
  }
  const Wakeups wakeups = Publish(timeline, items, *counts);
  for (const auto& wakeup : wakeups) wakeup->Wake();
}

WatchHub::Wakeups WatchHub::Publish(const std::string& timeline, const std::vector<Item>& items,
                                    const std::vector<CountAnswer>& counts) {
  std::set<CountWatch*> woken;
  Wakeups wakeups;
  MutexLock lock(mutex_);
  if (timeline != timeline_) return wakeups;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto found = items_.find(items[i]);
    if (found == items_.end()) continue;  // Nobody watches it any more.
    Watched& watched = found->second;
    if (watched.known && counts[i].version <= watched.count.version) continue;
    watched.known = true;
    watched.count = counts[i];
    ++stats_.changes;
    for (CountWatch* watch : watched.watches) {
      if (woken.insert(watch).second) wakeups.push_back(watch->wakeup_);
    }
  }
  return wakeups;
}

void WatchHub::LookAtTimeline() {
  const std::string timeline = service_.Timeline();
  Wakeups wakeups;
  {
    MutexLock lock(mutex_);
    if (timeline == timeline_) return;
    timeline_ = timeline;
    for (auto& [item, watched] : items_) watched.known = false;
    for (CountWatch* watch : watches_) {
      if (watch->status_.ok()) watch->status_ = ResumeOutOfRange();
      wakeups.push_back(watch->wakeup_);
    }
  }
  for (const auto& wakeup : wakeups) wakeup->Wake();
}

WatchHub::Stats WatchHub::stats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.watches = static_cast<int64_t>(watches_.size());
  stats.items = static_cast<int64_t>(items_.size());
  return stats;
}

}  // namespace counter
