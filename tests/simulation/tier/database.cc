#include "tests/simulation/tier/database.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "tests/simulation/world.h"

namespace counter::simulation::tier {
namespace {

constexpr char kSystemId[] = "7001";
constexpr char kStoreId[] = "store";

}  // namespace

Database::Database(bool synchronous) : synchronous_(synchronous) {
  records_.reserve(64);
  branches_.resize(1);
  branches_[0].log.reserve(64);
  nodes_[0].in_recovery = false;
  Record note;
  note.timeline = 1;
  note.visible_at = absl::ZeroDuration();
  records_.push_back(note);
  branches_[0].log.push_back(0);
}

// ---- The primary.

void Database::Append(int node, const Record& record) {
  Node& one = nodes_[At(node)];
  std::vector<int>& log = branches_[At(one.branch)].log;
  log.push_back(static_cast<int>(records_.size()));
  records_.push_back(record);
  one.received = one.replayed = static_cast<int>(log.size());
}

bool Database::IsLocked(int node, int item) const {
  for (const int number : LogOf(node)) {
    const Record& record = records_[At(number)];
    if (record.item == item && record.visible_at == absl::InfiniteDuration()) return true;
  }
  return false;
}

int Database::Write(int node, int item, int64_t delta, absl::Duration now) {
  const int former = Snapshot(node, item, absl::InfiniteDuration());
  Record record;
  record.item = item;
  record.at = now;
  record.version = absl::ToUnixMicros(Wall(now));
  if (former != kNone) {
    record.count = records_[At(former)].count;
    record.version = std::max(record.version, records_[At(former)].version + 1);
  }
  record.count = std::max<int64_t>(record.count + delta, 0);
  record.row_id = ++branches_[At(nodes_[At(node)].branch)].last_row_id;
  record.has_row = true;
  record.row_at = now;
  Append(node, record);
  return static_cast<int>(records_.size()) - 1;
}

std::vector<int> Database::DeleteRows(int node, const std::vector<int64_t>& ids) {
  std::vector<int> deleted;
  if (ids.empty()) return deleted;
  for (const int number : LogOf(node)) {
    Record& record = records_[At(number)];
    if (!record.has_row || std::find(ids.begin(), ids.end(), record.row_id) == ids.end()) continue;
    record.has_row = false;
    deleted.push_back(number);
  }
  return deleted;
}

void Database::LetSee(int number, bool waits_for_standby, absl::Duration now) {
  Record& record = records_[At(number)];
  if (record.visible_at != absl::InfiniteDuration() || !record.is_kept()) return;
  if (synchronous_ && waits_for_standby) {
    if (synchronous_standby_ == kNone || !Follows(synchronous_standby_)) return;
    const std::vector<int>& log = branches_.back().log;
    const auto end = log.begin() + nodes_[At(synchronous_standby_)].received;
    if (std::find(log.begin(), end, number) == end) return;
  }
  record.visible_at = now;
}

const Record& Database::Note(int node, absl::Duration now) {
  const Branch& branch = branches_[At(nodes_[At(node)].branch)];
  for (size_t i = branch.log.size(); i-- > 0;) {
    const Record& record = records_[At(branch.log[i])];
    if (record.item == kNone && record.timeline == branch.timeline) return record;
  }
  Record note;
  note.at = note.visible_at = note.seen = now;
  note.timeline = branch.timeline;
  if (!branch.forgets && branch.fork > 0)
    note.kept_until = records_[At(branch.log[At(branch.fork - 1)])].at;
  Append(node, note);
  return records_.back();
}

// ---- What sessions are told.

postgres::SessionFacts Database::Facts(int node) const {
  const Node& one = nodes_[At(node)];
  const int64_t timeline = branches_[At(one.branch)].timeline;
  postgres::SessionFacts facts;
  facts.in_recovery = one.in_recovery;
  if (!one.in_recovery) facts.timeline = absl::StrFormat("%08X", timeline);
  facts.system_id = kSystemId;
  facts.checkpoint_timeline = timeline;
  facts.store_id = kStoreId;
  return facts;
}

postgres::ReplicaPosition Database::Position(int node) const {
  const Node& one = nodes_[At(node)];
  postgres::ReplicaPosition position;
  position.in_recovery = one.in_recovery;
  position.replayed = one.replayed;
  position.store_id = kStoreId;
  const std::vector<int>& log = LogOf(node);
  for (int i = one.replayed; i-- > 0 && position.timeline == 0;)
    position.timeline = records_[At(log[At(i)])].timeline;
  return position;
}

int Database::Snapshot(int node, int item, absl::Duration now) const {
  const Node& one = nodes_[At(node)];
  const std::vector<int>& log = LogOf(node);
  for (int i = one.replayed; i-- > 0;) {
    const Record& record = records_[At(log[At(i)])];
    if (record.item == item && (one.in_recovery || record.visible_at <= now)) return log[At(i)];
  }
  return kNone;
}

absl::Duration Database::ReplayedAt(int node) const {
  return records_[At(LogOf(node)[At(nodes_[At(node)].replayed - 1)])].at;
}

// ---- Standbys.

bool Database::Follows(int node) const {
  const Node& one = nodes_[At(node)];
  return one.running && one.in_recovery && At(one.branch) == branches_.size() - 1;
}

void Database::Receive(int node, int records) {
  Node& one = nodes_[At(node)];
  if (!Follows(node) || !one.receives || !nodes_[At(primary_)].running) return;
  one.received = std::min(one.received + records, static_cast<int>(LogOf(node).size()));
}

void Database::Replay(int node, int records) {
  Node& one = nodes_[At(node)];
  if (!one.running || !one.in_recovery || !one.replays) return;
  one.replayed = std::min(one.replayed + records, one.received);
}

bool Database::StartStandby(int node) {
  Node& one = nodes_[At(node)];
  if (!one.in_recovery || At(one.branch) != branches_.size() - 1) return false;
  one.running = true;
  return true;
}

void Database::Rebuild(int node, int behind) {
  Node& one = nodes_[At(node)];
  one = {};
  one.branch = static_cast<int>(branches_.size()) - 1;
  const int fork = std::max(branches_.back().fork, 1);
  one.received = one.replayed = std::max(fork, static_cast<int>(LogOf(node).size()) - behind);
}

// ---- Failover.

void Database::ChooseSynchronousStandby() {
  if (synchronous_standby_ != kNone && Follows(synchronous_standby_)) return;
  synchronous_standby_ = kNone;
  for (int node = 0; node < kNodes; ++node) {
    // One that has not caught up would be waited for and might be promoted too early.
    if (Follows(node) && nodes_[At(node)].received == static_cast<int>(LogOf(node).size()))
      synchronous_standby_ = node;
  }
}

void Database::Promote(int node, bool forgets, absl::Duration now) {
  Node& one = nodes_[At(node)];
  Branch branch = branches_.back();
  branch.timeline += 1;
  branch.fork = one.received;
  branch.began = now;
  branch.forgets = forgets;
  for (size_t i = At(one.received); i < branch.log.size(); ++i)
    records_[At(branch.log[i])].lost_at = now;
  branch.log.resize(At(one.received));
  branch.last_row_id = 0;
  for (const int number : branch.log) {
    Record& record = records_[At(number)];
    record.visible_at = std::min(record.visible_at, now);
    branch.last_row_id = std::max(branch.last_row_id, record.row_id);
  }
  one.in_recovery = false;
  one.cut = false;
  one.replayed = one.received;
  one.branch = static_cast<int>(branches_.size());
  branches_.push_back(std::move(branch));
  primary_ = node;
  if (synchronous_standby_ == node) synchronous_standby_ = kNone;
}

// ---- For the judge.

int Database::Find(int item, int64_t version) const {
  for (size_t i = records_.size(); i-- > 0;)
    if (records_[i].item == item && records_[i].version == version) return static_cast<int>(i);
  return kNone;
}

int64_t Database::VersionAt(int item, absl::Duration time) const {
  int64_t version = 0;
  for (const Record& record : records_) {
    if (record.item == item && record.is_kept() && record.visible_at < time)
      version = std::max(version, record.version);
  }
  return version;
}

int64_t Database::AcknowledgedBefore(int item, absl::Duration time) const {
  int64_t version = 0;
  for (const Record& record : records_) {
    if (record.item == item && record.is_kept() && record.acknowledged_at < time)
      version = std::max(version, record.version);
  }
  return version;
}

}  // namespace counter::simulation::tier
