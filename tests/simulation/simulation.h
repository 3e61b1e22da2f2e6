// Simulation: one schedule of the simulated world, from its seed to the judge's word.
//
// The inside of cache_simulation.h, in three files: what calls do (simulation_calls.cc), what
// becomes of messages (simulation_messages.cc), and the rest of the world: the order of steps,
// faults and time (cache_simulation.cc).
//
// Threads: one. Ownership: borrows the decisions.
#ifndef COUNTER_TESTS_SIMULATION_SIMULATION_H_
#define COUNTER_TESTS_SIMULATION_SIMULATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/time/time.h"
#include "cache/local/like_window.h"
#include "cache/redis/recent_puts.h"
#include "tests/simulation/cache_simulation.h"
#include "tests/simulation/judge.h"
#include "tests/simulation/world.h"

namespace counter::simulation {

inline constexpr int kSteps = 100;
inline constexpr int kCallsMax = 5;  // At once.
inline constexpr absl::Duration kTtl = absl::Hours(1);
inline constexpr absl::Duration kAnswerBudget = absl::Milliseconds(20);
inline constexpr absl::Duration kOutboxAge = absl::Seconds(2);
inline constexpr absl::Duration kTick = absl::Seconds(1);  // Of sweeps and reconnects.
// Rule 6 remembers the puts of 10 s: a replica that lags further, and is promoted all the same, has
// lost more than anybody knows, and the time to live is the bound.
inline constexpr absl::Duration kReplicaLagMax = absl::Seconds(5);
// Nothing shown is older than this. With losses: a row of the outbox is swept 2 s old, at the next
// tick, within 5 s in all. Without: the write-through has arrived before the answer.
inline constexpr absl::Duration kBoundLossy = absl::Seconds(5);
inline constexpr absl::Duration kBoundCalm = absl::Seconds(1);

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
      : random_(seed),
        decisions_(decisions),
        faults_(faults),
        judge_(store_, faults.losses ? kBoundLossy : kBoundCalm, traced) {}

  Outcome Run() {
    for (int step = 0; step < kSteps && !judge_.has_ruled(); ++step) Step();
    if (!judge_.has_ruled()) ComeToRest();
    return judge_.TakeOutcome();
  }

 private:
  using Kind = Call::Kind;
  using Stage = Call::Stage;

  uint64_t Random(uint64_t below) { return random_() % below; }
  bool Chance(uint64_t percent) { return Random(100) < percent; }
  template <class Text>
  void Trace(Text text) {
    judge_.Note(now_, text);
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

  std::mt19937_64 random_;
  const Decisions& decisions_;
  const Faults faults_;

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

  absl::Duration crashed_at_ = -absl::InfiniteDuration();
  Judge judge_;
};

}  // namespace counter::simulation

#endif  // COUNTER_TESTS_SIMULATION_SIMULATION_H_
