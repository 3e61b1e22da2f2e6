#include "tests/simulation/cluster/cluster_maps.h"

#include <cstdint>
#include <string>

#include "cache/redis/reply.h"
#include "cache/redis/slot.h"

namespace counter::simulation::cluster {
namespace {

using redis::Reply;

constexpr uint16_t kFirstPort = 7000;

Reply Number(int64_t number) { return {Reply::Kind::kInteger, number, "", {}}; }

Reply Range(int first, int last, int node) {
  const redis::Node owner = NodeOf(node);
  Reply where = {Reply::Kind::kArray, 0, "", {}};
  where.elements = {{Reply::Kind::kText, 0, owner.host, {}}, Number(owner.port)};
  return {Reply::Kind::kArray, 0, "", {Number(first), Number(last), where}};
}

}  // namespace

redis::Node NodeOf(int number) { return {"10.0.0.1", static_cast<uint16_t>(kFirstPort + number)}; }
int NumberOf(const redis::Node& node) { return node.port - kFirstPort; }

ClusterMaps& ClusterMaps::All() {
  static ClusterMaps& all = *new ClusterMaps();
  return all;
}

const redis::SlotMap& ClusterMaps::Of(const Owners& owners) {
  const auto found = maps_.find(owners);
  if (found != maps_.end()) return found->second;
  Reply slots = {Reply::Kind::kArray, 0, "", {}};
  int next = 0;
  for (size_t item = 0; item < kSlotOf.size(); ++item) {
    slots.elements.push_back(Range(next, kSlotOf[item] - 1, 2));
    slots.elements.push_back(Range(kSlotOf[item], kSlotOf[item], owners[item]));
    next = kSlotOf[item] + 1;
  }
  slots.elements.push_back(Range(next, redis::kSlots - 1, 2));
  return maps_.emplace(owners, *redis::SlotMap::Read(slots, NodeOf(0))).first->second;
}

Owners ClusterMaps::OwnersIn(const redis::SlotMap& map) {
  Owners owners;
  for (size_t item = 0; item < owners.size(); ++item)
    owners[item] = NumberOf(map.OwnerOf(kSlotOf[item]));
  return owners;
}

Owners ClusterMaps::Assigned(const Owners& owners, int item, int node) {
  redis::SlotMap map = Of(owners);
  if (!map.Assign(kSlotOf[static_cast<size_t>(item)], NodeOf(node))) return owners;
  return OwnersIn(map);
}

std::array<bool, kItems> ClusterMaps::Difference(const Owners& a, const Owners& b) {
  const auto [found, is_new] = differences_.try_emplace({a, b});
  if (is_new) {
    const redis::SlotSet slots = redis::SlotMap::Difference(Of(a), Of(b));
    for (size_t item = 0; item < kSlotOf.size(); ++item)
      found->second[item] = slots[static_cast<size_t>(kSlotOf[item])];
  }
  return found->second;
}

}  // namespace counter::simulation::cluster
