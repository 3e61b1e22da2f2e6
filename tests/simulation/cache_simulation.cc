#include "tests/simulation/cache_simulation.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cache/redis/recent_puts.h"
#include "tests/simulation/world.h"

namespace counter::simulation {
namespace {

constexpr int kSteps = 100;
constexpr int kCallsMax = 5;  // At once.
constexpr absl::Duration kTtl = absl::Hours(1);
constexpr absl::Duration kAnswerBudget = absl::Milliseconds(20);
constexpr absl::Duration kOutboxAge = absl::Seconds(2);
constexpr absl::Duration kTick = absl::Seconds(1);  // Of sweeps and reconnects.
// Rule 6 remembers the puts of 10 s: a replica that lags further, and is promoted all the same, has
// lost more than anybody knows, and the time to live is the bound.
constexpr absl::Duration kReplicaLagMax = absl::Seconds(5);
// Nothing shown is older than this. With losses: a row of the outbox is swept 2 s old, at the next
// tick, within 5 s in all. Without: the write-through has arrived before the answer.
constexpr absl::Duration kBoundLossy = absl::Seconds(5);
constexpr absl::Duration kBoundCalm = absl::Seconds(1);

// One server: what it remembers, and what is lost when it crashes.
struct Server {
  redis::RecentPuts recent_puts{absl::Seconds(10), 1000};
  std::array<LikeWindow, kUsers> fallback = {};
  int run_seen = 0;
  std::vector<int> to_put_again;  // Items; until each is acknowledged.
};

struct OutboxRow {
  int item = 0;
  int call = 0;
  absl::Duration at;
};

class Simulation {
 public:
  Simulation(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced)
      : random_(seed), decisions_(decisions), faults_(faults), traced_(traced) {}

  Outcome Run() {
    for (int step = 0; step < kSteps && outcome_.violation.empty(); ++step) Step();
    if (outcome_.violation.empty()) ComeToRest();
    return std::move(outcome_);
  }

 private:
  using Kind = Call::Kind;
  using Stage = Call::Stage;

  uint64_t Random(uint64_t below) { return random_() % below; }
  bool Chance(uint64_t percent) { return Random(100) < percent; }
  // `text` is made only if somebody will read it.
  template <class Text>
  void Trace(Text text) {
    if (traced_) absl::StrAppend(&outcome_.trace, absl::FormatDuration(now_), " ", text(), "\n");
  }
  template <class... Parts>
  void Violate(const Parts&... parts) {
    if (outcome_.violation.empty()) outcome_.violation = absl::StrCat(parts...);
    Trace([&] { return absl::StrCat("VIOLATED: ", parts...); });
  }
  void Check(bool holds, absl::string_view what, int item) {
    if (!holds) Violate(what, ", item ", item);
  }

  void Step();
  void ComeToRest();

  // Calls.
  void BeginCall();
  void GoOn(int index);
  void Commit(Call& call, int index);
  void Answer(Call& call);
  void Look(Call& call);
  void Fill(Call& call);
  void FindLike(Call& call);
  bool Reserve(Call& call);

  // Messages.
  void Send(Message message);
  void SendPut(Message::Kind kind, int server, int item, int call, FillToken token, int64_t delta);
  void Deliver(size_t index, bool reply_lost);
  void ArrivePut(const Message& message, bool reply_lost);
  void ArriveFact(const Message& message);
  void Acknowledge(const Message& message);
  void Lose(size_t index);
  void DeliverOverdue();

  // Faults and time.
  void Evict();
  void Crash(int server);
  void FailOver();
  void CatchUp() {
    replica_ = redis_;
    caught_up_at_ = now_;
  }
  void Pass(absl::Duration duration);
  void Tick();

  void CheckHit(int item, const CountCell& cell);

  std::mt19937_64 random_;
  const Decisions& decisions_;
  const Faults faults_;
  const bool traced_;
  Outcome outcome_;

  absl::Duration now_;
  absl::Duration next_tick_ = kTick;
  Store store_;
  Redis redis_;
  Redis replica_;
  absl::Duration caught_up_at_;
  int run_ = 0;
  std::array<Server, kServers> servers_;
  std::vector<Call> calls_;  // All that ever were; an index names one.
  std::vector<int> open_;    // Of them, those that have not ended.
  std::vector<Message> messages_;
  std::vector<OutboxRow> outbox_;
  FillToken last_token_ = 0;
  uint64_t last_window_ = 0;

  // What was shown and acknowledged, by item.
  std::array<int64_t, kItems> seen_ = {};
  std::array<int64_t, kItems> acknowledged_ = {};
  // Until then an item may be shown older than the bound: a second fault hit what mends the first.
  std::array<absl::Duration, kItems> excused_until_ = {};
  absl::Duration crashed_at_ = -absl::InfiniteDuration();
  // Pairs of which a fact was lost: their like may be remembered too long, within its own bound.
  std::array<std::array<bool, kItems>, kUsers> fact_lost_ = {};
};

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

// ---- Calls -------------------------------------------------------------------------------------

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
  const bool like = call.kind == Kind::kLike;
  const bool committed = call.stage == Stage::kCommitted;
  if (committed && !call.acknowledged && decisions_.fails_on_cache_error) {
    Violate("D8: a durable write was answered with an error, item ", call.item);
  }
  const bool was = like ? store_.WasLikedSince(call.user, call.item, call.began_at)
                        : store_.WasUnlikedSince(call.user, call.item, call.began_at);
  Check(was, "an answer says what was not so at any instant of the call", call.item);
  call.stage = committed && call.acknowledged ? Stage::kAnswered : Stage::kEnded;
}

bool Simulation::Reserve(Call& call) {
  const bool answers = !faults_.losses || Chance(90);
  LikeWindow& window =
      answers ? redis_.windows[call.user] : servers_[call.server].fallback[call.user];
  const MonotonicTime now = Monotonic(now_);
  if (!window.IsOpen(now, kWindow)) window = {++last_window_, now + kWindow, 0};
  const bool granted = window.Reserve(1, kLikesMax) == 1;
  if (window.used > kLikesMax) Violate("a window granted more than the limit");
  if (Between(now, window.ends_at) > kWindow) Violate("a window ends later than a window can");
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
  if (step.answer == CountLookup::Kind::kHit) CheckHit(call.item, step.cell);
  call.stage = Stage::kEnded;
}

void Simulation::CheckHit(int item, const CountCell& cell) {
  ++outcome_.hits;
  Trace([&] { return absl::StrCat("shows ", item, ": ", cell.count, " at ", cell.version); });
  if (!store_.Held(item, cell.version, cell.count)) {
    return Violate("a count was shown that was never stored: ", cell.count, " at ", cell.version,
                   ", item ", item);
  }
  Check(cell.version >= seen_[item], "what is shown went back", item);
  Check(cell.version >= acknowledged_[item], "an acknowledged write is not shown", item);
  const absl::Duration bound = faults_.losses ? kBoundLossy : kBoundCalm;
  if (now_ >= excused_until_[item]) {
    Check(cell.version >= store_.VersionAt(item, now_ - bound),
          "what is shown is older than the bound", item);
  }
  seen_[item] = std::max(seen_[item], cell.version);
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

// ---- Messages ----------------------------------------------------------------------------------

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
      int64_t& newest = acknowledged_[message.item];
      newest = std::max(newest, message.put.entry.version);
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
  if (message.kind == Message::Kind::kFact) fact_lost_[message.user][message.item] = true;
  // The next tick tries again.
  if (message.kind == Message::Kind::kSweep || message.kind == Message::Kind::kPutAgain) {
    absl::Duration& until = excused_until_[message.item];
    until = std::max(until, now_ + 2 * kTick);
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
    if (message.kind == Message::Kind::kFact && message.user == user) {
      fact_lost_[user][message.item] = true;
    }
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
  for (const int item : servers_[server].to_put_again) {
    excused_until_[item] = absl::InfiniteDuration();
  }
  if (servers_[server].run_seen != run_) excused_until_.fill(absl::InfiniteDuration());
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
  // What it had acknowledged may be gone, until it is put again.
  seen_.fill(0);
  acknowledged_.fill(0);
  for (auto& lost : fact_lost_) lost.fill(true);
  for (absl::Duration& until : excused_until_) until = std::max(until, now_ + 3 * kTick);
  if (now_ - crashed_at_ < absl::Seconds(120)) excused_until_.fill(absl::InfiniteDuration());
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
  for (int item = 0; item < kItems; ++item) {
    const CountCell cell = redis_.Cell(item, now_);
    if (cell.kind != CountCell::Kind::kValue) continue;
    CheckHit(item, cell);
    if (excused_until_[item] > now_) continue;
    Check(cell.version == store_.version(item), "at rest the cache is behind the store", item);
  }
  for (int user = 0; user < kUsers; ++user) {
    for (int item = 0; item < kItems; ++item) {
      if (fact_lost_[user][item] || store_.liked(user, item)) continue;
      Check(!redis_.recent[user].Find(ItemOf(item), Monotonic(now_), {}),
            "at rest a like is remembered that has ended", item);
    }
  }
}

}  // namespace

Outcome Play(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced) {
  return Simulation(seed, decisions, faults, traced).Run();
}

}  // namespace counter::simulation
