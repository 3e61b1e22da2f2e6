// Cluster: one schedule of the cluster's world, from its seed to the judge's word.
//
// The inside of cluster_simulation.h, in three files: what calls do and what becomes of their words
// (cluster_calls.cc), what servers know of the cluster (cluster_servers.cc), and faults, time and
// the order of steps (cluster.cc).
//
// Threads: one. Ownership: borrows the decisions.
#ifndef COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_H_
#define COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/time/time.h"
#include "cache/redis/recent_puts.h"
#include "cache/redis/refresh_schedule.h"
#include "cache/redis/routed_request.h"
#include "tests/simulation/cluster/cluster_nodes.h"
#include "tests/simulation/cluster/cluster_simulation.h"
#include "tests/simulation/judge.h"
#include "tests/simulation/world.h"

namespace counter::simulation::cluster {

inline constexpr absl::Duration kTick = absl::Seconds(1);

// A command on its way through the cluster: where it goes next, and how often it was sent on.
struct Journey {
  int node = kNobody;
  bool asking = false;
  // Made at the first refusal. Shared, as copies of a message are of one journey.
  std::shared_ptr<redis::RoutedRequest> request;
  redis::RoutedRequest::Leg leg;
};

// A put on its way.
struct Word {
  enum class Kind : uint8_t { kWriteThrough, kFill, kSweep, kPutAgain };
  Kind kind = Kind::kWriteThrough;
  int server = kNobody;  // kNobody: it has crashed.
  int item = 0;
  int call = kNobody;
  CountPut put;
  absl::Duration sent_at;
  Journey journey;
};

// What a server knows of the cluster, and remembers.
struct Server {
  redis::RecentPuts recent_puts{absl::Seconds(10), 1000};
  redis::RefreshSchedule refresh{absl::Seconds(1), absl::Seconds(10)};
  Owners owners = {0, 1};            // Its map.
  int asked_last = 0;                // For a map.
  std::array<bool, kItems> moved{};  // Slots that have another owner since the last map.
  std::array<bool, kNodes> linked{};
  std::array<std::optional<int>, kNodes> run_seen;
  std::array<bool, kItems> owed{};
  std::array<bool, kItems> owed_for_loss{};
  std::array<absl::Duration, kItems> believed_since{};
};

struct OutboxEntry {
  int item = 0;
  int call = 0;
  absl::Duration at;
};

class ClusterWorld {
 public:
  ClusterWorld(uint64_t seed, const Decisions& decisions, const Faults& faults, bool traced);
  ClusterOutcome Run();

 private:
  using Kind = Call::Kind;
  using Stage = Call::Stage;

  static size_t At(int number) { return static_cast<size_t>(number); }
  Server& ServerAt(int number) { return *servers_[At(number)]; }
  uint64_t Random(uint64_t below) { return random_() % below; }
  int Pick(int below) { return static_cast<int>(Random(static_cast<uint64_t>(below))); }
  bool Chance(uint64_t percent) { return Random(100) < percent; }
  template <class Text>
  void Trace(Text text) {
    judge_.Note(now_, text);
  }

  // ---- Calls and words (cluster_calls.cc).
  void BeginCall();
  void GoOn(int index);
  void Commit(Call& call, int index);
  void Look(Call& call);
  void SendPut(Word::Kind kind, int server, int item, int call, FillToken token);
  void Deliver(size_t index, bool reply_lost);
  void Acknowledge(const Word& word);
  void Lose(size_t index);

  // ---- What servers know (cluster_servers.cc).
  Journey Begin(int server, int item);
  // Whether the node carries the command out. If not, the journey goes on, or is over: kNobody.
  bool Reaches(int server, int item, Journey& journey);
  void OnRefused(int server, int item, const redis::Reply& reply, Journey& journey);
  void Unlink(int node);
  void Watch(int server);
  void Connect(int server);
  void AskForMap(int server);
  void BeatHearts(int server);
  void Install(int server, const Owners& owners);
  void TellLoss(int server, const std::array<bool, kItems>& items);
  void Believe(int server, int node);
  void BelieveOf(int server, int node, int item);

  // ---- Faults and time (cluster.cc).
  void Step();
  void Break();
  void Evict();
  void CrashOne() { Crash(Pick(kServers)); }
  void Crash(int server);
  bool IsMoving(int node) const;
  void BreakMaster();
  void FailOver(int shard);
  void Restart();
  void Move();
  void ForgetItemsOf(int shard);
  void Pass(absl::Duration duration);
  void Tick();
  void Heal();
  void ComeToRest();

  std::mt19937_64 random_;
  const Decisions& decisions_;
  const Faults faults_;

  absl::Duration now_;
  absl::Duration next_tick_ = kTick;
  Store store_;
  ClusterNodes nodes_;
  std::array<absl::Duration, kShards> fails_over_at_;
  std::array<std::unique_ptr<Server>, kServers> servers_;
  std::vector<Call> calls_;
  std::vector<int> open_;
  std::vector<Word> words_;
  std::vector<OutboxEntry> outbox_;
  FillToken last_token_ = 0;
  absl::Duration crashed_at_ = -absl::InfiniteDuration();
  std::array<absl::Duration, kItems> lost_at_;  // When the item's node failed last.
  Met met_;
  Judge judge_;
};

}  // namespace counter::simulation::cluster

#endif  // COUNTER_TESTS_SIMULATION_CLUSTER_CLUSTER_H_
