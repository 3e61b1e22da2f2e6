// Database: a PostgreSQL of three nodes as values: the primary's log, and what of it its standbys
// have received and replayed.
//
// A log is a sequence of records: a count of an item at a version with its row of the outbox, or a
// note of a timeline. A promotion begins a branch: the log up to what the promoted standby had
// received; the rest is lost, and the judge knows exactly which records that are. A standby that
// had received more is left behind on the old branch.
//
// Threads: one. Ownership: values only.
#ifndef COUNTER_TESTS_SIMULATION_TIER_DATABASE_H_
#define COUNTER_TESTS_SIMULATION_TIER_DATABASE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "storage/postgres/replica_statements.h"
#include "storage/postgres/session_check.h"

namespace counter::simulation::tier {

inline constexpr int kItems = 2;
inline constexpr int kNodes = 3;
inline constexpr int kNone = -1;

struct Record {
  int item = kNone;  // kNone: a note.
  int64_t count = 0;
  int64_t version = 0;
  absl::Duration at;  // When it was flushed; for its readers it is there at visible_at.
  absl::Duration visible_at = absl::InfiniteDuration();
  absl::Duration acknowledged_at = absl::InfiniteDuration();
  absl::Duration lost_at = absl::InfiniteDuration();
  // Its row of the outbox.
  int64_t row_id = 0;
  bool has_row = false;
  absl::Duration row_at;
  // Of a note.
  int64_t timeline = 0;
  absl::Duration seen;
  std::optional<absl::Duration> kept_until;

  bool is_kept() const { return lost_at == absl::InfiniteDuration(); }
};

class Database {
 public:
  struct Node {
    int branch = 0;
    int received = 1;
    int replayed = 1;
    bool running = true;
    bool cut = false;  // Nobody reaches it.
    bool in_recovery = true;
    bool receives = true;  // Its connection to the primary is well.
    bool replays = true;
  };

  // Node 0 is the primary on timeline 1, which is noted; with `synchronous` node 1 is waited for.
  explicit Database(bool synchronous);

  // ---- The primary.
  int primary() const { return primary_; }
  int64_t timeline() const { return branches_.back().timeline; }
  absl::Duration began() const { return branches_.back().began; }
  // Whether a write of the item that nobody can see yet holds its row. Requires a node that
  // takes writes, here and in the two that follow.
  bool IsLocked(int node, int item) const;
  int Write(int node, int item, int64_t delta, absl::Duration now);
  // Whose rows that were.
  std::vector<int> DeleteRows(int node, const std::vector<int64_t>& ids);
  // Lets the record be seen if nothing has to be waited for any more.
  void LetSee(int record, bool waits_for_standby, absl::Duration now);
  // The note of the node's timeline, which is made if it is not there.
  const Record& Note(int node, absl::Duration now);
  bool takes_writes(int node) const { return reachable(node) && !nodes_[At(node)].in_recovery; }
  bool reachable(int node) const { return nodes_[At(node)].running && !nodes_[At(node)].cut; }

  // ---- What sessions are told.
  postgres::SessionFacts Facts(int node) const;
  postgres::ReplicaPosition Position(int node) const;
  int64_t flushed(int node) const { return static_cast<int64_t>(LogOf(node).size()); }
  // The record that a reader of the node sees of the item now; kNone: none.
  int Snapshot(int node, int item, absl::Duration now) const;
  // When the last record that it has replayed was made.
  absl::Duration ReplayedAt(int node) const;

  // ---- Standbys.
  Node& node(int number) { return nodes_[At(number)]; }
  const Node& node(int number) const { return nodes_[At(number)]; }
  bool Follows(int node) const;
  // Receives and replays so many records more, as far as there are any and it may.
  void Receive(int node, int records);
  void Replay(int node, int records);
  // Starts a standby of the present primary that had stopped; false if it is none.
  bool StartStandby(int node);
  // Is made a standby of the present primary, without the last `behind` records.
  void Rebuild(int node, int behind);

  // ---- Failover.
  int synchronous_standby() const { return synchronous_standby_; }
  void ChooseSynchronousStandby();
  // The standby takes over. Requires Follows(node). `forgets`: it was restarted before anybody met
  // it, and so does not know when its last commit was.
  void Promote(int node, bool forgets, absl::Duration now);

  // ---- For the judge.
  const std::vector<Record>& records() const { return records_; }
  Record& record(int number) { return records_[At(number)]; }
  const Record& record(int number) const { return records_[At(number)]; }
  // The record of that version; kNone: there never was one.
  int Find(int item, int64_t version) const;
  // The newest version that was kept and which readers saw before `time`.
  int64_t VersionAt(int item, absl::Duration time) const;
  // The newest version that was kept and acknowledged before `time`.
  int64_t AcknowledgedBefore(int item, absl::Duration time) const;

 private:
  struct Branch {
    int64_t timeline = 1;
    int fork = 0;  // Up to here its log is the former one's.
    absl::Duration began;
    std::vector<int> log;  // Records.
    int64_t last_row_id = 0;
    bool forgets = false;
  };
  static size_t At(int number) { return static_cast<size_t>(number); }
  const std::vector<int>& LogOf(int node) const {
    return branches_[At(nodes_[At(node)].branch)].log;
  }
  void Append(int node, const Record& record);

  const bool synchronous_;
  int primary_ = 0;
  int synchronous_standby_ = 1;
  std::array<Node, kNodes> nodes_;
  std::vector<Record> records_;
  std::vector<Branch> branches_;
};

}  // namespace counter::simulation::tier

#endif  // COUNTER_TESTS_SIMULATION_TIER_DATABASE_H_
