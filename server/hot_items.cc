#include "server/hot_items.h"

#include <algorithm>
#include <cmath>

namespace counter {
namespace {

// Below it an item is not worth a line.
constexpr double kWeightMin = 0.05;

}  // namespace

void HotItems::Wrote(const Item& item) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const auto found = weights_.find(item);
  if (found != weights_.end()) {
    found->second += 1;
  } else if (weights_.size() < kItemsMax) {
    weights_[item] = 1;
  } else {
    MakeRoom(item);
  }
}

// A look at every weight costs about a microsecond, so only one in sixteen newcomers takes a place:
// what is hot comes again.
void HotItems::MakeRoom(const Item& item) {
  constexpr unsigned kOneIn = 16;
  if (++newcomers_ % kOneIn != 0) return;
  const auto lightest =
      std::min_element(weights_.begin(), weights_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const double weight = lightest->second + 1;
  weights_.erase(lightest);
  weights_[item] = weight;
}

void HotItems::Decay() {
  const MonotonicTime now = clock_.MonotonicNow();
  const double factor = std::exp2(-absl::FDivDuration(Between(decayed_, now), kHalfLife));
  decayed_ = now;
  for (auto& [item, weight] : weights_) weight *= factor;
  absl::erase_if(weights_, [](const auto& entry) { return entry.second < kWeightMin; });
}

std::vector<HotItems::Hot> HotItems::Top(size_t count) {
  std::vector<Hot> top;
  const std::lock_guard<std::mutex> lock(mutex_);
  Decay();
  // A steady rate r comes to the weight r * half-life / ln 2.
  const double rate_of_weight = std::log(2.0) / absl::ToDoubleSeconds(kHalfLife);
  for (const auto& [item, weight] : weights_) top.push_back({item, weight * rate_of_weight});
  count = std::min(count, top.size());
  std::partial_sort(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(count), top.end(),
                    [](const Hot& a, const Hot& b) {
                      if (a.writes_per_second != b.writes_per_second)
                        return a.writes_per_second > b.writes_per_second;
                      return a.item.id < b.item.id;
                    });
  top.resize(count);
  return top;
}

}  // namespace counter
