// Zipf: how popular things are: ranks from 0, rank r drawn with a chance in proportion to 1 / (r +
// 1).
//
// Use it where a test or a benchmark needs a realistic mix. Holds 8 bytes a rank. Const methods are
// for any thread; each brings a generator of its own.
#ifndef COUNTER_TESTS_SUPPORT_ZIPF_H_
#define COUNTER_TESTS_SUPPORT_ZIPF_H_

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace counter::testing {

class Zipf {
 public:
  // Requires ranks >= 1.
  explicit Zipf(size_t ranks) : sums_(ranks) {
    double sum = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      sums_[rank] = sum += 1.0 / static_cast<double>(rank + 1);
    }
  }

  size_t Draw(std::mt19937_64& random) const {
    std::uniform_real_distribution<double> uniform(0, sums_.back());
    const auto found = std::lower_bound(sums_.begin(), sums_.end(), uniform(random));
    return std::min(static_cast<size_t>(found - sums_.begin()), sums_.size() - 1);
  }

 private:
  std::vector<double> sums_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_ZIPF_H_
