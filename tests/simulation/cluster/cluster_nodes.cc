#include "tests/simulation/cluster/cluster_nodes.h"

#include "absl/strings/str_cat.h"

namespace counter::simulation::cluster {
namespace {

using redis::Reply;

Reply Refusal(absl::string_view word, int item, int node) {
  return {
      Reply::Kind::kError,
      0,
      absl::StrCat(word, " ", kSlotOf[static_cast<size_t>(item)], " ", redis::ToText(NodeOf(node))),
      {}};
}

}  // namespace

Reply ClusterNodes::Say(int number, int item, bool asking, absl::Duration now) const {
  const Node& one = nodes_[At(number)];
  const Owners& owners = SeenBy(number);
  if (one.cut_off_at.has_value() && now - *one.cut_off_at >= kNodeTimeout)
    return {Reply::Kind::kError, 0, "CLUSTERDOWN The cluster is down", {}};
  const int target = moves_to_[At(item)];
  if (owners[At(item)] != number) {
    if (asking && target == number) return {};
    return Refusal("MOVED", item, owners[At(item)]);
  }
  const bool is_there = one.cells[At(item)].ends_at > now;
  if (target != kNobody && !is_there) return Refusal("ASK", item, target);
  return {};
}

const Owners& ClusterNodes::SeenBy(int number) const {
  const Node& one = nodes_[At(number)];
  return one.cut_off_at.has_value() ? one.owners_seen : owners_;
}

Redis::Standing& ClusterNodes::Cell(int number, int item, absl::Duration now) {
  Redis::Standing& standing = nodes_[At(number)].cells[At(item)];
  if (standing.ends_at <= now) standing = {};
  return standing;
}

void ClusterNodes::CatchUp(int shard, absl::Duration now) {
  Node& master = nodes_[At(master_of(shard))];
  Node& replica = nodes_[At(replica_of(shard))];
  if (!master.running || master.cut_off_at.has_value() || !replica.running) return;
  if (replica.cut_off_at.has_value()) return;
  replica.cells = master.cells;
  caught_up_at_[At(shard)] = now;
}

void ClusterNodes::FailOver(int shard) {
  const int former = master_of(shard);
  masters_[At(shard)] = PartnerOf(former);
  for (int item = 0; item < kItems; ++item) {
    const bool was_owner = owners_[At(item)] == former;
    // A replica knows of no slot that is on its way.
    if (was_owner || moves_to_[At(item)] == former) moves_to_[At(item)] = kNobody;
    if (was_owner) owners_[At(item)] = master_of(shard);
  }
}

void ClusterNodes::Rejoin(int shard, absl::Duration now) {
  Node& replica = nodes_[At(replica_of(shard))];
  if (!replica.running) ++replica.run;
  replica.running = true;
  replica.cut_off_at.reset();
  CatchUp(shard, now);
}

void ClusterNodes::Restart(int number, bool with_file, absl::Duration now) {
  Node& one = nodes_[At(number)];
  one.cells = with_file ? one.file : Cells{};
  ++one.run;
  one.started = now;
}

void ClusterNodes::MoveKey(int item) {
  const int target = moves_to_[At(item)];
  Redis::Standing& standing = nodes_[At(owners_[At(item)])].cells[At(item)];
  // MIGRATE refuses to overwrite what is there already.
  Redis::Standing& there = nodes_[At(target)].cells[At(item)];
  if (standing.cell.kind != CountCell::Kind::kAbsent && there.cell.kind == CountCell::Kind::kAbsent)
    there = standing;
  standing = {};
}

void ClusterNodes::EndMove(int item) {
  MoveKey(item);
  owners_[At(item)] = moves_to_[At(item)];
  moves_to_[At(item)] = kNobody;
}

}  // namespace counter::simulation::cluster
