#include "tests/simulation/tier/tier.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace counter::simulation::tier {
namespace {

constexpr int kSteps = 120;

}  // namespace

Tier::Tier(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced)
    : world_(seed, decisions, faults, traced),
      has_near_(world_.Chance(30)),
      judge_(world_, has_near_) {
  world_.Note([&] {
    return absl::StrCat(world_.is_synchronous ? "commits wait for a standby" : "asynchronous",
                        has_near_ ? ", near caches" : "");
  });
  for (int number = 0; number < kServers; ++number) StartServer(number);
  for (Server* server : servers_)
    while (!server->serves || !server->writer.ready()) server->Probe();
}

Outcome Tier::Run() {
  for (int step = 0; step < kSteps && !judge_.has_ruled(); ++step) Step();
  if (!judge_.has_ruled()) ComeToRest();
  return std::move(world_.outcome);
}

void Tier::Step() {
  const uint64_t what = world_.Random(100);
  if (what < 9) {
    BeginWrite();
  } else if (what < 23) {
    BeginRead();
  } else if (what < 40) {
    if (!open_.empty()) GoOn(open_[world_.Random(open_.size())]);
  } else if (what < 55) {
    (void)ReadFurther();
  } else if (what < 68) {
    if (!messages_.empty())
      Deliver(world_.Random(messages_.size()), world_.faults.losses && Chance(10));
  } else if (what < 70) {
    if (!messages_.empty() && world_.faults.losses) Lose(world_.Random(messages_.size()));
  } else if (what < 83) {
    Replicate();
  } else if (what < 89) {
    Break();
  } else if (what < 91) {
    Pass(absl::Milliseconds(500 + world_.Random(Chance(15) ? 20'000 : 2000)));
  } else {
    Pass(absl::Milliseconds(1 + world_.Random(40)));
  }
}

void Tier::Replicate() {
  const int node = Pick(kNodes);
  world_.database.Receive(node, 1 + Pick(3));
  if (Chance(60)) world_.database.Replay(node, 1 + Pick(3));
}

// ---- Time --------------------------------------------------------------------------------------

// In small steps where it matters: servers look at their connections each 100 ms, and at reads that
// are asked again each 10 ms.
void Tier::Pass(absl::Duration duration) {
  const absl::Duration until = now() + duration;
  const absl::Duration step = duration <= kProbeInterval     ? absl::Milliseconds(10)
                              : duration <= absl::Seconds(3) ? kProbeInterval
                                                             : absl::Seconds(1);
  while (now() < until && !judge_.has_ruled()) {
    const absl::Duration before = now();
    world_.clock.now = std::min(before + step, until);
    for (Server* server : servers_) {
      if (server->next_probe_at <= now()) {
        server->Probe();
        // Of the looks that a second has, as many as it takes.
        for (int i = 1; i < 10 && step > kProbeInterval && !server->knows_failover(); ++i)
          server->Probe();
        server->next_probe_at = now() + kProbeInterval;
      }
      LetRead(*server, step);
    }
    if (!world_.faults.losses)
      while (!messages_.empty()) Deliver(0, false);
    EndOverdue();
    if (now() < next_tick_) continue;
    next_tick_ = now() + kTick;
    Sweep();
  }
}

// Reads do not stand while time goes on, but for those whose node does not answer.
void Tier::LetRead(Server& server, absl::Duration duration) {
  constexpr absl::Duration kReadTick = absl::Milliseconds(10);
  constexpr int kTicksMax = 10;
  for (int i = 0; i < kTicksMax && duration >= kReadTick; ++i, duration -= kReadTick) {
    server.reads.Tick();
    if (i > 0) {
      for (const auto& replica : server.reads.replicas()) (void)replica->GoOn();
      (void)server.primary.GoOn();
    }
    if (server.reads.idle() && server.primary.idle()) return;
  }
}

void Tier::ComeToRest() {
  world_.Note([&] { return std::string("comes to rest"); });
  Mend();
  while (!messages_.empty()) Deliver(world_.Random(messages_.size()), false);
  Pass(absl::Seconds(4));
  for (int i = 0; i < 50 && !open_.empty(); ++i) {
    const int index = open_.front();
    Mend();
    writes_[At(index)].given_up = true;
    GoOn(index);
    if (i % 5 == 4) Pass(absl::Seconds(4));
  }
  while (!messages_.empty()) Deliver(messages_.size() - 1, false);
  Pass(absl::Seconds(12));
  for (int i = 0; i < 20 && ReadFurther(); ++i) continue;
  while (!messages_.empty()) Deliver(messages_.size() - 1, false);
  Pass(absl::Seconds(6));
  for (Server* server : servers_) {
    for (int item = 0; item < kItems && !judge_.has_ruled(); ++item) {
      ShownCount shown;
      const CountLookup lookup = Look(*server, item, shown);
      if (lookup.kind == CountLookup::Kind::kHit) judge_.AtRest(item, lookup.entry.version);
    }
  }
}

Outcome Play(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced) {
  return Tier(seed, decisions, faults, traced).Run();
}

}  // namespace counter::simulation::tier
