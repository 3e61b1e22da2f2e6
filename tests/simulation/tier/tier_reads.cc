#include "tests/simulation/tier/tier_reads.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "storage/postgres/replica_age.h"

namespace counter::simulation::tier {
namespace {

// As replica.h: how long a read waits there, and how long a replica that failed is left alone.
constexpr absl::Duration kPatience = absl::Milliseconds(100);
constexpr absl::Duration kRest = absl::Milliseconds(100);

absl::Status Gone() { return MakeError(ErrorReason::kStoreUnavailable, "gone"); }

}  // namespace

// ---- Questions ---------------------------------------------------------------------------------

ItemCount OpenReads::CountAt(int node, const Item& item, ReadSource source) const {
  const int number = world_.database.Snapshot(node, IndexOf(item), world_.now());
  if (number == kNone) return {0, 0, source};
  const Record& record = world_.database.record(number);
  return {record.count, record.version, source};
}

OpenReads::Read* OpenReads::PickSent() {
  if (reads_.empty()) return nullptr;
  Read& read = reads_[world_.Random(reads_.size())];
  return read.sent ? &read : nullptr;
}

OpenReads::Read OpenReads::Take(const Read* read) {
  const auto at = reads_.begin() + (read - reads_.data());
  Read taken = std::move(*at);
  reads_.erase(at);
  return taken;
}

// The last thing that is done with it: who is answered may ask again.
void OpenReads::Answer(Read read, int node,
                       absl::StatusOr<postgres::ReadAnswers<ItemCount>> answer) const {
  world_.answering_node = node;
  read.done(std::move(answer));
}

void OpenReads::FailSent() {
  std::vector<Read> failed;
  for (size_t i = reads_.size(); i-- > 0;)
    if (reads_[i].sent) failed.push_back(Take(&reads_[i]));
  for (Read& read : failed) Answer(std::move(read), kNone, Gone());
}

void OpenReads::FailExpired() {
  const MonotonicTime now = world_.clock.MonotonicNow();
  for (size_t i = 0; i < reads_.size();) {
    if (!reads_[i].limits.expired(now)) {
      ++i;
      continue;
    }
    Answer(Take(&reads_[i]), kNone, MakeError(ErrorReason::kDeadlineExceeded, "late"));
    i = 0;
  }
}

// ---- The primary -------------------------------------------------------------------------------

bool PrimaryReads::PushCounts(std::vector<Item> items, const CallLimits& limits, CountsDone& done) {
  Read& read = reads_.emplace_back();
  read.items = std::move(items);
  read.limits = limits;
  read.done = std::move(done);
  return true;
}

void PrimaryReads::Pump() {
  if (!link_.ready()) return;
  for (Read& read : reads_) {
    if (read.sent) continue;
    read.sent = true;
    read.sent_at = world_.now();
  }
}

bool PrimaryReads::GoOn() {
  if (!link_.ready() || !world_.database.reachable(link_.node)) return false;
  Read* read = PickSent();
  if (read == nullptr) return false;
  if (!read->was_read) {
    for (const Item& item : read->items)
      read->counts.push_back(CountAt(link_.node, item, ReadSource::kPrimary));
    read->was_read = true;
    if (world_.Chance(50)) return true;
  }
  Read answered = Take(read);
  // As reader.h: the snapshot is taken later than the question is sent.
  postgres::ReadAnswers<ItemCount> answers = {std::move(answered.counts), Wall(answered.sent_at)};
  Answer(std::move(answered), link_.node, std::move(answers));
  return true;
}

void PrimaryReads::Broken() {
  for (Read& read : reads_) {
    read.sent = read.was_read = false;
    read.counts.clear();
  }
}

void PrimaryReads::FailAll() {
  Broken();
  std::vector<Read> failed;
  failed.swap(reads_);
  for (Read& read : failed) Answer(std::move(read), kNone, Gone());
}

// ---- A standby ---------------------------------------------------------------------------------

std::optional<MonotonicTime> StandbyReads::FreshAt(
    const postgres::ReplicaPosition& position) const {
  if (!world_.decisions.measures_by_log) {
    if (position.timeline != primary_.timeline_number()) return std::nullopt;
    // The published recipe: nothing is waited for, or the time since the last replay.
    const Database::Node& node = world_.database.node(node_);
    const bool has_replayed_all = node.received == node.replayed;
    return Monotonic(has_replayed_all ? world_.now() : world_.database.ReplayedAt(node_));
  }
  if (!world_.decisions.checks_timeline) return meter_.FreshAt(position.replayed);
  return postgres::ReplicaFreshAt(position, facts_, primary_, meter_);
}

bool StandbyReads::MayAnswer(const postgres::ReplicaPosition& position) const {
  if (!world_.decisions.bounds_lag) return FreshAt(position).has_value();
  return postgres::MayAnswer(FreshAt(position), world_.clock.MonotonicNow(), kLagMax);
}

bool StandbyReads::usable(MonotonicTime /*now*/) const {
  if (!connected_ || world_.now() < rest_until_ || !position_.has_value()) return false;
  return MayAnswer(*position_);
}

void StandbyReads::Rest() { rest_until_ = world_.now() + kRest; }

bool StandbyReads::PushCounts(std::vector<Item> items, const CallLimits& limits, CountsDone& done) {
  Read& read = reads_.emplace_back();
  read.items = std::move(items);
  read.limits = limits;
  read.limits.deadline = std::min(read.limits.deadline, world_.clock.MonotonicNow() + kPatience);
  read.done = std::move(done);
  read.sent = true;
  read.sent_at = world_.now();
  return true;
}

bool StandbyReads::GoOn() {
  if (!connected_ || !world_.database.reachable(node_)) return false;
  Read* read = PickSent();
  if (read == nullptr) return false;
  if (!read->was_read) {
    // The two statements of one unit. Replay does not wait between them.
    const bool replays_between = world_.Chance(30);
    if (world_.decisions.asks_position_first) {
      read->position = world_.database.Position(node_);
      if (replays_between) world_.database.Replay(node_, 2);
    }
    for (const Item& item : read->items)
      read->counts.push_back(CountAt(node_, item, ReadSource::kReplica));
    if (!world_.decisions.asks_position_first) {
      if (replays_between) world_.database.Replay(node_, 2);
      read->position = world_.database.Position(node_);
    }
    read->was_read = true;
    if (world_.Chance(50)) return true;
  }
  Read answered = Take(read);
  position_ = answered.position;
  if (!MayAnswer(answered.position)) {
    Answer(std::move(answered), node_, Gone());
    return true;
  }
  const MonotonicTime now = world_.clock.MonotonicNow();
  const absl::Duration age = world_.decisions.dates_by_replica
                                 ? Between(*FreshAt(answered.position), now)
                                 : absl::ZeroDuration();
  postgres::ReadAnswers<ItemCount> answers = {std::move(answered.counts),
                                              world_.clock.WallNow() - age};
  Answer(std::move(answered), node_, std::move(answers));
  return true;
}

void StandbyReads::Probe() {
  if (!world_.database.reachable(node_)) return;
  if (!connected_) {
    if (!world_.database.node(node_).in_recovery || !world_.Chance(70)) return;
    facts_ = world_.database.Facts(node_);
    if (postgres::VetoReplica(facts_, primary_).has_value()) return;
    connected_ = true;
  }
  position_ = world_.database.Position(node_);
  // As replica.h: it was promoted.
  if (!position_->in_recovery) Broken();
}

void StandbyReads::Broken() {
  connected_ = false;
  position_.reset();
  if (reads_.empty()) return;
  Rest();
  FailSent();
}

}  // namespace counter::simulation::tier
