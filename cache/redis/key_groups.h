// KeyGroups: which keys may share one command.
//
// Use it before a command of many keys is written: of one server all keys may, of a cluster only
// those of one slot. Pure: values only; any thread.
#ifndef COUNTER_CACHE_REDIS_KEY_GROUPS_H_
#define COUNTER_CACHE_REDIS_KEY_GROUPS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cache/redis/slot.h"

namespace counter::redis {

// Keys of one command.
struct KeyGroup {
  int slot = kNoSlot;           // Of all of them; kNoSlot where that does not matter.
  std::vector<size_t> members;  // Indexes of the keys, rising.
};

// Each key in one group, `members_max` a group at most; equal keys in order. Requires
// members_max >= 1.
std::vector<KeyGroup> GroupKeys(absl::Span<const std::string> keys, bool by_slot,
                                size_t members_max);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_KEY_GROUPS_H_
