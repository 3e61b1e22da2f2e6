// CheckTally: how often copies were found equal, behind and so on, by layer and by how long after
// the write that was.
//
// Use one a server; metrics and AdminService read it. All numbers only rise.
//
// Threads: any. Owns its numbers.
#ifndef COUNTER_SERVER_CHECK_CHECK_TALLY_H_
#define COUNTER_SERVER_CHECK_CHECK_TALLY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "server/check/copy_verdict.h"

namespace counter {

// How long after a write was acknowledged its copies are compared.
inline constexpr int kCheckAges = 4;
constexpr std::array<absl::Duration, kCheckAges> CheckAges() {
  return {absl::Milliseconds(100), absl::Seconds(1), absl::Seconds(10), absl::Seconds(60)};
}
// As labels: "0.1", "1", in seconds.
inline constexpr std::array<const char*, kCheckAges> kCheckAgeNames = {"0.1", "1", "10", "60"};

class CheckTally {
 public:
  void Count(CopyLayer layer, int age, CopyResult result) {
    counts_[Place(layer, age, result)].fetch_add(1, std::memory_order_relaxed);
  }
  int64_t Get(CopyLayer layer, int age, CopyResult result) const {
    return counts_[Place(layer, age, result)].load(std::memory_order_relaxed);
  }

 private:
  static size_t Place(CopyLayer layer, int age, CopyResult result) {
    const auto row = static_cast<size_t>(layer) * kCheckAges + static_cast<size_t>(age);
    return row * kCopyResults + static_cast<size_t>(result);
  }

  std::array<std::atomic<int64_t>, size_t{kCopyLayers}* kCheckAges* kCopyResults> counts_ = {};
};

}  // namespace counter

#endif  // COUNTER_SERVER_CHECK_CHECK_TALLY_H_
