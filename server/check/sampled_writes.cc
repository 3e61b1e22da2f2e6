#include "server/check/sampled_writes.h"

#include <algorithm>

namespace counter {
namespace {

constexpr size_t kLastItemsMax = 100;

}  // namespace

SampledWrites::SampledWrites(const Clock& clock, SampledWritesOptions options)
    : clock_(clock), options_(options) {}

void SampledWrites::Acknowledged(const Item& item, int64_t count, int64_t version) {
  if (!takes_writes()) return;
  const MonotonicTime now = clock_.MonotonicNow();
  MonotonicTime::rep open_at = open_at_.load(std::memory_order_relaxed);
  if (now.time_since_epoch().count() < open_at) return;
  const MonotonicTime next = now + absl::Seconds(1) / options_.writes_per_second;
  // Of those that come at once one is taken.
  if (!open_at_.compare_exchange_strong(open_at, next.time_since_epoch().count())) return;

  MutexLock lock(mutex_);
  if (stats_.waiting >= options_.samples_max) {
    ++stats_.dropped;
    return;
  }
  ++stats_.taken;
  ++stats_.waiting;
  waiting_[0].push_back({{item, count, version}, now});
  last_.push_front(item);
  if (last_.size() > kLastItemsMax) last_.pop_back();
}

std::vector<DueCheck> SampledWrites::TakeDue(size_t dues_max) {
  const MonotonicTime now = clock_.MonotonicNow();
  std::vector<DueCheck> dues;
  MutexLock lock(mutex_);
  // The later ages first: what is taken here of an age waits for the next one from now on.
  for (int age = kCheckAges - 1; age >= 0; --age) {
    std::deque<Sample>& waiting = waiting_[static_cast<size_t>(age)];
    const absl::Duration after = CheckAges()[static_cast<size_t>(age)];
    while (!waiting.empty() && waiting.front().acknowledged + after <= now &&
           dues.size() < dues_max) {
      const Sample sample = waiting.front();
      waiting.pop_front();
      dues.push_back({sample.write, age, sample.acknowledged + after});
      if (age + 1 < kCheckAges)
        waiting_[static_cast<size_t>(age) + 1].push_back(sample);
      else
        --stats_.waiting;
    }
  }
  std::sort(dues.begin(), dues.end(),
            [](const DueCheck& a, const DueCheck& b) { return a.due < b.due; });
  return dues;
}

std::optional<MonotonicTime> SampledWrites::NextDue() const {
  std::optional<MonotonicTime> next;
  MutexLock lock(mutex_);
  for (int age = 0; age < kCheckAges; ++age) {
    const std::deque<Sample>& waiting = waiting_[static_cast<size_t>(age)];
    if (waiting.empty()) continue;
    const MonotonicTime due = waiting.front().acknowledged + CheckAges()[static_cast<size_t>(age)];
    if (!next.has_value() || due < *next) next = due;
  }
  return next;
}

std::vector<Item> SampledWrites::LastItems(size_t items_max) const {
  std::vector<Item> items;
  MutexLock lock(mutex_);
  for (const Item& item : last_) {
    if (items.size() == items_max) break;
    if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
  }
  return items;
}

SampledWrites::Stats SampledWrites::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

}  // namespace counter
