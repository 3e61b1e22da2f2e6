// What becomes of messages to Redis: they arrive late, in any order, or never.
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/simulation.h"

namespace counter::simulation {

void Simulation::Send(Message message) {
  message.run = run_;
  message.sent_at = now_;
  messages_.push_back(message);
}

// The item's count as the store has it now, on its way to Redis.
void Simulation::SendPut(Message::Kind kind, int server, int item, int call, FillToken token,
                         int64_t delta) {
  Message message;
  message.kind = kind;
  message.server = server;
  message.item = item;
  message.call = call;
  message.delta = delta;
  message.put = {{ItemOf(item), store_.count(item), store_.version(item), Wall(now_)}, token};
  servers_[server].recent_puts.Note(ItemOf(item), Monotonic(now_));
  Send(message);
}

void Simulation::Deliver(size_t index, bool reply_lost) {
  const Message message = messages_[index];
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  if (message.kind == Message::Kind::kFact)
    ArriveFact(message);
  else
    ArrivePut(message, reply_lost);
}

void Simulation::ArrivePut(const Message& message, bool reply_lost) {
  Redis::Standing& standing = redis_.counts[message.item];
  const CountCell before = redis_.Cell(message.item, now_);
  const CountPutStep step = decisions_.put(before, message.put, message.delta);
  Trace([&] {
    return absl::StrCat("put of ", message.item, " version ", message.put.entry.version, " token ",
                        message.put.token, ": effect ", static_cast<int>(step.effect));
  });
  const absl::Duration keeps = before.kind == CountCell::Kind::kAbsent ? now_ : standing.ends_at;
  standing = {step.cell, keeps};
  if (step.effect == CountPutStep::Effect::kStored ||
      step.effect == CountPutStep::Effect::kRefreshed) {
    standing.ends_at = now_ + kTtl;
  }
  if (!reply_lost) Acknowledge(message);
}

void Simulation::Acknowledge(const Message& message) {
  using Kind = Message::Kind;
  if (message.kind == Kind::kWriteThrough && message.call >= 0) {
    Call& call = calls_[message.call];
    // Nobody hears of it who has given up; and then the row of the outbox stays.
    if (call.stage == Stage::kCommitted && !call.given_up) {
      call.acknowledged = true;
      judge_.Acknowledged(message.item, message.put.entry.version);
    }
  }
  if (message.kind == Kind::kPutAgain) {
    std::erase(servers_[message.server].to_put_again, message.item);
  }
  if (message.kind == Kind::kSweep) {
    const absl::Duration taken_at = message.sent_at;
    std::erase_if(outbox_, [&](const OutboxRow& row) {
      return row.item == message.item && row.at <= taken_at - kOutboxAge;
    });
  }
}

void Simulation::ArriveFact(const Message& message) {
  const LikeFact fact = decisions_.fact(message.fact, Wall(now_));
  const MonotonicTime now = Monotonic(now_);
  const MonotonicTime verified = now + (fact.verified_at - Wall(now_));
  const RecentSetBounds bounds;
  RecentSet& set = redis_.recent[message.user];
  Trace([&] {
    return absl::StrCat("fact of ", message.user, " and ", message.item,
                        fact.liked ? ": liked at " : ": not liked at ", fact.item_version);
  });
  if (!fact.liked || !IsTooLate(verified, now, bounds)) set.Record(fact, verified, now);
  set.Trim(now, bounds);
}

void Simulation::Lose(size_t index) {
  const Message message = messages_[index];
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  if (message.kind == Message::Kind::kFact) judge_.FactLost(message.user, message.item);
  // The next tick tries again.
  if (message.kind == Message::Kind::kSweep || message.kind == Message::Kind::kPutAgain) {
    judge_.Excuse(message.item, now_ + 2 * kTick);
  }
  if (message.call >= 0) calls_[message.call].given_up = true;
}

void Simulation::DeliverOverdue() {
  for (size_t i = 0; i < messages_.size();) {
    if (now_ - messages_[i].sent_at > kAnswerBudget)
      Deliver(i, false);
    else
      ++i;
  }
}

}  // namespace counter::simulation
