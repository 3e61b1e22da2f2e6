// What calls do, and what becomes of their words to the cluster.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cache/count_protocol.h"
#include "tests/simulation/cluster/cluster.h"

namespace counter::simulation::cluster {
namespace {

constexpr int kCallsMax = 5;  // At once.
constexpr absl::Duration kTtl = absl::Hours(1);

}  // namespace

void ClusterWorld::BeginCall() {
  if (open_.size() >= kCallsMax) return;
  Call call;
  call.kind = Chance(40) ? Kind::kLike : Chance(30) ? Kind::kUnlike : Kind::kGetCount;
  call.server = Pick(kServers);
  call.user = Pick(kUsers);
  call.item = Pick(kItems);
  call.began_at = now_;
  open_.push_back(static_cast<int>(calls_.size()));
  calls_.push_back(call);
}

void ClusterWorld::GoOn(int index) {
  Call& call = calls_[At(index)];
  if (call.stage == Stage::kBegun && call.kind == Kind::kGetCount) {
    Look(call);
  } else if (call.stage == Stage::kBegun) {
    Commit(call, index);
  } else if (call.stage == Stage::kCommitted) {
    // Goes on when its write-through is acknowledged or the budget has passed.
    call.given_up = call.given_up || (faults_.losses && Chance(30));
    if (!call.acknowledged && !call.given_up) return;
    judge_.Answered(call, now_);
    if (!call.acknowledged) ServerAt(call.server).owed[At(call.item)] = true;
    call.stage = call.acknowledged ? Stage::kAnswered : Stage::kEnded;
  } else if (call.stage == Stage::kAnswered) {
    // The lane's next transaction takes the row away.
    std::erase_if(outbox_, [&](const OutboxEntry& row) { return row.call == index; });
    call.stage = Stage::kEnded;
  } else if (call.stage == Stage::kHoldsLease) {
    SendPut(Word::Kind::kFill, call.server, call.item, kNobody, call.token);
    call.stage = Stage::kEnded;
  }
  if (call.stage == Stage::kEnded) std::erase(open_, index);
}

void ClusterWorld::Commit(Call& call, int index) {
  (void)store_.Apply(call.user, call.item, call.kind == Kind::kLike, now_);
  Trace([&] {
    return absl::StrCat("server ", call.server, " writes ", call.item, ": version ",
                        store_.version(call.item));
  });
  call.stage = Stage::kCommitted;
  outbox_.push_back({call.item, index, now_});
  SendPut(Word::Kind::kWriteThrough, call.server, call.item, index, 0);
}

void ClusterWorld::Look(Call& call) {
  call.stage = Stage::kEnded;  // Unless it gets a lease: the store answers what is not found.
  if (faults_.losses && Chance(5)) return;
  Journey journey = Begin(call.server, call.item);
  while (journey.node != kNobody && !Reaches(call.server, call.item, journey)) continue;
  if (journey.node == kNobody) return;
  Redis::Standing& standing = nodes_.Cell(journey.node, call.item, now_);
  const CountGetStep step = StepGet(standing.cell, ++last_token_);
  if (step.answer == CountLookup::Kind::kLease) {
    standing = {step.cell, now_ + kFillLeaseLife};
    call.token = last_token_;
    if (faults_.losses && Chance(5)) return;
    call.stage = Stage::kHoldsLease;
    Trace([&] {
      return absl::StrCat("lease ", call.token, " of ", call.item, " on node ", journey.node);
    });
  }
  if (step.answer != CountLookup::Kind::kHit) return;
  const absl::Duration since = ServerAt(call.server).believed_since[At(call.item)];
  if (decisions_.doubts_old_files && step.cell.read_at < Wall(since)) {
    // A miss: what the store says is put, and believed again.
    SendPut(Word::Kind::kFill, call.server, call.item, kNobody, 0);
    return;
  }
  Trace([&] { return absl::StrCat("server ", call.server, " reads node ", journey.node); });
  judge_.Shown(call.item, step.cell, now_);
}

// ---- Words -------------------------------------------------------------------------------------

void ClusterWorld::SendPut(Word::Kind kind, int server, int item, int call, FillToken token) {
  Word word;
  word.kind = kind;
  word.server = server;
  word.item = item;
  word.call = call;
  word.put = {{ItemOf(item), store_.count(item), store_.version(item), Wall(now_)}, token};
  word.sent_at = now_;
  word.journey = Begin(server, item);
  ServerAt(server).recent_puts.Note(ItemOf(item), Monotonic(now_));
  words_.push_back(std::move(word));
}

void ClusterWorld::Deliver(size_t index, bool reply_lost) {
  Word& on_its_way = words_[index];
  // A server that has crashed follows nothing; what it sent arrives where it was sent.
  if (on_its_way.server == kNobody) {
    const bool arrives =
        nodes_.node(on_its_way.journey.node).running &&
        !nodes_.Say(on_its_way.journey.node, on_its_way.item, false, now_).is_error();
    if (!arrives) return Lose(index);
  } else if (!Reaches(on_its_way.server, on_its_way.item, on_its_way.journey)) {
    if (on_its_way.journey.node == kNobody) Lose(index);
    return;  // It goes on from there.
  }
  const Word word = std::move(on_its_way);
  words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(index));
  Redis::Standing& standing = nodes_.Cell(word.journey.node, word.item, now_);
  const CountPutStep step = StepPut(standing.cell, word.put);
  Trace([&] {
    return absl::StrCat("put of ", word.item, " version ", word.put.entry.version, " token ",
                        word.put.token, " on node ", word.journey.node, ": effect ",
                        static_cast<int>(step.effect));
  });
  standing.cell = step.cell;
  if (step.effect == CountPutStep::Effect::kStored ||
      step.effect == CountPutStep::Effect::kRefreshed)
    standing.ends_at = now_ + kTtl;
  if (!reply_lost) Acknowledge(word);
}

void ClusterWorld::Acknowledge(const Word& word) {
  if (word.kind == Word::Kind::kWriteThrough && word.server != kNobody) {
    Call& call = calls_[At(word.call)];
    if (call.stage == Stage::kCommitted && !call.given_up) {
      call.acknowledged = true;
      judge_.Acknowledged(word.item, word.put.entry.version);
    }
  }
  if (word.kind == Word::Kind::kPutAgain && word.server != kNobody) {
    Server& server = ServerAt(word.server);
    server.owed[At(word.item)] = server.owed_for_loss[At(word.item)] = false;
  }
  if (word.kind == Word::Kind::kSweep) {
    std::erase_if(outbox_, [&](const OutboxEntry& row) {
      return row.item == word.item && row.at <= word.sent_at - absl::Seconds(2);
    });
  }
}

void ClusterWorld::Lose(size_t index) {
  const Word word = std::move(words_[index]);
  words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(index));
  // The next tick tries again.
  if (word.kind == Word::Kind::kSweep || word.kind == Word::Kind::kPutAgain)
    judge_.Excuse(word.item, now_ + 2 * kTick);
  if (word.call != kNobody) calls_[At(word.call)].given_up = true;
}

}  // namespace counter::simulation::cluster
