// What calls do: begin, commit, look, fill, find, answer.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/simulation.h"

namespace counter::simulation {

void Simulation::BeginCall() {
  if (open_.size() >= kCallsMax) return;
  Call call;
  // Half of the calls read counts.
  call.kind = static_cast<Kind>(std::min<uint64_t>(Random(6), 3));
  call.server = static_cast<int>(Random(kServers));
  call.user = static_cast<int>(Random(kUsers));
  call.item = static_cast<int>(Random(kItems));
  call.began_at = now_;
  open_.push_back(static_cast<int>(calls_.size()));
  calls_.push_back(call);
}

void Simulation::GoOn(int index) {
  Call& call = calls_[index];
  const bool is_write = call.kind == Kind::kLike || call.kind == Kind::kUnlike;
  if (call.stage == Stage::kBegun && is_write) {
    Commit(call, index);
  } else if (call.stage == Stage::kCommitted) {
    // Goes on when its write-through is acknowledged or the budget has passed.
    call.given_up = call.given_up || (faults_.losses && Chance(30));
    if (call.acknowledged || call.given_up) Answer(call);
  } else if (call.stage == Stage::kAnswered) {
    // The lane's next transaction takes the row away.
    std::erase_if(outbox_, [&](const OutboxRow& row) { return row.call == index; });
    call.stage = Stage::kEnded;
  } else if (call.stage == Stage::kBegun && call.kind == Kind::kGetCount) {
    Look(call);
  } else if (call.stage == Stage::kHoldsLease) {
    Fill(call);
  } else if (call.stage == Stage::kBegun) {
    FindLike(call);
  }
  if (call.stage == Stage::kEnded) std::erase(open_, index);
}

void Simulation::Commit(Call& call, int index) {
  const bool like = call.kind == Kind::kLike;
  const absl::Time now = Wall(now_);
  if (like && decisions_.like_believes_recent) {
    if (redis_.recent[call.user].Find(ItemOf(call.item), Monotonic(now_), {})) {
      Trace([&] { return absl::StrCat("like of ", call.item, " answered from recent likes"); });
      return Answer(call);
    }
  }
  if (like && !Reserve(call)) {
    call.stage = Stage::kEnded;
    return;
  }
  const Store::Applied applied = store_.Apply(call.user, call.item, like, now_);
  Trace([&] {
    return absl::StrCat("server ", call.server, like ? " likes " : " unlikes ", call.item, " of ",
                        call.user, ": version ", store_.version(call.item));
  });
  call.stage = Stage::kCommitted;
  outbox_.push_back({call.item, index, now_});
  SendPut(Message::Kind::kWriteThrough, call.server, call.item, index, 0, applied.delta);
  const int64_t version = store_.version(call.item);
  if (version == 0) return;  // An item that nobody ever liked has no facts.
  Message fact;
  fact.kind = Message::Kind::kFact;
  fact.server = call.server;
  fact.user = call.user;
  fact.item = call.item;
  fact.fact = {ItemOf(call.item), like, version, now};
  Send(fact);
}

void Simulation::Answer(Call& call) {
  const bool committed = call.stage == Stage::kCommitted;
  const bool fails = committed && !call.acknowledged && decisions_.fails_on_cache_error;
  judge_.Require(!fails, "D8: a durable write was answered with an error", now_);
  judge_.Answered(call, now_);
  call.stage = committed && call.acknowledged ? Stage::kAnswered : Stage::kEnded;
}

bool Simulation::Reserve(Call& call) {
  const bool answers = !faults_.losses || Chance(90);
  LikeWindow& window =
      answers ? redis_.windows[call.user] : servers_[call.server].fallback[call.user];
  const MonotonicTime now = Monotonic(now_);
  if (!window.IsOpen(now, kWindow)) window = {++last_window_, now + kWindow, 0};
  const bool granted = window.Reserve(1, kLikesMax) == 1;
  judge_.Require(window.used <= kLikesMax, "a window granted more than the limit", now_);
  judge_.Require(Between(now, window.ends_at) <= kWindow, "a window ends later than a window can",
                 now_);
  return granted;
}

void Simulation::Look(Call& call) {
  if (faults_.losses && Chance(5)) {
    call.stage = Stage::kEnded;  // The cache did not answer: the store does.
    return;
  }
  Redis::Standing& standing = redis_.counts[call.item];
  const CountGetStep step = decisions_.get(redis_.Cell(call.item, now_), ++last_token_);
  const bool reply_lost = faults_.losses && Chance(5);
  if (step.answer == CountLookup::Kind::kLease) {
    standing = {step.cell, now_ + kFillLeaseLife};
    call.token = last_token_;
    call.stage = reply_lost ? Stage::kEnded : Stage::kHoldsLease;
    Trace([&] { return absl::StrCat("lease ", call.token, " of ", call.item); });
    return;
  }
  if (step.answer == CountLookup::Kind::kHit) judge_.Shown(call.item, step.cell, now_);
  call.stage = Stage::kEnded;
}

void Simulation::Fill(Call& call) {
  SendPut(Message::Kind::kFill, call.server, call.item, -1, call.token, 0);
  call.stage = Stage::kEnded;
}

void Simulation::FindLike(Call& call) {
  call.stage = Stage::kEnded;
  const bool liked = store_.liked(call.user, call.item);
  // What is found is checked at rest; what is not found is read in the store and noted.
  if (!liked || redis_.recent[call.user].Find(ItemOf(call.item), Monotonic(now_), {})) return;
  Message fact;
  fact.kind = Message::Kind::kFact;
  fact.server = call.server;
  fact.user = call.user;
  fact.item = call.item;
  fact.fact = {ItemOf(call.item), true, store_.version(call.item), Wall(now_)};
  Send(fact);
}

}  // namespace counter::simulation
