// What servers know of the cluster, as cache/redis/servers.cc keeps it: which node is asked, what a
// refusal changes, when the map is asked for, and what may have been lost.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cache/redis/greeting.h"
#include "tests/simulation/cluster/cluster.h"

namespace counter::simulation::cluster {
namespace {

// Node 2 owns all the other slots.
bool IsOwner(const Server& server, int node) {
  return server.owners[0] == node || server.owners[1] == node || node == 2;
}

}  // namespace

Journey ClusterWorld::Begin(int server, int item) {
  Journey journey;
  journey.node = ServerAt(server).owners[At(item)];
  return journey;
}

bool ClusterWorld::Reaches(int server, int item, Journey& journey) {
  Server& one = ServerAt(server);
  const int number = journey.node;
  if (!nodes_.node(number).running || !one.linked[At(number)]) {
    one.refresh.Want();
    journey.node = kNobody;
    return false;
  }
  // As Servers::SendLeg.
  if (journey.asking) BelieveOf(server, number, item);
  const redis::Reply reply = nodes_.Say(number, item, journey.asking, now_);
  if (!reply.is_error()) return true;
  OnRefused(server, item, reply, journey);
  return false;
}

// As Servers::OnLeg.
void ClusterWorld::OnRefused(int server, int item, const redis::Reply& reply, Journey& journey) {
  Server& one = ServerAt(server);
  if (journey.request == nullptr) {
    redis::Commands commands;
    commands.Add({"PUT"}, kSlotOf[At(item)]);
    journey.request = std::make_shared<redis::RoutedRequest>(std::move(commands));
    journey.leg = journey.request->Begin(ClusterMaps::All().Of(one.owners)).front();
  }
  std::vector<redis::Reply> replies(journey.leg.asking ? 2 : 1, reply);
  redis::RoutedRequest::News news = journey.request->OnAnswer(journey.leg, std::move(replies));
  for (const auto& [slot, node] : news.moved) {
    if (one.owners[At(item)] == NumberOf(node) || !decisions_.refreshes_map) continue;
    one.owners = ClusterMaps::All().Assigned(one.owners, item, NumberOf(node));
    one.moved[At(item)] = true;
    if (one.linked[At(NumberOf(node))]) BelieveOf(server, NumberOf(node), item);
  }
  if (news.doubts_map) one.refresh.Want();
  journey.node = kNobody;
  if (news.next.empty() || !decisions_.follows_redirections) return;
  ++met_.redirected;
  journey.leg = news.next.front();
  journey.node = NumberOf(journey.leg.node);
  journey.asking = journey.leg.asking && decisions_.asks_before_asking;
  // A connection to a node that was not asked before is made at once, or the command is lost.
  Server& asker = ServerAt(server);
  if (asker.linked[At(journey.node)] || !nodes_.node(journey.node).running || !Chance(80)) return;
  asker.linked[At(journey.node)] = true;
  asker.run_seen[At(journey.node)] = nodes_.node(journey.node).run;
}

// ---- Links -------------------------------------------------------------------------------------

// The node died or started anew: what was on its way to it is lost.
void ClusterWorld::Unlink(int node) {
  for (const auto& server : servers_) server->linked[At(node)] = false;
  for (size_t i = words_.size(); i-- > 0;)
    if (words_[i].journey.node == node) Lose(i);
}

// As Servers::OnReady and OnNewRun.
void ClusterWorld::Connect(int server) {
  Server& one = ServerAt(server);
  for (int number = 0; number < kNodes; ++number) {
    if (!IsOwner(one, number) || one.linked[At(number)]) continue;
    if (!nodes_.node(number).running || !Chance(80)) continue;
    one.linked[At(number)] = true;
    Believe(server, number);
    const int run = nodes_.node(number).run;
    const bool is_new_run = one.run_seen[At(number)].has_value() && one.run_seen[At(number)] != run;
    one.run_seen[At(number)] = run;
    if (!is_new_run || !decisions_.puts_again_on_new_run) continue;
    std::array<bool, kItems> lost{};
    for (int item = 0; item < kItems; ++item) lost[At(item)] = one.owners[At(item)] == number;
    TellLoss(server, lost);
  }
}

void ClusterWorld::Believe(int server, int node) {
  for (int item = 0; item < kItems; ++item)
    if (ServerAt(server).owners[At(item)] == node) BelieveOf(server, node, item);
}

// What stands on a node and was read before the node started is of a file. Redis tells its age in
// whole seconds, and the earliest start that fits is taken.
void ClusterWorld::BelieveOf(int server, int node, int item) {
  const absl::Duration started =
      nodes_.node(node).started - absl::Milliseconds(static_cast<int64_t>(Random(1000)));
  absl::Duration& since = ServerAt(server).believed_since[At(item)];
  since = std::max(since, started);
}

void ClusterWorld::TellLoss(int server, const std::array<bool, kItems>& items) {
  Server& one = ServerAt(server);
  for (const Item& put : one.recent_puts.Since(Monotonic(now_))) {
    const int item = static_cast<int>(put.id) - 1;
    if (!items[At(item)]) continue;
    ++met_.put_again;
    one.owed[At(item)] = one.owed_for_loss[At(item)] = true;
  }
}

// Each second a key of the node's own slots is written to.
void ClusterWorld::BeatHearts(int server) {
  Server& one = ServerAt(server);
  for (int item = 0; item < kItems; ++item) {
    const int owner = one.owners[At(item)];
    if (!decisions_.hears_heartbeats || !one.linked[At(owner)] || !nodes_.node(owner).running)
      continue;
    const redis::Reply reply = nodes_.Say(owner, item, false, now_);
    if (redis::SaysNotOwner(reply)) one.refresh.Want();
  }
}

// ---- The map -----------------------------------------------------------------------------------

// As Servers::Watch.
void ClusterWorld::Watch(int server) {
  Server& one = ServerAt(server);
  Connect(server);
  for (const int owner : one.owners)
    if (!one.linked[At(owner)]) one.refresh.Want();
  if (decisions_.refreshes_map && Monotonic(now_) >= one.refresh.due_at()) AskForMap(server);
}

void ClusterWorld::AskForMap(int server) {
  Server& one = ServerAt(server);
  // In turn: one that is cut off knows no better.
  int asked = kNobody;
  for (int i = 1; i <= kNodes && asked == kNobody; ++i) {
    const int next = (one.asked_last + i) % kNodes;
    if (one.linked[At(next)] && nodes_.node(next).running) asked = next;
  }
  if (asked == kNobody) return;
  one.asked_last = asked;
  one.refresh.OnBegin(Monotonic(now_));
  one.refresh.OnEnd();
  if (faults_.losses && Chance(10))
    one.refresh.Want();
  else
    Install(server, nodes_.SeenBy(asked));
  const std::array<bool, kItems> moved = std::exchange(one.moved, {});
  if (decisions_.puts_again_on_new_owner) TellLoss(server, moved);
}

void ClusterWorld::Install(int server, const Owners& owners) {
  Server& one = ServerAt(server);
  if (owners != one.owners) {
    Trace([&] {
      return absl::StrCat("server ", server, " learns that ", owners[0], " and ", owners[1],
                          " own the slots");
    });
    const std::array<bool, kItems> differ = ClusterMaps::All().Difference(one.owners, owners);
    for (size_t item = 0; item < differ.size(); ++item) one.moved[item] |= differ[item];
    one.owners = ClusterMaps::OwnersIn(ClusterMaps::All().Of(owners));
  }
  for (int number = 0; number < kNodes; ++number) {
    if (IsOwner(one, number)) {
      if (one.linked[At(number)]) Believe(server, number);
      continue;
    }
    // The connection to a node that owns nothing is given up, and with it what was known of it.
    one.linked[At(number)] = false;
    one.run_seen[At(number)].reset();
  }
}

}  // namespace counter::simulation::cluster
