// Slots: a Redis Cluster cuts its keys into 16384 slots, each owned by one node.
//
// Use it wherever a command must find its node, or keys must share one command: only keys of one
// slot may. Pure: values only; any thread.
#ifndef COUNTER_CACHE_REDIS_SLOT_H_
#define COUNTER_CACHE_REDIS_SLOT_H_

#include <bitset>

#include "absl/strings/string_view.h"

namespace counter::redis {

inline constexpr int kSlots = 16'384;

// Of a command that has no key, or whose slot nobody asked for.
inline constexpr int kNoSlot = -1;

using SlotSet = std::bitset<kSlots>;

// The slot of `key`, from 0 to kSlots - 1: CRC16 of the key, or of its hash tag: what stands
// between the first { and the next }, if that is not empty.
int SlotOf(absl::string_view key);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_SLOT_H_
