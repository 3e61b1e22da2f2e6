#include "clients/load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace counter::load {
namespace {

constexpr int kLinearBits = 11;  // 2048 buckets of one unit each.
constexpr int64_t kHalf = int64_t{1} << (kLinearBits - 1);

absl::Duration FromUnits(int64_t units) {
  return absl::Nanoseconds(units * LatencyHistogram::kUnitNanoseconds);
}

}  // namespace

LatencyHistogram::LatencyHistogram()
    : buckets_(BucketOf(absl::ToInt64Nanoseconds(kMax) / kUnitNanoseconds) + 1) {}

size_t LatencyHistogram::BucketOf(int64_t units) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(units)));
  const int shift = std::max(0, bits - kLinearBits);
  return static_cast<size_t>(shift * kHalf + (units >> shift));
}

int64_t LatencyHistogram::HighestOf(size_t bucket) {
  const auto index = static_cast<int64_t>(bucket);
  const int64_t shift = std::max(int64_t{0}, index / kHalf - 1);
  return ((index - shift * kHalf + 1) << shift) - 1;
}

void LatencyHistogram::Record(absl::Duration latency) {
  const absl::Duration kept = std::clamp(latency, absl::ZeroDuration(), kMax);
  const int64_t units = absl::ToInt64Nanoseconds(kept) / kUnitNanoseconds;
  ++buckets_[BucketOf(units)];
  ++count_;
  max_units_ = std::max(max_units_, units);
  sum_units_ += static_cast<double>(units);
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_units_ = std::max(max_units_, other.max_units_);
  sum_units_ += other.sum_units_;
}

absl::Duration LatencyHistogram::max() const { return FromUnits(max_units_); }

absl::Duration LatencyHistogram::mean() const {
  if (count_ == 0) return absl::ZeroDuration();
  return FromUnits(static_cast<int64_t>(sum_units_ / static_cast<double>(count_)));
}

absl::Duration LatencyHistogram::Quantile(double quantile) const {
  const auto wanted =
      std::max(int64_t{1}, static_cast<int64_t>(std::ceil(quantile * static_cast<double>(count_))));
  int64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted) return FromUnits(std::min(HighestOf(bucket), max_units_));
  }
  return absl::ZeroDuration();
}

}  // namespace counter::load
