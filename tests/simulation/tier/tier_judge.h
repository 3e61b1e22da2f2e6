// TierJudge: what docs/contract.md promises of reads, and whether it was kept.
//
// The schedule tells it what was answered, and what excuses what. An excuse names an item, comes of
// a fault and has an end. Which records a failover has lost it knows from the database, record by
// record. It rules at once, and at rest; the first violation counts.
//
// Threads: one at a time. Ownership: borrows the world.
#ifndef COUNTER_TESTS_SIMULATION_TIER_TIER_JUDGE_H_
#define COUNTER_TESTS_SIMULATION_TIER_TIER_JUDGE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/simulation/tier/tier_server.h"
#include "tests/simulation/tier/tier_world.h"

namespace counter::simulation::tier {

// A read of one item, as it was when it began.
struct BegunRead {
  int server = 0;
  int item = 0;
  bool is_strong = false;  // CONSISTENCY_STRONG.
  int token = kNone;       // The record that its token names.
  int64_t token_timeline = 0;
  absl::Duration began_at;
  int64_t server_timeline = 0;  // That the server followed,
  bool knew_failover = false;   // and whether it knew what that one has lost.
};

struct ShownCount {
  enum class Source : uint8_t { kNear, kCache, kReplica, kPrimary };
  Source source = Source::kCache;
  int64_t count = 0;
  int64_t version = 0;
  absl::Time as_of;
  Origin origin;                  // Of a cache.
  absl::Duration last_broken_at;  // When the server lost its primary last.
  absl::Duration noted_at;        // When it knew of the last failover,
  absl::Duration started_at;      // and when it was started.
};

class TierJudge {
 public:
  TierJudge(World& world, bool has_near) : world_(world), has_near_(has_near) {}

  bool has_ruled() const { return !world_.outcome.violation.empty(); }

  // ---- What happened.
  void Shown(const BegunRead& read, const ShownCount& shown);
  // A write was answered OK by that node.
  void Acknowledged(int record, int node, absl::Duration began_at);
  // Its word was acknowledged by the cache before it was answered.
  void Told(int record);
  void Crashed(int server);
  // The cache has acknowledged a put, and this stands there now until then; and a row of the outbox
  // is deleted.
  void Taken(int item, int64_t version);
  void Stands(int item, int64_t version, absl::Duration until);
  void DeletesRow(int record);
  void FailedOver();
  void AtRest(int item, int64_t version);

  // ---- What is excused: until then the item may be shown older than the bound.
  void Excuse(int item, absl::Duration until) {
    excused_until_[Index(item)] = std::max(excused_until_[Index(item)], until);
  }
  void ExcuseAll(absl::Duration until) {
    for (int item = 0; item < kItems; ++item) Excuse(item, until);
  }

 private:
  struct Seen {
    int record;
    absl::Duration at;
    bool is_near;
  };
  static size_t Index(int item) { return static_cast<size_t>(item); }
  void Violate(absl::string_view what, int item);
  void Require(bool holds, absl::string_view what, int item) {
    if (!holds) Violate(what, item);
  }
  void CheckOfLost(const BegunRead& read, const ShownCount& shown, const Record& record);
  void CheckToken(const BegunRead& read, const ShownCount& shown);
  void CheckPrimary(const BegunRead& read, const ShownCount& shown);
  void CheckReplica(const BegunRead& read, const ShownCount& shown);
  void CheckCache(const BegunRead& read, const ShownCount& shown, int record);
  absl::Duration bound() const;

  World& world_;
  const bool has_near_;
  // What caches have shown, by server if each has a memory of its own; and acknowledged.
  std::array<std::array<std::vector<Seen>, kItems>, kServers> seen_;
  std::array<int, kItems> told_ = {kNone, kNone};
  std::array<int, kItems> taken_ = {kNone, kNone};
  std::array<absl::Duration, kItems> excused_until_ = {};
};

}  // namespace counter::simulation::tier

#endif  // COUNTER_TESTS_SIMULATION_TIER_TIER_JUDGE_H_
