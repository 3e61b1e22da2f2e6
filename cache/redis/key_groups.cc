#include "cache/redis/key_groups.h"

#include <algorithm>
#include <numeric>

namespace counter::redis {

std::vector<KeyGroup> GroupKeys(absl::Span<const std::string> keys, bool by_slot,
                                size_t members_max) {
  std::vector<int> slots(keys.size(), kNoSlot);
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (by_slot) {
    std::transform(keys.begin(), keys.end(), slots.begin(),
                   [](const std::string& key) { return SlotOf(key); });
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return slots[a] < slots[b]; });
  }
  std::vector<KeyGroup> groups;
  for (const size_t index : order) {
    if (groups.empty() || groups.back().slot != slots[index] ||
        groups.back().members.size() >= members_max) {
      groups.push_back({slots[index], {}});
    }
    groups.back().members.push_back(index);
  }
  return groups;
}

}  // namespace counter::redis
