#include "storage/postgres/lane.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace counter::postgres {
namespace {

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

// How many outbox rows one unit deletes.
constexpr size_t kAcknowledgedPerUnit = 64;

std::vector<ChangedItem> ChangedItems(const WriteUnit& unit, const UnitApplied& applied) {
  std::vector<ChangedItem> changed;
  std::vector<bool> seen(unit.counters.size());
  for (size_t i = 0; i < unit.rows.size(); ++i) {
    const auto counter = static_cast<size_t>(unit.rows[i].counter);
    if (!applied.rows[i].changed || seen[counter]) continue;
    seen[counter] = true;
    changed.push_back({unit.rows[i].item, applied.rows[i].count, applied.rows[i].version});
  }
  return changed;
}

}  // namespace

UnitVerdict JudgeUnit(UnitFate fate, const ServerError& error, int rows) {
  UnitVerdict verdict;
  verdict.error = ToStatus(error);
  verdict.met = Classify(error);
  if (fate == UnitFate::kUnknown) {
    verdict.failure = UnitFailure::kFinal;
    verdict.error = MakeError(ErrorReason::kStoreUnavailable,
                              "the store was lost while it worked: applied zero or one time");
    return verdict;
  }
  MarkNotApplied(verdict.error);
  if (fate == UnitFate::kNotRun) {
    verdict.failure = UnitFailure::kNotSent;
    return verdict;
  }
  switch (verdict.met) {
    case ErrorClass::kTransient:
    case ErrorClass::kConnectionUseless:
      verdict.failure = UnitFailure::kRetryable;
      break;
    case ErrorClass::kTimeout:
      // Somebody holds one row: the others must not wait for it.
      verdict.failure = rows > 1 ? UnitFailure::kRejected : UnitFailure::kRetryable;
      break;
    case ErrorClass::kRejected:
      verdict.failure = UnitFailure::kRejected;
      break;
    case ErrorClass::kOutOfResources:
    case ErrorClass::kMisfit:
      verdict.failure = UnitFailure::kFinal;
      break;
  }
  return verdict;
}

Lane::Lane(boost::asio::io_context& loop, Options options, Link::Options link, Host& host)
    : options_(options),
      host_(host),
      combiner_(options.combiner),
      patience_({.wait_max = options.wait_max,
                 .batch_rows_max = options.batch_rows_max,
                 .batches_at_once = options.units_in_flight_max}),
      link_(loop, std::move(link), *this) {}

QueuePatience::Queue Lane::queue() const {
  QueuePatience::Queue queue;
  queue.waiting = combiner_.waiting();
  queue.under_way = static_cast<int>(in_flight_.size());
  if (!in_flight_.empty()) queue.since = in_flight_.begin()->second.sent;
  return queue;
}

absl::Status Lane::Push(const Mutation& mutation, const CallLimits& limits, Ticket ticket) {
  // Without a link nothing is under way, and everything is taken: somebody else ends what waits.
  if (!patience_.Takes(queue(), limits.deadline, Now())) return WriteCombiner::SlowError();
  return combiner_.Push(mutation, limits, ticket) ? absl::OkStatus() : WriteCombiner::FullError();
}

bool Lane::MaySend() const {
  if (!link_.ready()) return false;
  const int in_flight = static_cast<int>(in_flight_.size());
  if (in_flight == 0) return true;
  // Another one behind the one at work saves the server a wait, but takes from the size of the
  // batch that would leave later: only a full one, or one that is due again, goes.
  const int most = link_.pipelined() ? options_.units_in_flight_max : 1;
  return in_flight < most &&
         (combiner_.waiting() >= options_.batch_rows_max || combiner_.has_retries());
}

void Lane::Pump() {
  while (MaySend()) {
    std::optional<WriteUnit> unit = combiner_.NextUnit(options_.batch_rows_max, Now(), ended_);
    if (!unit.has_value()) break;
    SendUnit(*std::move(unit));
  }
  GiveEnded();
}

void Lane::SendUnit(WriteUnit unit) {
  const UnitId id = unit.id;
  LaneNote note;
  note.lane = static_cast<int16_t>(options_.number);
  while (!acknowledged_.empty() && note.acknowledged.size() < kAcknowledgedPerUnit) {
    note.acknowledged.push_back(acknowledged_.front());
    acknowledged_.pop_front();
  }
  ++stats_.units;
  stats_.rows += static_cast<int64_t>(unit.rows.size());
  stats_.mutations += unit.mutations;
  StatementCall call = ApplyUnit(unit, note);
  in_flight_[id] = {std::move(unit), std::move(note.acknowledged), history_, Now()};
  link_.Send({std::move(call)}, [this, id](const UnitReply& reply) { UnitEnded(id, reply); });
}

void Lane::UnitEnded(UnitId id, const UnitReply& reply) {
  const auto found = in_flight_.find(id);
  const InFlight sent = std::move(found->second);
  in_flight_.erase(found);
  const int rows = static_cast<int>(sent.unit.rows.size());
  if (reply.fate == UnitFate::kCommitted || reply.fate == UnitFate::kRolledBack)
    patience_.Ended(sent.sent, Now());
  if (reply.fate == UnitFate::kCommitted) {
    const absl::StatusOr<UnitApplied> applied = DecodeUnit(reply.tables[0], rows);
    if (applied.ok()) {
      Commit(sent, *applied);
    } else {
      // It was committed, but what it did cannot be told.
      Fail(sent, {UnitFailure::kFinal, applied.status()});
    }
  } else {
    Fail(sent, JudgeUnit(reply.fate, reply.error, rows));
  }
  Pump();
}

void Lane::Commit(const InFlight& sent, const UnitApplied& applied) {
  if (applied.outbox_id.has_value())
    host_.BatchCommitted({*applied.outbox_id, options_.number, sent.history},
                         ChangedItems(sent.unit, applied));
  if (options_.observer != nullptr) {
    CommittedBatch batch;
    batch.units = 1;
    batch.rows = static_cast<int>(sent.unit.rows.size());
    batch.mutations = sent.unit.mutations;
    batch.duration = Between(sent.sent, Now());
    options_.observer->OnBatchCommitted(batch);
  }
  combiner_.Complete(sent.unit.id, applied.rows, ended_);
}

void Lane::Fail(const InFlight& sent, const UnitVerdict& verdict) {
  // Deleting a row twice does no harm.
  for (const int64_t id : sent.acknowledged) Acknowledge({id, options_.number, sent.history});
  if (verdict.failure == UnitFailure::kRetryable) stats_.retries.Count(verdict.met);
  if (verdict.failure == UnitFailure::kRejected)
    ++(sent.unit.rows.size() > 1 ? stats_.bisected : stats_.refused);
  combiner_.Fail(sent.unit.id, verdict.failure, verdict.error, ended_);
}

void Lane::DropUnwanted() {
  combiner_.DropUnwanted(Now(), ended_);
  GiveEnded();
}

void Lane::FailWaiting(const absl::Status& error) {
  combiner_.FailWaiting(error, ended_);
  GiveEnded();
}

void Lane::Acknowledge(const OutboxRow& row) {
  if (row.history != history_) return;
  // What is forgotten here stays in the table, for whoever looks after old rows.
  if (static_cast<int>(acknowledged_.size()) < options_.acknowledged_max)
    acknowledged_.push_back(row.id);
}

void Lane::GiveEnded() {
  if (ended_.empty()) return;
  // The host may push again from inside.
  host_.MutationsEnded(std::exchange(ended_, {}));
}

void Lane::LinkReady(Link&) { Pump(); }
void Lane::LinkDown(Link&) {}

}  // namespace counter::postgres
