#include "storage/postgres/lag_meter.h"

#include <algorithm>
#include <iterator>

namespace counter::postgres {

void LagMeter::PrimaryAt(int64_t flushed, MonotonicTime asked) {
  if (!positions_.empty()) {
    Position& last = positions_.back();
    if (flushed == last.flushed) {
      last.asked = asked;
      return;
    }
    // A log does not shrink: this is another one.
    if (flushed < last.flushed) Forget();
  }
  positions_.push_back({flushed, asked});
  if (positions_.size() > positions_max_) positions_.pop_front();
}

std::optional<MonotonicTime> LagMeter::FreshAt(int64_t replayed) const {
  const auto above = std::upper_bound(
      positions_.begin(), positions_.end(), replayed,
      [](int64_t wanted, const Position& position) { return wanted < position.flushed; });
  if (above == positions_.begin()) return std::nullopt;
  return std::prev(above)->asked;
}

}  // namespace counter::postgres
