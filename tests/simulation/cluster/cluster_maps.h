// ClusterMaps: the product's maps of the slots (slot_map.h) for every way in which the two slots of
// a schedule can be owned, and what differs between any two of them.
//
// A map of 16,384 slots is large beside a schedule of some hundred small steps. So each is read
// once from what CLUSTER SLOTS says, and what the real code answers about it is remembered.
//
// Threads: one at a time. Ownership: lives for ever.
#ifndef COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_MAPS_H_
#define COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_MAPS_H_

#include <array>
#include <map>
#include <utility>

#include "cache/redis/node.h"
#include "cache/redis/slot_map.h"
#include "tests/simulation/world.h"

namespace counter::simulation::cluster {

inline constexpr int kNodes = 6;
inline constexpr std::array<int, kItems> kSlotOf = {100, 6000};

// Which node owns the slot of each item.
using Owners = std::array<int, kItems>;

redis::Node NodeOf(int number);
int NumberOf(const redis::Node& node);

class ClusterMaps {
 public:
  static ClusterMaps& All();

  const redis::SlotMap& Of(const Owners& owners);
  // The owners as the map says them.
  static Owners OwnersIn(const redis::SlotMap& map);
  // After MOVED.
  Owners Assigned(const Owners& owners, int item, int node);
  // Of which items the owners differ.
  std::array<bool, kItems> Difference(const Owners& a, const Owners& b);

 private:
  std::map<Owners, redis::SlotMap> maps_;
  std::map<std::pair<Owners, Owners>, std::array<bool, kItems>> differences_;
};

}  // namespace counter::simulation::cluster

#endif  // COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_MAPS_H_
