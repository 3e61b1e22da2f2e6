// HotItems: which items are written most just now, roughly, in a fixed amount of memory (the
// space-saving sketch: who falls out of the table is replaced by the newcomer, which takes over its
// weight). For people to look at; nothing may depend on it.
//
// Weights halve every kHalfLife, so that what was hot an hour ago is gone. On the hot path it never
// waits: where another thread is at it, the write is not noted.
//
// Threads: any. Ownership: the one who made it.
#ifndef COUNTER_SERVER_HOT_ITEMS_H_
#define COUNTER_SERVER_HOT_ITEMS_H_

#include <cstddef>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/like.h"

namespace counter {

class HotItems {
 public:
  static constexpr size_t kItemsMax = 256;  // Remembered; about 40 bytes each.
  static constexpr absl::Duration kHalfLife = absl::Seconds(10);

  explicit HotItems(const Clock& clock) : clock_(clock), decayed_(clock.MonotonicNow()) {}

  void Wrote(const Item& item);

  struct Hot {
    Item item;
    double writes_per_second = 0;  // Averaged over the half-life.
  };
  // The hottest ones, hottest first.
  std::vector<Hot> Top(size_t count);

 private:
  void Decay();
  void MakeRoom(const Item& item);

  const Clock& clock_;
  std::mutex mutex_;  // Guards the rest. Not base/mutex.h, which cannot try.
  absl::flat_hash_map<Item, double> weights_;
  MonotonicTime decayed_;
  unsigned newcomers_ = 0;
};

}  // namespace counter

#endif  // COUNTER_SERVER_HOT_ITEMS_H_
