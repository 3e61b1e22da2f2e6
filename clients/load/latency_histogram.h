// LatencyHistogram: counts durations in buckets that are at most 0.1 % wide, so that a quantile
// has three digits however many there were.
//
// Use it for the latencies of a benchmark. It is not a metric: it has no labels and is not shared.
//
// Buckets as Gil Tene's HdrHistogram has them: 2048 linear ones, then 1024 for each doubling.
// Threads: one at a time; give each thread its own and Add them up.
#ifndef COUNTER_CLIENTS_LOAD_LATENCY_HISTOGRAM_H_
#define COUNTER_CLIENTS_LOAD_LATENCY_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace counter::load {

class LatencyHistogram {
 public:
  // The unit is 100 ns: 0.2 s are kept to within 0.1 ms, 5 us to within 0.1 us. Longer than kMax
  // counts as kMax.
  static constexpr int64_t kUnitNanoseconds = 100;
  static constexpr absl::Duration kMax = absl::Hours(1);

  LatencyHistogram();

  // A negative duration counts as zero.
  void Record(absl::Duration latency);
  void Add(const LatencyHistogram& other);

  int64_t count() const { return count_; }
  absl::Duration max() const;
  absl::Duration mean() const;
  // The smallest recorded duration, to within its bucket, that `quantile` of all do not exceed;
  // zero if there are none. Requires 0 <= quantile <= 1.
  absl::Duration Quantile(double quantile) const;

 private:
  static size_t BucketOf(int64_t units);
  static int64_t HighestOf(size_t bucket);

  std::vector<int64_t> buckets_;
  int64_t count_ = 0;
  int64_t max_units_ = 0;
  double sum_units_ = 0;
};

}  // namespace counter::load

#endif  // COUNTER_CLIENTS_LOAD_LATENCY_HISTOGRAM_H_
