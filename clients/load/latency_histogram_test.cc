#include "clients/load/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace counter::load {
namespace {

TEST_CASE("an empty histogram has no latency") {
  const LatencyHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.Quantile(0.99) == absl::ZeroDuration());
  CHECK(histogram.mean() == absl::ZeroDuration());
}

TEST_CASE("quantiles of any size are those of the sorted values to within 0.1 percent") {
  // From a microsecond to a minute, as many of each order of magnitude.
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(3, 10.7);
  std::vector<absl::Duration> values;
  LatencyHistogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(absl::Nanoseconds(std::pow(10.0, exponent(random))));
    histogram.Record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double quantile : {0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    CAPTURE(quantile);
    const auto rank = static_cast<size_t>(std::ceil(quantile * 20'000)) - 1;
    const double exact = absl::ToDoubleMicroseconds(values[rank]);
    const double found = absl::ToDoubleMicroseconds(histogram.Quantile(quantile));
    CHECK(found >= exact - 0.1);
    CHECK(found <= exact * 1.001 + 0.1);
  }
  CHECK(histogram.max() == histogram.Quantile(1));
}

TEST_CASE("histograms of several threads add up") {
  LatencyHistogram all;
  LatencyHistogram fast;
  LatencyHistogram slow;
  for (int i = 0; i < 99; ++i) fast.Record(absl::Milliseconds(1));
  slow.Record(absl::Milliseconds(101));
  all.Add(fast);
  all.Add(slow);
  CHECK(all.count() == 100);
  const absl::Duration most = all.Quantile(0.99);
  CHECK(most >= absl::Milliseconds(1));
  CHECK(most < absl::Microseconds(1002));
  CHECK(all.Quantile(0.991) == absl::Milliseconds(101));
  CHECK(all.mean() == absl::Milliseconds(2));
}

TEST_CASE("what is out of range counts at the edge of the range") {
  LatencyHistogram histogram;
  histogram.Record(-absl::Seconds(1));
  histogram.Record(absl::InfiniteDuration());
  CHECK(histogram.count() == 2);
  CHECK(histogram.Quantile(0.5) == absl::ZeroDuration());
  CHECK(histogram.max() == LatencyHistogram::kMax);
}

}  // namespace
}  // namespace counter::load
