// Zipf: how popular things are: ranks from 0, rank r drawn with a chance in proportion to 1 / (r +
// 1).
//
// Use it where a load or a test needs a realistic mix. Holds 8 bytes a rank. Const methods are
// for any thread; each brings a generator of its own.
#ifndef COUNTER_CLIENTS_LOAD_ZIPF_H_
#define COUNTER_CLIENTS_LOAD_ZIPF_H_

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace counter::load {

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
    return RankAt(std::uniform_real_distribution<double>(0, 1)(random));
  }

  // The rank below which `share` of all draws fall. Requires 0 <= share <= 1.
  size_t RankAt(double share) const {
    const auto found = std::lower_bound(sums_.begin(), sums_.end(), share * sums_.back());
    return std::min(static_cast<size_t>(found - sums_.begin()), sums_.size() - 1);
  }

 private:
  std::vector<double> sums_;
};

}  // namespace counter::load

#endif  // COUNTER_CLIENTS_LOAD_ZIPF_H_
