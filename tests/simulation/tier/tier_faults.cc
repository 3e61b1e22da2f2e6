// What breaks, and what that excuses.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/simulation/tier/tier.h"

namespace counter::simulation::tier {

void Tier::Break() {
  const uint64_t what = world_.Random(100);
  if (what < 30) {
    if (!world_.faults.evictions) return;
    const int item = PickItem();
    world_.Note([&] { return absl::StrCat("the count of ", item, " dies"); });
    redis_[At(item)] = {};
  } else if (what < 42) {
    if (world_.faults.crashes) Crash(Pick(kServers));
  } else if (what < 50) {
    if (!world_.faults.losses) return;
    const int node = Pick(kNodes);
    world_.Note([&] { return absl::StrCat("connections to node ", node, " break"); });
    BreakLinks(node);
  } else if (what < 78) {
    if (world_.faults.replicas) TroubleStandby();
  } else if (what < 92) {
    if (world_.faults.failovers) FailOver();
  } else {
    ComeBack();
  }
}

// ---- Servers -----------------------------------------------------------------------------------

Server* Tier::OfLife(int life) { return all_servers_[At(life)].get(); }

void Tier::StartServer(int number) {
  const int life = static_cast<int>(all_servers_.size());
  all_servers_.push_back(std::make_unique<Server>(world_, number, life));
  servers_[At(number)] = all_servers_.back().get();
}

void Tier::Crash(int number) {
  Server& crashed = *servers_[At(number)];
  world_.Note([&] { return absl::StrCat("server ", number, " crashes"); });
  for (size_t i = messages_.size(); i-- > 0;)
    if (messages_[i].life == crashed.life && Chance(50)) Lose(i);
  for (Write& write : writes_)
    if (write.life == crashed.life) write.stage = Write::Stage::kEnded;
  std::erase_if(open_, [&](int index) { return writes_[At(index)].life == crashed.life; });
  judge_.Crashed(number);
  all_servers_[At(crashed.life)].reset();
  StartServer(number);
  // A server that has met nobody yet would believe an old primary: those are not there by then.
  for (int node = 0; node < kNodes; ++node) {
    if (node == world_.database.primary() || world_.database.node(node).in_recovery) continue;
    world_.database.node(node).running = false;
    BreakLinks(node);
  }
}

// Writes that were sent there end as unknown outcomes.
void Tier::BreakLinks(int node) {
  for (Server* server : servers_) server->Break(node);
  for (Write& write : writes_) {
    if (write.stage == Write::Stage::kSent && write.node == node)
      write.stage = Write::Stage::kEnded;
  }
  std::erase_if(open_, [&](int index) { return writes_[At(index)].stage == Write::Stage::kEnded; });
}

// ---- Standbys ----------------------------------------------------------------------------------

void Tier::TroubleStandby() {
  const int number = Pick(kNodes);
  if (number == world_.database.primary()) return;
  Database::Node& node = world_.database.node(number);
  if (!world_.database.Follows(number)) return;
  const uint64_t what = world_.Random(5);
  if (what < 2) {
    node.replays = !node.replays;
  } else if (what < 4) {
    node.receives = !node.receives;
  } else {
    node.running = false;
    BreakLinks(number);
  }
  world_.Note([&] {
    return absl::StrCat("standby ", number, node.running ? "" : " stops", ", receives ",
                        node.receives, ", replays ", node.replays);
  });
}

// Somebody brings back what is down or was left behind: as it was, or as a standby.
void Tier::ComeBack() {
  const int number = Pick(kNodes);
  Database& database = world_.database;
  if (number == database.primary() || database.Follows(number)) return;
  Database::Node& node = database.node(number);
  const bool all_follow = std::all_of(servers_.begin(), servers_.end(),
                                      [](const Server* one) { return one->follows(); });
  if (!node.in_recovery && !database.reachable(number) && Chance(50)) {
    // An old primary that comes back as it was. Who has not met its successor would believe it.
    if (!all_follow) return;
    world_.Note([&] { return absl::StrCat("the old primary ", number, " comes back as it was"); });
    node.running = true;
    node.cut = false;
    return;
  }
  world_.Note([&] { return absl::StrCat("node ", number, " is started or rebuilt"); });
  BreakLinks(number);
  if (database.StartStandby(number)) return;
  database.Rebuild(number, Pick(4));
  database.ChooseSynchronousStandby();
}

// ---- The primary -------------------------------------------------------------------------------

void Tier::FailOver() {
  Database& database = world_.database;
  const int former = database.primary();
  int chosen = database.synchronous_standby();
  if (!world_.is_synchronous) chosen = Pick(kNodes);
  if (chosen == kNone || chosen == former || !database.Follows(chosen)) return;
  // Whoever fails over stops the old primary first, or cuts it off.
  const bool is_cut = world_.faults.fences && Chance(40);
  if (is_cut) {
    database.node(former).cut = true;
  } else if (world_.faults.fences) {
    database.node(former).running = false;
    BreakLinks(former);
  }
  world_.Note([&] {
    return absl::StrCat("the primary ", former, is_cut ? " is cut off, " : " is given up, ", chosen,
                        " takes over");
  });
  BreakLinks(chosen);
  Pass(absl::Milliseconds(1 + world_.Random(200)));
  database.Promote(chosen, Chance(20), now());
  world_.Note([&] {
    int64_t lost = 0;
    for (const Record& record : database.records()) lost += record.lost_at == now() ? 1 : 0;
    return absl::StrCat(chosen, " has taken over, ", lost, " records are lost");
  });
  judge_.FailedOver();
  if (!world_.faults.fences) {
    // It is read-only: what is waited for there never ends well.
    for (Write& write : writes_) {
      if (write.stage == Write::Stage::kSent) write.stage = Write::Stage::kEnded;
    }
    std::erase_if(open_,
                  [&](int index) { return writes_[At(index)].stage == Write::Stage::kEnded; });
  }
  database.ChooseSynchronousStandby();
}

// The world is well from now on.
void Tier::Mend() {
  Database& database = world_.database;
  for (int number = 0; number < kNodes; ++number) {
    if (number == database.primary()) continue;
    Database::Node& node = database.node(number);
    if (!database.Follows(number)) {
      BreakLinks(number);
      if (!database.StartStandby(number)) database.Rebuild(number, 0);
    }
    node.receives = node.replays = true;
    database.Receive(number, 1000);
    database.Replay(number, 1000);
  }
  database.ChooseSynchronousStandby();
}

}  // namespace counter::simulation::tier
