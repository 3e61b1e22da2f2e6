#include "tests/simulation/cluster/cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace counter::simulation::cluster {
namespace {

constexpr int kSteps = 100;
constexpr absl::Duration kOutboxAge = absl::Seconds(2);
constexpr absl::Duration kBound = absl::Seconds(5);
// How far replicas lag at most.
constexpr absl::Duration kReplicaLagMax = absl::Seconds(1);
// What servers have put is remembered for this; they notice a loss within less than the latter.
constexpr absl::Duration kPutsRemembered = absl::Seconds(10);
constexpr absl::Duration kNoticedWithin = absl::Seconds(3);
constexpr absl::Duration kMadeGoodWithin = absl::Seconds(5);

}  // namespace

ClusterWorld::ClusterWorld(uint64_t seed, const Decisions& decisions, const Faults& faults,
                           bool traced)
    : random_(seed), decisions_(decisions), faults_(faults), judge_(store_, kBound, traced) {
  fails_over_at_.fill(absl::InfiniteDuration());
  lost_at_.fill(-absl::InfiniteDuration());
  for (auto& server : servers_) {
    server = std::make_unique<Server>();
    server->believed_since.fill(-absl::InfiniteDuration());
    for (const int owner : {0, 1, 2}) {
      server->linked[At(owner)] = true;
      server->run_seen[At(owner)] = 0;
    }
  }
}

ClusterOutcome ClusterWorld::Run() {
  for (int step = 0; step < kSteps && !judge_.has_ruled(); ++step) Step();
  if (!judge_.has_ruled()) ComeToRest();
  return {judge_.TakeOutcome(), met_};
}

void ClusterWorld::Step() {
  const uint64_t what = Random(100);
  if (what < 20) {
    BeginCall();
  } else if (what < 50) {
    if (!open_.empty()) GoOn(open_[Random(open_.size())]);
  } else if (what < 76) {
    if (!words_.empty()) Deliver(Random(words_.size()), faults_.losses && Chance(10));
  } else if (what < 78) {
    if (faults_.losses && !words_.empty()) Lose(Random(words_.size()));
  } else if (what < 84) {
    Break();
  } else if (what < 89) {
    const int shard = Pick(kShards);
    nodes_.CatchUp(shard, now_);
    if (Chance(60)) nodes_.Save(nodes_.master_of(shard));
  } else if (what < 92) {
    Pass(absl::Milliseconds(500 + Random(Chance(25) ? 20'000 : 3000)));
  } else {
    Pass(absl::Milliseconds(1 + Random(30)));
  }
}

// ---- Faults ------------------------------------------------------------------------------------

// One of those that the schedule may hold.
void ClusterWorld::Break() {
  std::array<void (ClusterWorld::*)(), 6> breaks = {};
  size_t count = 0;
  if (faults_.evictions) breaks[count++] = &ClusterWorld::Evict;
  if (faults_.crashes) breaks[count++] = &ClusterWorld::CrashOne;
  if (faults_.failovers) breaks[count++] = &ClusterWorld::BreakMaster;
  if (faults_.restarts) breaks[count++] = &ClusterWorld::Restart;
  // A slot moves in three steps.
  for (int i = 0; i < 2; ++i)
    if (faults_.migrations) breaks[count++] = &ClusterWorld::Move;
  if (count > 0) (this->*breaks[Random(count)])();
}

void ClusterWorld::Evict() {
  const int item = Pick(kItems);
  Trace([&] { return absl::StrCat("the count of ", item, " dies"); });
  nodes_.node(nodes_.owners()[At(item)]).cells[At(item)] = {};
}

void ClusterWorld::Crash(int number) {
  Server& server = ServerAt(number);
  Trace([&] { return absl::StrCat("server ", number, " crashes"); });
  for (size_t i = words_.size(); i-- > 0;) {
    if (words_[i].server == number && Chance(50)) Lose(i);
  }
  for (Word& word : words_) {
    if (word.server != number) continue;
    word.server = word.call = kNobody;
  }
  std::erase_if(open_, [&](int index) { return calls_[At(index)].server == number; });
  for (Call& call : calls_)
    if (call.server == number) call.stage = Stage::kEnded;
  // What only it knew it had to put again is not put again: the time to live is the bound then.
  for (int item = 0; item < kItems; ++item) {
    const bool may_not_have_noticed = now_ - lost_at_[At(item)] < kPutsRemembered;
    if (server.owed_for_loss[At(item)] || may_not_have_noticed)
      judge_.Excuse(item, absl::InfiniteDuration());
  }
  servers_[At(number)] = std::make_unique<Server>();
  ServerAt(number).believed_since.fill(-absl::InfiniteDuration());
  // It asks for the map before it serves.
  ServerAt(number).owners = nodes_.owners();
  Connect(number);
  Install(number, nodes_.owners());
  crashed_at_ = now_;
}

// Nodes between which a slot moves do not fail here: what was put into it by then may be lost
// unnoticed, since the map does not say yet where it was put (docs/contract.md).
bool ClusterWorld::IsMoving(int node) const {
  for (int item = 0; item < kItems; ++item) {
    const int target = nodes_.moves_to(item);
    if (target == node || (target != kNobody && nodes_.owners()[At(item)] == node)) return true;
  }
  return false;
}

// A master dies, or is cut off from the others: after a while its replica takes over.
void ClusterWorld::BreakMaster() {
  const int shard = Pick(kShards);
  const int number = nodes_.master_of(shard);
  ClusterNodes::Node& master = nodes_.node(number);
  const ClusterNodes::Node& replica = nodes_.node(nodes_.replica_of(shard));
  // Most of the three masters elect who takes over: there is none while two are away.
  for (int other = 0; other < kShards; ++other) {
    const ClusterNodes::Node& one = nodes_.node(nodes_.master_of(other));
    if (!one.running || one.cut_off_at.has_value()) return;
  }
  if (!replica.running || replica.cut_off_at.has_value() || IsMoving(number)) return;
  const bool dies = Chance(50);
  Trace([&] { return absl::StrCat("master ", number, dies ? " dies" : " is cut off"); });
  if (dies) {
    master.running = false;
    Unlink(number);
  } else {
    master.owners_seen = nodes_.owners();
    master.cut_off_at = now_;
  }
  fails_over_at_[At(shard)] = now_ + kNodeTimeout + absl::Milliseconds(Random(1000));
}

// What of the shard's slots was put and is gone shows as it was, until it is put again.
void ClusterWorld::ForgetItemsOf(int shard) {
  for (int item = 0; item < kItems; ++item) {
    if (!nodes_.Owns(shard, item)) continue;
    judge_.RedisForgot(item);
    lost_at_[At(item)] = now_;
    const absl::Duration behind = now_ - nodes_.caught_up_at(shard);
    const bool is_remembered =
        behind + kNoticedWithin < kPutsRemembered && now_ - crashed_at_ > behind + kNoticedWithin;
    judge_.Excuse(item, is_remembered ? now_ + kMadeGoodWithin : absl::InfiniteDuration());
  }
}

void ClusterWorld::FailOver(int shard) {
  ++met_.failovers;
  fails_over_at_[At(shard)] = absl::InfiniteDuration();
  Trace([&] { return absl::StrCat("node ", nodes_.replica_of(shard), " takes over"); });
  ForgetItemsOf(shard);
  nodes_.FailOver(shard);
}

// A node starts again at once, before anybody replaces it.
void ClusterWorld::Restart() {
  const int shard = Pick(kShards);
  const int number = nodes_.master_of(shard);
  const ClusterNodes::Node& master = nodes_.node(number);
  if (!master.running || master.cut_off_at.has_value() || IsMoving(number)) return;
  const bool with_file = Chance(80);
  Trace([&] {
    return absl::StrCat("node ", number, " starts again", with_file ? " from a file" : "");
  });
  Unlink(number);
  for (int item = 0; item < kItems; ++item) {
    if (!nodes_.Owns(shard, item)) continue;
    judge_.RedisForgot(item);
    lost_at_[At(item)] = now_;
    // What was put in the last second before the start may be believed, of a file: it is put again.
    const bool is_remembered = now_ - crashed_at_ > kPutsRemembered;
    judge_.Excuse(item, is_remembered ? now_ + kMadeGoodWithin : absl::InfiniteDuration());
  }
  nodes_.Restart(number, with_file, now_);
}

// A slot is on its way to the master of another shard.
void ClusterWorld::Move() {
  const int item = Pick(kItems);
  const int owner = nodes_.owners()[At(item)];
  const int target = nodes_.moves_to(item);
  const auto is_well = [&](int number) {
    return nodes_.node(number).running && !nodes_.node(number).cut_off_at.has_value();
  };
  if (target == kNobody) {
    const int shard = Pick(kShards);
    if (nodes_.master_of(shard) == owner || !is_well(owner) || !is_well(nodes_.master_of(shard)))
      return;
    Trace([&] { return absl::StrCat("slot of ", item, " begins to move"); });
    return nodes_.BeginMove(item, shard);
  }
  if (!is_well(owner) || !is_well(target)) return;
  const bool ends = Chance(50);
  Trace([&] { return absl::StrCat("slot of ", item, ends ? " has moved" : ": its key moves"); });
  if (ends)
    nodes_.EndMove(item);
  else
    nodes_.MoveKey(item);
}

// ---- Time --------------------------------------------------------------------------------------

void ClusterWorld::Pass(absl::Duration duration) {
  const absl::Duration until = now_ + duration;
  while (now_ < until && !judge_.has_ruled()) {
    now_ = std::min(next_tick_, until);
    for (int shard = 0; shard < kShards; ++shard)
      if (fails_over_at_[At(shard)] <= now_) FailOver(shard);
    for (int server = 0; server < kServers; ++server) Watch(server);
    if (now_ < next_tick_) continue;
    next_tick_ += kTick;
    Tick();
  }
}

// What servers do each second: they put again what they owe, and sweep the outbox. The words arrive
// at once or are lost. Replicas catch up, if late.
void ClusterWorld::Tick() {
  Heal();
  for (int number = 0; number < kServers; ++number) {
    BeatHearts(number);
    for (int item = 0; item < kItems; ++item)
      if (ServerAt(number).owed[At(item)]) SendPut(Word::Kind::kPutAgain, number, item, kNobody, 0);
  }
  const int sweeper = Pick(kServers);
  for (int item = 0; item < kItems; ++item) {
    const auto is_due = [&](const OutboxEntry& row) {
      return row.item == item && row.at <= now_ - kOutboxAge;
    };
    if (std::any_of(outbox_.begin(), outbox_.end(), is_due))
      SendPut(Word::Kind::kSweep, sweeper, item, kNobody, 0);
  }
  for (size_t i = words_.size(); i-- > 0;) {
    const Word::Kind kind = words_[i].kind;
    if (kind != Word::Kind::kSweep && kind != Word::Kind::kPutAgain) continue;
    const bool is_lost = faults_.losses && Chance(10);
    for (int hop = 0; !is_lost && hop < 6 && i < words_.size() && words_[i].kind == kind; ++hop) {
      const size_t before = words_.size();
      Deliver(i, false);
      if (words_.size() < before) break;
    }
    if (is_lost) Lose(i);
  }
}

void ClusterWorld::Heal() {
  for (int shard = 0; shard < kShards; ++shard) {
    if (now_ - nodes_.caught_up_at(shard) >= kReplicaLagMax) nodes_.CatchUp(shard, now_);
    const ClusterNodes::Node& former = nodes_.node(nodes_.replica_of(shard));
    if (former.running && !former.cut_off_at.has_value()) continue;
    if (fails_over_at_[At(shard)] == absl::InfiniteDuration() && Chance(30)) {
      if (!former.running) Unlink(nodes_.replica_of(shard));
      nodes_.Rejoin(shard, now_);
    }
  }
}

void ClusterWorld::ComeToRest() {
  Trace([&] { return std::string("comes to rest"); });
  for (int i = 0; i < 200 && !words_.empty(); ++i) Deliver(words_.size() - 1, false);
  for (const int index : open_) calls_[At(index)].given_up = true;
  Pass(absl::Seconds(15));
  for (int i = 0; i < 200 && !words_.empty(); ++i) Deliver(words_.size() - 1, false);
  Pass(absl::Seconds(6));
  if (judge_.has_ruled()) return;
  Redis seen;
  for (int item = 0; item < kItems; ++item) {
    const Redis::Standing& standing = nodes_.Cell(nodes_.owners()[At(item)], item, now_);
    // What is not believed is a miss.
    const bool is_believed = std::all_of(servers_.begin(), servers_.end(), [&](const auto& one) {
      return standing.cell.read_at >= Wall(one->believed_since[At(item)]);
    });
    if (is_believed || !decisions_.doubts_old_files) seen.counts[At(item)] = standing;
  }
  for (auto& of_user : seen.recent) of_user = {};
  judge_.AtRest(seen, now_);
}

ClusterOutcome Play(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced) {
  return ClusterWorld(seed, decisions, faults, traced).Run();
}

}  // namespace counter::simulation::cluster
