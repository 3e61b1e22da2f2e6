// LookFirst: whether it pays to look at keys before a script is sent to write to them.
//
// Most writes concern items and users of whom Redis holds nothing, and a key that is absent stays
// absent. To see that by a native command of many keys costs a tenth of the script; but what is
// there costs a second round trip. So writers tell how many of their keys had something to do, and
// look first while that is the lesser part.
//
// Threads: any. Ownership: values only.
#ifndef COUNTER_CACHE_REDIS_LOOK_FIRST_H_
#define COUNTER_CACHE_REDIS_LOOK_FIRST_H_

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace counter::redis {

class LookFirst {
 public:
  // True at the start.
  bool worth() const { return busy_share_.load(std::memory_order_relaxed) < 0.5; }

  // Of `keys` keys that were looked at or written to, `busy` had something to do. Writers that tell
  // at once may lose each other's: it is an estimate.
  void Saw(size_t busy, size_t keys) {
    if (keys == 0) return;
    constexpr double kMemory = 500;  // Keys; what is older fades.
    const double weight = std::min(1.0, static_cast<double>(keys) / kMemory);
    const double share = static_cast<double>(busy) / static_cast<double>(keys);
    const double before = busy_share_.load(std::memory_order_relaxed);
    busy_share_.store(before + (share - before) * weight, std::memory_order_relaxed);
  }

 private:
  std::atomic<double> busy_share_ = 0;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_LOOK_FIRST_H_
