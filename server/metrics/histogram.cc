#include "server/metrics/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace counter {

Histogram::Histogram(std::vector<double> upper_bounds)
    : upper_bounds_(std::move(upper_bounds)),
      counts_(std::make_unique<std::atomic<uint64_t>[]>(upper_bounds_.size() + 1)) {}

void Histogram::Observe(double value) {
  if (std::isnan(value)) return;
  value = std::max(value, 0.0);
  const auto bucket = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), value);
  counts_[bucket - upper_bounds_.begin()].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

prometheus::ClientMetric Histogram::Collect() const {
  prometheus::ClientMetric metric;
  uint64_t count = 0;
  for (size_t i = 0; i <= upper_bounds_.size(); ++i) {
    count += counts_[i].load(std::memory_order_relaxed);
    const double upper_bound =
        i < upper_bounds_.size() ? upper_bounds_[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({count, upper_bound});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = sum_.load(std::memory_order_relaxed);
  return metric;
}

}  // namespace counter
