#include "storage/write_combiner.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace counter {
namespace {

absl::Status NotApplied(ErrorReason reason, absl::string_view message) {
  absl::Status error = MakeError(reason, message);
  MarkNotApplied(error);
  return error;
}

// Of those that are refused because others wait: the hint says when some of those have left.
absl::Status Overloaded(absl::string_view message, absl::Duration retry_after) {
  absl::Status error = NotApplied(ErrorReason::kOverloaded, message);
  SetRetryAfter(error, retry_after);
  return error;
}

// Made once: under overload they are given out by the thousand.
const absl::Status& ExpiredError() {
  static const absl::Status error = NotApplied(
      ErrorReason::kDeadlineExceeded,
      "the deadline passed while the write waited for its turn; try again with a longer deadline");
  return error;
}
const absl::Status& CancelledError() {
  static const absl::Status error =
      NotApplied(ErrorReason::kCancelled, "the caller gave up while the write waited for its turn");
  return error;
}

auto PrimaryKey(const UnitRow& row) { return std::tie(row.item.type, row.user, row.item.id); }

}  // namespace

absl::Status WriteCombiner::FullError() {
  static const absl::Status error =
      Overloaded("too many writes are waiting; try again later", absl::Milliseconds(100));
  return error;
}

absl::Status WriteCombiner::SlowError() {
  static const absl::Status error = Overloaded(
      "the write would have waited for the store for too long; try again later, or with a longer "
      "deadline",
      absl::Milliseconds(250));
  return error;
}

bool WriteCombiner::Push(const Mutation& mutation, const CallLimits& limits, Ticket ticket) {
  if (mutations() >= limits_.mutations_max) return false;
  ++waiting_;
  const Pair pair{mutation.user, mutation.item};
  PairQueue& queue = pairs_[pair];
  if (queue.waiting.empty() || queue.waiting.back().action != mutation.action) {
    queue.waiting.push_back(Row{pair, mutation.action, next_arrival_++, {}});
    if (queue.waiting.size() == 1 && !queue.held) MakeReady(queue.waiting.front());
  }
  queue.waiting.back().askers.push_back(Asker{ticket, limits});
  return true;
}

std::optional<WriteUnit> WriteCombiner::NextUnit(int rows_max, MonotonicTime now,
                                                 std::vector<EndedMutation>& ended) {
  std::optional<Batch> batch = NextRetry(now, ended);
  if (!batch) batch = NextFresh(rows_max, now, ended);
  if (!batch) return std::nullopt;
  return GiveOut(*std::move(batch));
}

std::optional<WriteCombiner::Batch> WriteCombiner::NextRetry(MonotonicTime now,
                                                             std::vector<EndedMutation>& ended) {
  while (!retries_.empty()) {
    Batch batch = std::move(retries_.front());
    retries_.pop_front();
    DropRows(batch, now, ended);
    if (!batch.rows.empty()) return batch;
  }
  return std::nullopt;
}

std::optional<WriteCombiner::Batch> WriteCombiner::NextFresh(int rows_max, MonotonicTime now,
                                                             std::vector<EndedMutation>& ended) {
  Batch batch;
  while (static_cast<int>(batch.rows.size()) < rows_max) {
    // The oldest row decides what the unit does; after that only its kind may join.
    if (batch.rows.empty()) batch.action = OldestAction();
    auto& ready = Ready(batch.action);
    if (ready.empty()) break;
    const Pair pair = ready.begin()->second->pair;
    ready.erase(ready.begin());
    PairQueue& queue = pairs_.find(pair)->second;
    queue.held = true;
    if (DropAskers(queue.waiting.front(), now, ended)) {
      queue.waiting.pop_front();
      Release(pair);
    } else {
      batch.rows.splice(batch.rows.end(), queue.waiting, queue.waiting.begin());
    }
  }
  if (batch.rows.empty()) return std::nullopt;
  return batch;
}

Action WriteCombiner::OldestAction() {
  const auto& likes = Ready(Action::kLike);
  const auto& unlikes = Ready(Action::kUnlike);
  if (likes.empty()) return Action::kUnlike;
  if (unlikes.empty()) return Action::kLike;
  return likes.begin()->first < unlikes.begin()->first ? Action::kLike : Action::kUnlike;
}

WriteUnit WriteCombiner::GiveOut(Batch batch) {
  WriteUnit unit;
  unit.id = next_unit_++;
  unit.action = batch.action;
  unit.mutations = CountAskers(batch.rows);
  unit.deadline = MonotonicTime::min();

  std::vector<std::pair<UnitRow, Rows::iterator>> order;
  order.reserve(batch.rows.size());
  unit.counters.reserve(batch.rows.size());
  for (auto row = batch.rows.begin(); row != batch.rows.end(); ++row) {
    order.emplace_back(UnitRow{row->pair.user, row->pair.item, 0}, row);
    unit.counters.push_back(row->pair.item);
    for (const Asker& asker : row->askers) {
      unit.deadline = std::max(unit.deadline, asker.limits.deadline);
    }
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return PrimaryKey(a.first) < PrimaryKey(b.first); });
  std::sort(unit.counters.begin(), unit.counters.end());
  unit.counters.erase(std::unique(unit.counters.begin(), unit.counters.end()), unit.counters.end());

  // The batch's own rows take the unit's order, so that outcome i finds them.
  unit.rows.reserve(order.size());
  for (auto& [row, place] : order) {
    const auto counter = std::lower_bound(unit.counters.begin(), unit.counters.end(), row.item);
    row.counter = static_cast<int>(counter - unit.counters.begin());
    unit.rows.push_back(row);
    batch.rows.splice(batch.rows.end(), batch.rows, place);
  }

  waiting_ -= unit.mutations;
  in_flight_ += unit.mutations;
  units_.emplace(unit.id, std::move(batch));
  return unit;
}

WriteCombiner::Batch WriteCombiner::TakeBack(UnitId unit) {
  const auto found = units_.find(unit);
  Batch batch = std::move(found->second);
  units_.erase(found);
  in_flight_ -= CountAskers(batch.rows);
  return batch;
}

void WriteCombiner::Complete(UnitId unit, const std::vector<Applied>& outcomes,
                             std::vector<EndedMutation>& ended) {
  const Batch batch = TakeBack(unit);
  auto outcome = outcomes.begin();
  for (const Row& row : batch.rows) {
    Applied answer = *outcome++;
    for (const Asker& asker : row.askers) {
      ended.push_back({asker.ticket, answer});
      answer.changed = false;  // Those who follow are repeats.
    }
    Release(row.pair);
  }
}

void WriteCombiner::Fail(UnitId unit, UnitFailure failure, const absl::Status& error,
                         std::vector<EndedMutation>& ended) {
  Batch batch = TakeBack(unit);
  switch (failure) {
    case UnitFailure::kNotSent:
      return Retry(std::move(batch));
    case UnitFailure::kRetryable:
      if (batch.retries >= limits_.retries_max) return EndBatch(batch, error, ended);
      ++batch.retries;
      return Retry(std::move(batch));
    case UnitFailure::kRejected: {
      if (batch.rows.size() == 1) return EndBatch(batch, error, ended);
      Batch second{batch.action, {}, batch.retries};
      second.rows.splice(second.rows.begin(), batch.rows,
                         std::next(batch.rows.begin(), static_cast<int>(batch.rows.size()) / 2),
                         batch.rows.end());
      Retry(std::move(batch));
      return Retry(std::move(second));
    }
    case UnitFailure::kFinal:
      return EndBatch(batch, error, ended);
  }
}

void WriteCombiner::Retry(Batch batch) {
  waiting_ += CountAskers(batch.rows);
  retries_.push_back(std::move(batch));
}

void WriteCombiner::EndBatch(const Batch& batch, const absl::Status& error,
                             std::vector<EndedMutation>& ended) {
  for (const Row& row : batch.rows) {
    EndRow(row, error, ended);
    Release(row.pair);
  }
}

void WriteCombiner::DropUnwanted(MonotonicTime now, std::vector<EndedMutation>& ended) {
  for (Batch& batch : retries_) DropRows(batch, now, ended);
  retries_.erase(std::remove_if(retries_.begin(), retries_.end(),
                                [](const Batch& batch) { return batch.rows.empty(); }),
                 retries_.end());
  for (auto entry = pairs_.begin(); entry != pairs_.end();) {
    PairQueue& queue = entry->second;
    if (!queue.held && !queue.waiting.empty()) Unready(queue.waiting.front());
    for (auto row = queue.waiting.begin(); row != queue.waiting.end();) {
      row = DropAskers(*row, now, ended) ? queue.waiting.erase(row) : std::next(row);
    }
    if (!queue.held && !queue.waiting.empty()) MakeReady(queue.waiting.front());
    const auto current = entry++;
    if (!queue.held && queue.waiting.empty()) pairs_.erase(current);
  }
}

void WriteCombiner::FailWaiting(const absl::Status& error, std::vector<EndedMutation>& ended) {
  std::deque<Batch> retries = std::move(retries_);
  retries_.clear();
  for (const Batch& batch : retries) {
    waiting_ -= CountAskers(batch.rows);
    EndBatch(batch, error, ended);
  }
  for (auto& ready : ready_) ready.clear();
  for (auto entry = pairs_.begin(); entry != pairs_.end();) {
    PairQueue& queue = entry->second;
    waiting_ -= CountAskers(queue.waiting);
    for (const Row& row : queue.waiting) EndRow(row, error, ended);
    queue.waiting.clear();
    const auto current = entry++;
    if (!queue.held) pairs_.erase(current);
  }
}

void WriteCombiner::DropRows(Batch& batch, MonotonicTime now, std::vector<EndedMutation>& ended) {
  for (auto row = batch.rows.begin(); row != batch.rows.end();) {
    if (DropAskers(*row, now, ended)) {
      Release(row->pair);
      row = batch.rows.erase(row);
    } else {
      ++row;
    }
  }
}

bool WriteCombiner::DropAskers(Row& row, MonotonicTime now, std::vector<EndedMutation>& ended) {
  auto kept = row.askers.begin();
  for (Asker& asker : row.askers) {
    if (asker.limits.cancellation.cancelled()) {
      ended.push_back({asker.ticket, CancelledError()});
    } else if (asker.limits.expired(now)) {
      ended.push_back({asker.ticket, ExpiredError()});
    } else {
      if (&*kept != &asker) *kept = std::move(asker);
      ++kept;
    }
  }
  waiting_ -= static_cast<int>(row.askers.end() - kept);
  row.askers.erase(kept, row.askers.end());
  return row.askers.empty();
}

void WriteCombiner::EndRow(const Row& row, const absl::Status& error,
                           std::vector<EndedMutation>& ended) {
  for (const Asker& asker : row.askers) ended.push_back({asker.ticket, error});
}

void WriteCombiner::Release(const Pair& pair) {
  const auto entry = pairs_.find(pair);
  entry->second.held = false;
  if (entry->second.waiting.empty()) {
    pairs_.erase(entry);
  } else {
    MakeReady(entry->second.waiting.front());
  }
}

int WriteCombiner::CountAskers(const Rows& rows) {
  size_t askers = 0;
  for (const Row& row : rows) askers += row.askers.size();
  return static_cast<int>(askers);
}

}  // namespace counter
