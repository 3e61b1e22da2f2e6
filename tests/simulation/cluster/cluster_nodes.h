// ClusterNodes: a Redis Cluster of three masters and their replicas as values: what stands on each
// node, who owns which slot, and what a node says to a command.
//
// Threads: one. Ownership: values only.
#ifndef COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_NODES_H_
#define COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_NODES_H_

#include <array>
#include <cstddef>
#include <optional>

#include "absl/time/time.h"
#include "cache/redis/reply.h"
#include "tests/simulation/cluster/cluster_maps.h"
#include "tests/simulation/world.h"

namespace counter::simulation::cluster {

inline constexpr int kShards = 3;
inline constexpr int kNobody = -1;
// A master that has not heard of the others for so long serves no more, and they replace it.
inline constexpr absl::Duration kNodeTimeout = absl::Seconds(4);

class ClusterNodes {
 public:
  using Cells = std::array<Redis::Standing, kItems>;
  struct Node {
    Cells cells = {};
    Cells file = {};  // What it would start with.
    int run = 0;
    bool running = true;
    std::optional<absl::Duration> cut_off_at;  // From the other nodes; servers still reach it.
    Owners owners_seen = {};                   // By then.
    absl::Duration started = -absl::InfiniteDuration();
  };

  ClusterNodes() { caught_up_at_.fill(absl::ZeroDuration()); }

  Node& node(int number) { return nodes_[At(number)]; }
  const Node& node(int number) const { return nodes_[At(number)]; }
  const Owners& owners() const { return owners_; }
  int master_of(int shard) const { return masters_[At(shard)]; }
  int replica_of(int shard) const { return PartnerOf(masters_[At(shard)]); }
  bool Owns(int shard, int item) const { return owners_[At(item)] == master_of(shard); }
  int moves_to(int item) const { return moves_to_[At(item)]; }
  absl::Duration caught_up_at(int shard) const { return caught_up_at_[At(shard)]; }

  // What the node says to a command on the item's key: nothing of the cluster (it is carried out),
  // or where else to ask. Requires that the node runs.
  redis::Reply Say(int number, int item, bool asking, absl::Duration now) const;
  // Who owns what, as the node sees it.
  const Owners& SeenBy(int number) const;
  Redis::Standing& Cell(int number, int item, absl::Duration now);

  // ---- What happens.
  void CatchUp(int shard, absl::Duration now);
  // The replica of the shard takes over, without what it was not sent.
  void FailOver(int shard);
  // The former master comes back: as a replica.
  void Rejoin(int shard, absl::Duration now);
  // The node starts anew, at once: with what is in its file, or with nothing.
  void Restart(int number, bool with_file, absl::Duration now);
  void Save(int number) { nodes_[At(number)].file = nodes_[At(number)].cells; }
  void BeginMove(int item, int shard) { moves_to_[At(item)] = master_of(shard); }
  void MoveKey(int item);
  void EndMove(int item);

 private:
  static size_t At(int number) { return static_cast<size_t>(number); }
  static int PartnerOf(int number) { return (number + kShards) % kNodes; }

  std::array<Node, kNodes> nodes_;
  std::array<int, kShards> masters_ = {0, 1, 2};
  Owners owners_ = {0, 1};
  std::array<int, kItems> moves_to_ = {kNobody, kNobody};
  std::array<absl::Duration, kShards> caught_up_at_;
};

}  // namespace counter::simulation::cluster

#endif  // COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_NODES_H_
