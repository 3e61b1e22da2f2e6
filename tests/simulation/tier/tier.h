// Tier: one schedule of the data tier, from its seed to the judge's word.
//
// The inside of tier_simulation.h, in four files: what writes do and what becomes of words to the
// cache (tier_writes.cc), what reads do (tier_calls.cc), what breaks (tier_faults.cc), and the
// order of steps and time (tier.cc).
//
// Threads: one. Ownership: borrows the decisions.
#ifndef COUNTER_TESTS_SIMULATION_TIER_TIER_H_
#define COUNTER_TESTS_SIMULATION_TIER_TIER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cache/count_protocol.h"
#include "cache/near/known_count.h"
#include "storage/like_store.h"
#include "tests/simulation/tier/tier_judge.h"
#include "tests/simulation/tier/tier_server.h"
#include "tests/simulation/tier/tier_world.h"

namespace counter::simulation::tier {

inline constexpr int kCallers = 2;
inline constexpr absl::Duration kDeadline = absl::Seconds(5);  // Of a call.

// A put on its way to Redis.
struct Message {
  enum class Kind : uint8_t { kWriteThrough, kFill, kMend };
  Kind kind = Kind::kWriteThrough;
  int life = 0;       // The server's.
  int write = kNone;  // Which waits for it.
  CountPut put;
  Origin origin;
  std::vector<int> rows;  // Records whose rows of the outbox it makes good.
};

struct Write {
  enum class Stage : uint8_t { kBegun, kSent, kTelling, kEnded };
  Stage stage = Stage::kBegun;
  int life = 0;
  int caller = 0;
  int item = 0;
  absl::Duration began_at;
  absl::Duration since;  // Of being sent, and of telling the cache.
  int node = kNone;
  int record = kNone;
  bool told = false;
  bool given_up = false;
};

// A read of one item, or of both.
struct Read {
  int life = 0;
  int caller = 0;
  std::vector<BegunRead> items;
  std::vector<FillToken> tokens;  // Of leases.
};

// What a caller keeps of an item: the newest token that it was given.
struct KeptToken {
  int record = kNone;
  int64_t timeline = 0;
};

class Tier {
 public:
  Tier(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced);
  Outcome Run();

 private:
  struct Standing {
    CountCell cell;
    absl::Duration ends_at;
    Origin origin;
  };

  static size_t At(int number) { return static_cast<size_t>(number); }
  bool Chance(uint64_t percent) { return world_.Chance(percent); }
  int Pick(int below) { return static_cast<int>(world_.Random(static_cast<uint64_t>(below))); }
  int PickItem() { return world_.faults.one_item ? 0 : Pick(kItems); }
  absl::Duration now() const { return world_.now(); }
  KnownCountLife NearLife() const {
    if (world_.decisions.near_is_bounded) return {kNearFresh, kNearStale};
    return {kTtl, kTtl};
  }
  Server* OfLife(int life);  // Null: it crashed.

  // ---- Steps (tier.cc).
  void Step();
  void Replicate();
  void Pass(absl::Duration duration);
  void LetRead(Server& server, absl::Duration duration);
  void ComeToRest();

  // ---- Reads (tier_calls.cc).
  void BeginRead();
  void StartRead(Server& server, int caller, const std::vector<int>& items, bool strong,
                 bool with_tokens);
  void Ask(Server& server, Read read, std::vector<ItemRead> reads, Consistency consistency);
  void OnCounts(const Read& read, const std::vector<ItemRead>& asked,
                const absl::StatusOr<CountsRead>& counts);
  CountLookup Look(Server& server, int item, ShownCount& shown);
  CountLookup LookFar(Server& server, int item, ShownCount& shown);
  CountLookup GetFromRedis(int item, ShownCount& shown);
  bool ReadFurther();

  // ---- Writes and words to the cache (tier_writes.cc).
  void BeginWrite();
  void GoOn(int index);
  void Send(Write& write, Server& server);
  void Tell(Write& write, int index, Server& server);
  void Answer(Write& write);
  void EndOverdue();
  void SendPut(Server& server, Message message);
  void Deliver(size_t index, bool reply_lost);
  void Lose(size_t index);
  void OnTaken(const Message& message);
  void PutFromStore(Server& server, int item, std::vector<int> rows);
  void Sweep();

  // ---- Faults (tier_faults.cc).
  void Break();
  void Crash(int number);
  void BreakLinks(int node);
  void TroubleStandby();
  void FailOver();
  void ComeBack();
  void Mend();
  void StartServer(int number);

  World world_;
  const bool has_near_;
  TierJudge judge_;
  std::array<Server*, kServers> servers_ = {};
  std::vector<std::unique_ptr<Server>> all_servers_;  // By life; null: crashed.
  std::array<Standing, kItems> redis_;
  std::vector<Message> messages_;
  std::vector<Write> writes_;
  std::vector<int> open_;  // Of them, those that have not ended.
  std::array<std::array<KeptToken, kItems>, kCallers> tokens_;
  FillToken last_lease_ = 0;
  absl::Duration next_tick_ = kTick;
};

}  // namespace counter::simulation::tier

#endif  // COUNTER_TESTS_SIMULATION_TIER_TIER_H_
