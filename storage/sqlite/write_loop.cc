#include "storage/sqlite/write_loop.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.h"

namespace counter::sqlite {
namespace {

// Between two tries to get past another process's lock.
constexpr std::chrono::milliseconds kBusyPause(5);
// How long Stop() lets writes without a deadline wait for such a lock.
constexpr std::chrono::seconds kBusyAtStopMax(5);
// From this many times checkpoint_pages on, a checkpoint waits for readers of old snapshots.
constexpr int kRestartFactor = 4;

// Errors from the disk concern everybody; the others, the rows of the statement that met them.
bool IsOfDisk(DatabaseCode code) {
  return code == DatabaseCode::kFull || code == DatabaseCode::kIoError ||
         code == DatabaseCode::kFlushFailed;
}

absl::Status DiskError(DatabaseCode code) {
  return MakeError(ErrorReason::kStoreUnavailable,
                   code == DatabaseCode::kFull
                       ? "the store's disk is full; make room, writes then go on by themselves"
                       : "the store's disk fails; writes go on by themselves when it works again");
}

absl::Status NotApplied(absl::Status error) {
  MarkNotApplied(error);
  return error;
}

absl::Status StoppingError() {
  return NotApplied(MakeError(ErrorReason::kShuttingDown, "the server is stopping; ask another"));
}

absl::Status RowError() {
  return NotApplied(
      MakeError(ErrorReason::kInternal,
                "the item's stored count disagrees with its likes; an operator should "
                "audit and repair it"));
}

}  // namespace

WriteLoop::WriteLoop(std::unique_ptr<Database> database, const Options& options)
    : options_(options),
      writer_(std::make_unique<LikeWriter>(std::move(database))),
      combiner_({.mutations_max = options.mutations_max, .retries_max = 0}),
      next_checkpoint_pages_(options.checkpoint_pages),
      patience_({.wait_max = options.wait_max, .batch_rows_max = options.batch_rows_max}),
      thread_(&WriteLoop::Run, this) {}

void WriteLoop::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    arrived_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

absl::Status WriteLoop::Health() const {
  MutexLock lock(mutex_);
  if (stopping_) return MakeError(ErrorReason::kShuttingDown, "the store is stopping");
  return write_health_.ok() ? checkpoint_health_ : write_health_;
}

Task<std::vector<absl::StatusOr<Applied>>> WriteLoop::Apply(std::vector<Mutation> mutations,
                                                            CallLimits limits) {
  ApplyCall call;
  call.mutations = std::move(mutations);
  call.limits = std::move(limits);
  Admit(call);
  if (call.taken == 0) co_return std::move(call.results);
  auto start = [this, &call](Resumer<Results> resume) {
    call.resume = resume;
    Push(call);
  };
  CallbackAwaitable<Results, decltype(start)> applied(start);
  co_return co_await applied;
}

QueuePatience::Queue WriteLoop::QueueNow() const {
  QueuePatience::Queue queue;
  queue.waiting = held_ - writing_;
  queue.under_way = writing_since_.has_value() ? 1 : 0;
  if (writing_since_.has_value()) queue.since = *writing_since_;
  return queue;
}

// Takes the call's first mutations, as many as there is room and time for, and refuses the others.
void WriteLoop::Admit(ApplyCall& call) {
  const int wanted = static_cast<int>(call.mutations.size());
  absl::Status refused = WriteCombiner::FullError();
  const MonotonicTime now = options_.clock->MonotonicNow();
  int depth = 0;
  {
    MutexLock lock(mutex_);
    if (stopping_) {
      refused = StoppingError();
    } else if (!patience_.Takes(QueueNow(), call.limits.deadline, now)) {
      refused = WriteCombiner::SlowError();
    } else {
      call.taken = std::min(wanted, options_.mutations_max - held_);
      held_ += call.taken;
    }
    depth = held_;
  }
  call.open = call.taken;
  call.results.assign(call.mutations.size(), refused);
  if (options_.observer == nullptr || wanted == 0) return;
  options_.observer->OnQueueDepth(StoreQueue::kWrites, depth);
  if (call.taken < wanted) {
    options_.observer->OnErrors(StoreQueue::kWrites, ReasonOf(refused), wanted - call.taken);
  }
}

void WriteLoop::Push(ApplyCall& call) {
  MutexLock lock(mutex_);
  inbox_.push_back(&call);
  if (asleep_) arrived_.NotifyOne();
}

Task<WriteLoop::Repaired> WriteLoop::Repair(std::vector<AuditFinding> findings) {
  RepairCall call;
  call.findings = std::move(findings);
  {
    MutexLock lock(mutex_);
    if (stopping_) co_return StoppingError();
    if (repairing_)
      co_return NotApplied(MakeError(ErrorReason::kOverloaded, "a repair is running"));
    repairing_ = true;
  }
  auto start = [this, &call](Resumer<Repaired> resume) {
    call.resume = resume;
    Push(call);
  };
  CallbackAwaitable<Repaired, decltype(start)> repaired(start);
  co_return co_await repaired;
}

void WriteLoop::Push(RepairCall& call) {
  MutexLock lock(mutex_);
  repair_ = &call;
  if (asleep_) arrived_.NotifyOne();
}

void WriteLoop::Run() {
  while (TakeArrived()) {
    if (Recover()) {
      BatchBegins();
      BatchEnded(WriteBatch());
    }
    Deliver();
    RepairArrived();
    Checkpoint();
  }
}

bool WriteLoop::TakeArrived() {
  std::vector<ApplyCall*> taken;
  {
    MutexLock lock(mutex_);
    const MonotonicTime probe_at = std::chrono::steady_clock::now() + options_.probe_interval;
    bool probe = false;
    asleep_ = true;
    while (inbox_.empty() && combiner_.mutations() == 0 && repair_ == nullptr && !probe) {
      // A call that was admitted may not have been pushed yet: it is waited for, too.
      if (stopping_ && held_ == 0 && !repairing_) return false;
      writing_since_.reset();
      if (failing_) {
        arrived_.WaitUntil(mutex_, probe_at);
        probe = std::chrono::steady_clock::now() >= probe_at;
      } else {
        arrived_.Wait(mutex_);
      }
    }
    asleep_ = false;
    taken.swap(inbox_);
  }
  for (ApplyCall* call : taken) {
    for (int i = 0; i < call->taken; ++i) {
      const Ticket ticket{call, i};
      // The combiner has room: what was admitted and has not ended is within the same limit.
      if (!combiner_.Push(call->mutations[static_cast<size_t>(i)], call->limits, ticket)) {
        ended_.push_back({ticket, WriteCombiner::FullError()});
      }
    }
  }
  return true;
}

bool WriteLoop::Recover() {
  if (writer_ == nullptr) {
    std::string ignored;
    std::unique_ptr<Database> database =
        Database::Open(options_.path, Database::Use::kWrite, options_.page_cache_kib, ignored);
    if (database == nullptr) {
      combiner_.FailWaiting(NotApplied(DiskError(DatabaseCode::kIoError)), ended_);
      return false;
    }
    writer_ = std::make_unique<LikeWriter>(std::move(database));
  }
  if (!failing_ || combiner_.mutations() > 0) return true;  // A batch is as good as a probe.
  const DatabaseCode code = writer_->Probe();
  if (code == DatabaseCode::kOk) {
    failing_ = false;
    SetHealth(write_health_, absl::OkStatus());
  } else if (code == DatabaseCode::kFlushFailed) {
    writer_.reset();
  }
  return false;
}

std::optional<WriteUnit> WriteLoop::NextUnit(int rows_used) {
  if (rows_used >= options_.batch_rows_max) return std::nullopt;
  return combiner_.NextUnit(options_.batch_rows_max - rows_used, options_.clock->MonotonicNow(),
                            ended_);
}

void WriteLoop::BatchBegins() {
  const MonotonicTime now = options_.clock->MonotonicNow();
  MutexLock lock(mutex_);
  writing_ = std::min(combiner_.mutations(), options_.batch_rows_max);
  if (!writing_since_.has_value()) writing_since_ = now;
}

void WriteLoop::BatchEnded(bool committed) {
  const MonotonicTime now = options_.clock->MonotonicNow();
  absl::Duration wait;
  {
    MutexLock lock(mutex_);
    // What failed says nothing of the pace, and a lock of others is waited out.
    if (committed) patience_.Ended(*writing_since_, now);
    writing_since_.reset();
    // What the loop does now takes from the time of the batch that follows.
    if (committed) writing_since_ = now;
    wait = patience_.Wait(QueueNow(), now);
  }
  if (options_.observer != nullptr && committed) options_.observer->OnWriteWait(wait);
}

bool WriteLoop::WriteBatch() {
  // Halves of a unit that failed may fail again: then only that unit is undone.
  const bool undoable = combiner_.has_retries();
  const MonotonicTime began = std::chrono::steady_clock::now();
  CommittedBatch batch;
  executed_.clear();
  std::optional<WriteUnit> unit = NextUnit(0);
  if (!unit) return false;
  DatabaseCode code = writer_->Begin();
  if (code != DatabaseCode::kOk) {
    AbortBatch(code, unit->id);
    return false;
  }
  int rows_used = 0;
  for (; unit; unit = NextUnit(rows_used)) {
    const UnitId id = unit->id;
    rows_used += static_cast<int>(unit->rows.size());
    code = ExecuteUnit(*std::move(unit), undoable);
    if (code != DatabaseCode::kOk) {
      AbortBatch(code, id);
      return false;
    }
  }
  code = writer_->Commit();
  if (code != DatabaseCode::kOk) {
    AbortCommit(code);
    return false;
  }

  for (const ExecutedUnit& done : executed_) {
    ++batch.units;
    batch.rows += static_cast<int>(done.unit.rows.size());
    batch.mutations += done.unit.mutations;
    combiner_.Complete(done.unit.id, done.outcomes, ended_);
  }
  batch.duration = Between(began, std::chrono::steady_clock::now());
  if (options_.observer != nullptr && batch.units > 0) options_.observer->OnBatchCommitted(batch);
  locked_out_since_.reset();
  if (failing_) {
    failing_ = false;
    SetHealth(write_health_, absl::OkStatus());
  }
  return true;
}

// Adds the unit to the open transaction. With `undoable`, a unit that is itself at fault is undone
// and goes back to the combiner in halves: that is kOk, too.
DatabaseCode WriteLoop::ExecuteUnit(WriteUnit unit, bool undoable) {
  std::vector<Applied> outcomes;
  const absl::Time now = options_.clock->WallNow();
  DatabaseCode code = undoable ? writer_->MarkUnit() : DatabaseCode::kOk;
  if (code == DatabaseCode::kOk) code = writer_->Apply(unit, now, outcomes);
  if (code == DatabaseCode::kOk && undoable) code = writer_->KeepUnit();
  if (code == DatabaseCode::kOk) {
    executed_.push_back({std::move(unit), std::move(outcomes)});
    return code;
  }
  if (!undoable || code != DatabaseCode::kConstraint) return code;
  if (writer_->UndoUnit() != DatabaseCode::kOk) return code;
  combiner_.Fail(unit.id, UnitFailure::kRejected, RowError(), ended_);
  return DatabaseCode::kOk;
}

void WriteLoop::RepairArrived() {
  RepairCall* call = nullptr;
  {
    MutexLock lock(mutex_);
    call = std::exchange(repair_, nullptr);
  }
  if (call == nullptr) return;
  Repaired repaired = RepairNow(call->findings);
  {
    MutexLock lock(mutex_);
    repairing_ = false;
  }
  // It leaves the call first: the call ends while the resumer runs.
  Resumer<Repaired> resume = *call->resume;
  resume(std::move(repaired));
}

WriteLoop::Repaired WriteLoop::RepairNow(const std::vector<AuditFinding>& findings) {
  if (writer_ == nullptr) return NotApplied(DiskError(DatabaseCode::kIoError));
  DatabaseCode code = writer_->Begin();
  if (code == DatabaseCode::kBusy) {
    return NotApplied(MakeError(ErrorReason::kStoreUnavailable,
                                "another process holds the store's file; try again"));
  }
  std::vector<RepairedCounter> repaired;
  if (code == DatabaseCode::kOk) {
    code = writer_->Repair(findings, options_.clock->WallNow(), repaired);
  }
  const bool complete = code == DatabaseCode::kOk;
  if (complete) code = writer_->Commit();
  if (code == DatabaseCode::kOk) return repaired;
  RollBack(code);
  absl::Status error = IsOfDisk(code) ? DiskError(code) : RowError();
  // Only a commit can fail and be there all the same.
  if (!complete) MarkNotApplied(error);
  return error;
}

void WriteLoop::AbortBatch(DatabaseCode code, UnitId unit) {
  RollBack(code);
  // Nothing was committed, so nothing was applied, whatever the rollback says.
  if (IsOfDisk(code)) {
    const absl::Status error = NotApplied(DiskError(code));
    combiner_.Fail(unit, UnitFailure::kFinal, error, ended_);
    FailExecuted(UnitFailure::kFinal, error);
    return;
  }
  const bool locked = code == DatabaseCode::kBusy;
  combiner_.Fail(unit, locked ? UnitFailure::kNotSent : UnitFailure::kRejected, RowError(), ended_);
  FailExecuted(UnitFailure::kNotSent, RowError());
  if (locked) WaitOutLock();
}

void WriteLoop::AbortCommit(DatabaseCode code) {
  RollBack(code);
  if (code == DatabaseCode::kBusy) {
    FailExecuted(UnitFailure::kNotSent, RowError());
    return WaitOutLock();
  }
  // On a full disk the log has no commit mark, so that not even a recovery can bring the
  // transaction back. After any other failure it might.
  const absl::Status error = DiskError(code);
  FailExecuted(UnitFailure::kFinal,
               code == DatabaseCode::kFull && writer_ != nullptr ? NotApplied(error) : error);
}

// Ends the open transaction; leaves no connection if its state is in doubt.
void WriteLoop::RollBack(DatabaseCode code) {
  const bool rolled_back = writer_->Rollback();
  if (!rolled_back || code == DatabaseCode::kFlushFailed) writer_.reset();
  if (!IsOfDisk(code) && rolled_back) return;
  failing_ = true;
  SetHealth(write_health_, DiskError(code));
}

void WriteLoop::FailExecuted(UnitFailure failure, const absl::Status& error) {
  for (const ExecutedUnit& done : executed_) {
    combiner_.Fail(done.unit.id, failure, error, ended_);
  }
}

// Another process holds the file's lock. What waits behind the batch that meets it must not wait
// longer than it wants to.
void WriteLoop::WaitOutLock() {
  combiner_.DropUnwanted(options_.clock->MonotonicNow(), ended_);
  const MonotonicTime now = std::chrono::steady_clock::now();
  MutexLock lock(mutex_);
  if (stopping_) {
    if (!locked_out_since_) locked_out_since_ = now;
    if (now - *locked_out_since_ >= kBusyAtStopMax) combiner_.FailWaiting(StoppingError(), ended_);
  }
  arrived_.WaitUntil(mutex_, now + kBusyPause);
}

void WriteLoop::Checkpoint() {
  if (writer_ == nullptr) return;
  const int pages = writer_->database().wal_pages();
  if (pages < options_.checkpoint_pages) next_checkpoint_pages_ = options_.checkpoint_pages;
  if (pages < next_checkpoint_pages_) return;
  const DatabaseCode code =
      writer_->database().Checkpoint(pages >= kRestartFactor * options_.checkpoint_pages);
  // While a reader keeps the log from starting again, it must not be copied at every commit.
  next_checkpoint_pages_ = pages + options_.checkpoint_pages;
  // The log keeps what could not be copied, so no write is in doubt; but the log grows.
  SetHealth(checkpoint_health_, IsOfDisk(code) ? DiskError(code) : absl::OkStatus());
}

void WriteLoop::Deliver() {
  if (ended_.empty()) return;
  std::vector<ApplyCall*> finished;
  for (EndedMutation& one : ended_) {
    auto* const call = static_cast<ApplyCall*>(one.ticket.call);
    call->results[static_cast<size_t>(one.ticket.position)] = one.result;
    if (--call->open == 0) finished.push_back(call);
  }
  int depth = 0;
  {
    MutexLock lock(mutex_);
    held_ -= static_cast<int>(ended_.size());
    writing_ = 0;
    depth = held_;
  }
  if (options_.observer != nullptr) {
    ReportErrors(ended_);
    options_.observer->OnQueueDepth(StoreQueue::kWrites, depth);
  }
  ended_.clear();
  for (ApplyCall* call : finished) {
    // Both leave the call first: it ends while the resumer runs.
    Resumer<Results> resume = *call->resume;
    Results results = std::move(call->results);
    resume(std::move(results));
  }
}

void WriteLoop::ReportErrors(const std::vector<EndedMutation>& ended) const {
  std::array<int, 16> by_reason = {};
  for (const EndedMutation& one : ended) {
    if (!one.result.ok()) ++by_reason[static_cast<size_t>(ReasonOf(one.result.status()))];
  }
  for (size_t reason = 0; reason < by_reason.size(); ++reason) {
    if (by_reason[reason] == 0) continue;
    options_.observer->OnErrors(StoreQueue::kWrites, static_cast<ErrorReason>(reason),
                                by_reason[reason]);
  }
}

void WriteLoop::SetHealth(absl::Status& which, const absl::Status& health) {
  MutexLock lock(mutex_);
  which = health;
}

}  // namespace counter::sqlite
