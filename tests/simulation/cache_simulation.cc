#include "tests/simulation/cache_simulation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/simulation.h"

namespace counter::simulation {

void Simulation::Step() {
  const uint64_t what = Random(100);
  if (what < 22) {
    BeginCall();
  } else if (what < 55 && !open_.empty()) {
    GoOn(open_[Random(open_.size())]);
  } else if (what < 82 && !messages_.empty()) {
    Deliver(Random(messages_.size()), faults_.losses && Chance(10));
  } else if (what < 85 && faults_.losses && !messages_.empty()) {
    Lose(Random(messages_.size()));
  } else if (what < 89 && faults_.evictions) {
    Evict();
  } else if (what < 90 && faults_.crashes) {
    Crash(static_cast<int>(Random(kServers)));
  } else if (what < 91 && faults_.failovers) {
    FailOver();
  } else if (what < 94) {
    CatchUp();
  } else if (what < 95 && faults_.losses) {
    Pass(absl::Milliseconds(Random(5) == 0 ? 70'000 : 2000));
  } else {
    Pass(absl::Milliseconds(1 + Random(30)));
  }
  if (!faults_.losses) DeliverOverdue();
}

// ---- Faults and time ---------------------------------------------------------------------------

void Simulation::Evict() {
  const auto chosen = static_cast<int>(Random(kItems + kUsers));
  if (chosen < kItems) {
    Trace([&] { return absl::StrCat("the count of ", chosen, " dies"); });
    redis_.counts[chosen] = {};
    return;
  }
  // With a set its traces are gone: a like that is on its way can come back.
  const int user = chosen - kItems;
  redis_.recent[user] = {};
  redis_.windows[user] = {};
  for (const Message& message : messages_) {
    if (message.kind == Message::Kind::kFact && message.user == user)
      judge_.FactLost(user, message.item);
  }
}

void Simulation::Crash(int server) {
  Trace([&] { return absl::StrCat("server ", server, " crashes"); });
  for (size_t i = messages_.size(); i-- > 0;) {
    if (messages_[i].server == server && Chance(50)) Lose(i);
  }
  for (Message& message : messages_) {
    if (message.server == server) message.call = -1;
  }
  std::erase_if(open_, [&](int index) { return calls_[index].server == server; });
  for (Call& call : calls_) {
    if (call.server == server) call.stage = Stage::kEnded;
  }
  // What only it knew it had to put again is not put again: the time to live is the bound then.
  for (const int item : servers_[server].to_put_again)
    judge_.Excuse(item, absl::InfiniteDuration());
  if (servers_[server].run_seen != run_) judge_.ExcuseAll(absl::InfiniteDuration());
  servers_[server] = {};
  servers_[server].run_seen = run_;
  crashed_at_ = now_;
}

void Simulation::FailOver() {
  Trace([&] { return "Redis fails over"; });
  redis_ = replica_;
  ++run_;
  // Commands of the old run's connections die with it.
  for (size_t i = messages_.size(); i-- > 0;) Lose(i);
  judge_.RedisForgot();
  judge_.ExcuseAll(now_ + 3 * kTick);
  if (now_ - crashed_at_ < absl::Seconds(120)) judge_.ExcuseAll(absl::InfiniteDuration());
}

void Simulation::Pass(absl::Duration duration) {
  const absl::Duration until = now_ + duration;
  while (next_tick_ <= until) {
    now_ = next_tick_;
    next_tick_ += kTick;
    Tick();
  }
  now_ = until;
}

// What every server does each second: see that Redis is another, sweep the outbox. The messages
// arrive at once or are lost.
void Simulation::Tick() {
  if (now_ - caught_up_at_ > kReplicaLagMax) CatchUp();
  for (int server = 0; server < kServers; ++server) {
    Server& one = servers_[server];
    if (std::exchange(one.run_seen, run_) != run_ && decisions_.puts_again_on_new_run) {
      for (const Item& item : one.recent_puts.Since(Monotonic(now_))) {
        one.to_put_again.push_back(static_cast<int>(item.id) - 1);
      }
    }
    const std::vector<int> to_put_again = one.to_put_again;
    for (const int item : to_put_again) {
      SendPut(Message::Kind::kPutAgain, server, item, -1, 0, 0);
    }
  }
  const auto sweeper = static_cast<int>(Random(kServers));
  for (int item = 0; item < kItems && decisions_.sweeps_outbox; ++item) {
    const auto is_due = [&](const OutboxRow& row) {
      return row.item == item && row.at <= now_ - kOutboxAge;
    };
    if (std::none_of(outbox_.begin(), outbox_.end(), is_due)) continue;
    SendPut(Message::Kind::kSweep, sweeper, item, -1, 0, 0);
  }
  for (size_t i = messages_.size(); i-- > 0;) {
    const Message::Kind kind = messages_[i].kind;
    if (kind != Message::Kind::kSweep && kind != Message::Kind::kPutAgain) continue;
    if (faults_.losses && Chance(10))
      Lose(i);
    else
      Deliver(i, false);
  }
}

void Simulation::ComeToRest() {
  Trace([&] { return "comes to rest"; });
  while (!messages_.empty()) {
    if (faults_.losses && Chance(20))
      Lose(messages_.size() - 1);
    else
      Deliver(Random(messages_.size()), faults_.losses && Chance(20));
  }
  // Whoever waits still gives up; then time passes until every tick has had its chance.
  for (const int index : open_) calls_[index].given_up = true;
  for (int i = 0; i < 15; ++i) Pass(kTick);
  judge_.AtRest(redis_, now_);
}

Outcome Play(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced) {
  return Simulation(seed, decisions, faults, traced).Run();
}

}  // namespace counter::simulation
