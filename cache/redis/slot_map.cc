#include "cache/redis/slot_map.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace counter::redis {
namespace {

constexpr size_t kHostBytesMax = 255;  // As a name in DNS.

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("refused a map of the slots: ", why));
}

bool ReadSlot(const Reply& reply, int& slot) {
  if (!reply.is_integer() || reply.integer < 0 || reply.integer >= kSlots) return false;
  slot = static_cast<int>(reply.integer);
  return true;
}

// [host, port, id, ...]; the host is nil or empty where the node does not know how it is reached.
bool ReadNode(const Reply& reply, const Node& from, Node& node) {
  if (!reply.is_array() || reply.elements.size() < 2) return false;
  const Reply& host = reply.elements[0];
  const Reply& port = reply.elements[1];
  if (!host.is_nil() && !host.is_text()) return false;
  // "?" stands for a name that was not configured.
  if (host.text == "?" || host.text.size() > kHostBytesMax) return false;
  if (!port.is_integer() || port.integer < 1 || port.integer > 65'535) return false;
  node.host = host.text.empty() ? from.host : host.text;
  node.port = static_cast<uint16_t>(port.integer);
  return true;
}

}  // namespace

absl::StatusOr<SlotMap> SlotMap::Read(const Reply& reply, const Node& from) {
  if (!reply.is_array()) return Refuse("it is no list");
  SlotMap map;
  for (const Reply& range : reply.elements) {
    int first = 0;
    int last = 0;
    Node node;
    if (!range.is_array() || range.elements.size() < 3 || !ReadSlot(range.elements[0], first) ||
        !ReadSlot(range.elements[1], last) || last < first) {
      return Refuse("a range is none");
    }
    if (!ReadNode(range.elements[2], from, node)) return Refuse("an owner has no place");
    uint16_t owner = 0;
    if (!map.IndexOf(node, owner)) {
      return Refuse(absl::StrCat("it names more than ", kOwnersMax, " owners"));
    }
    for (int slot = first; slot <= last; ++slot) {
      uint16_t& owner_of = map.owner_of_[static_cast<size_t>(slot)];
      if (owner_of != kNobody) return Refuse(absl::StrCat("slot ", slot, " has two owners"));
      owner_of = owner;
    }
  }
  const auto hole = std::find(map.owner_of_.begin(), map.owner_of_.end(), kNobody);
  if (hole != map.owner_of_.end()) {
    return Refuse(absl::StrCat("slot ", hole - map.owner_of_.begin(), " has no owner"));
  }
  return map;
}

std::vector<Node> SlotMap::Owners() const {
  std::vector<bool> owns(owners_.size());
  for (const uint16_t owner : owner_of_) owns[owner] = true;
  std::vector<Node> owners;
  for (size_t i = 0; i < owners_.size(); ++i) {
    if (owns[i]) owners.push_back(owners_[i]);
  }
  return owners;
}

SlotSet SlotMap::SlotsOf(const Node& node) const {
  SlotSet slots;
  const auto found = std::find(owners_.begin(), owners_.end(), node);
  if (found == owners_.end()) return slots;
  const auto owner = static_cast<uint16_t>(found - owners_.begin());
  for (size_t slot = 0; slot < owner_of_.size(); ++slot) slots[slot] = owner_of_[slot] == owner;
  return slots;
}

bool SlotMap::Assign(int slot, const Node& node) {
  uint16_t owner = 0;
  if (!IndexOf(node, owner)) return false;
  owner_of_[static_cast<size_t>(slot)] = owner;
  return true;
}

SlotSet SlotMap::Difference(const SlotMap& a, const SlotMap& b) {
  SlotSet slots;
  for (int slot = 0; slot < kSlots; ++slot) {
    slots[static_cast<size_t>(slot)] = a.OwnerOf(slot) != b.OwnerOf(slot);
  }
  return slots;
}

bool SlotMap::IndexOf(const Node& node, uint16_t& index) {
  const auto found = std::find(owners_.begin(), owners_.end(), node);
  if (found == owners_.end() && owners_.size() >= kOwnersMax) return false;
  index = static_cast<uint16_t>(found - owners_.begin());
  if (found == owners_.end()) owners_.push_back(node);
  return true;
}

}  // namespace counter::redis
