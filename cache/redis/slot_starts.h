// SlotStarts: since when what stands in Redis can have been put there, slot by slot.
//
// Use it where answers of Redis are believed or not (Channel::believed_since). A Redis that is
// started with a file shows what stood there before, at versions that the store may have left
// behind long ago, and nobody was told. What was read from the store before the start is from that
// file; what was put in the seconds before it, servers put again (recent_puts.h). It only rises: a
// slot that an older process owns now was perhaps copied from one that had a file.
//
// Threads: any. Ownership: values only, 128 KiB of them.
#ifndef COUNTER_CACHE_REDIS_SLOT_STARTS_H_
#define COUNTER_CACHE_REDIS_SLOT_STARTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "cache/redis/slot.h"

namespace counter::redis {

class SlotStarts {
 public:
  // The owner of `slots`, or who answers for one just now, was started at `start` or later. One
  // thread at a time.
  void Raise(const SlotSet& slots, absl::Time start) {
    if (start == absl::InfinitePast()) return;
    for (size_t slot = 0; slot < slots.size(); ++slot)
      if (slots[slot]) Raise(static_cast<int>(slot), start);
  }
  void Raise(int slot, absl::Time start) {
    if (start == absl::InfinitePast()) return;
    const int64_t us = absl::ToUnixMicros(start);
    std::atomic<int64_t>& known = us_[static_cast<size_t>(slot)];
    if (us > known.load(std::memory_order_relaxed)) known.store(us, std::memory_order_relaxed);
  }

  // Infinitely long ago if nothing is known. Requires a slot.
  absl::Time Of(int slot) const {
    const int64_t us = us_[static_cast<size_t>(slot)].load(std::memory_order_relaxed);
    return us == 0 ? absl::InfinitePast() : absl::FromUnixMicros(us);
  }

 private:
  std::array<std::atomic<int64_t>, kSlots> us_{};
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_SLOT_STARTS_H_
