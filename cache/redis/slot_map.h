// SlotMap: which node of a cluster owns which slot.
//
// Use it to find the node of a command. It is read from the reply to CLUSTER SLOTS and refused
// unless it is whole: every slot has exactly one owner, every owner has a place. A node that has
// been cut off, or knows itself only, so never replaces what is known. Replicas are not read:
// nobody asks them.
//
// Pure: values only; any thread.
#ifndef COUNTER_CACHE_REDIS_SLOT_MAP_H_
#define COUNTER_CACHE_REDIS_SLOT_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "cache/redis/redirect.h"
#include "cache/redis/reply.h"
#include "cache/redis/slot.h"

namespace counter::redis {

class SlotMap {
 public:
  // Owners that a map may name; a cluster of Redis has 1000 nodes at most, replicas among them.
  static constexpr size_t kOwnersMax = 500;

  // What the reply to CLUSTER SLOTS says, which came from `from`: a node without a host has that
  // one. The error says what is wrong with it.
  static absl::StatusOr<SlotMap> Read(const Reply& reply, const Node& from);

  // Requires 0 <= slot < kSlots.
  const Node& OwnerOf(int slot) const { return owners_[owner_of_[static_cast<size_t>(slot)]]; }
  // Numbers the owners: two slots have the same if they have one owner.
  size_t OwnerIndexOf(int slot) const { return owner_of_[static_cast<size_t>(slot)]; }
  // Each once. One that has lost its last slot by Assign is among them no more.
  std::vector<Node> Owners() const;
  SlotSet SlotsOf(const Node& node) const;

  // Gives one slot to `node`; false, and nothing changes, if that would be an owner too many.
  // Requires 0 <= slot < kSlots.
  bool Assign(int slot, const Node& node);

  // The slots whose owners differ.
  static SlotSet Difference(const SlotMap& a, const SlotMap& b);

 private:
  SlotMap() : owner_of_(kSlots, kNobody) {}
  static constexpr uint16_t kNobody = 0xFFFF;

  // Where in owners_ `node` stands, which it is added to if it is not there. Absent: no room.
  bool IndexOf(const Node& node, uint16_t& index);

  std::vector<Node> owners_;        // Also those that own nothing any more.
  std::vector<uint16_t> owner_of_;  // Of each slot, in owners_.
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_SLOT_MAP_H_
