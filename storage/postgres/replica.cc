#include "storage/postgres/replica.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "base/error.h"
#include "storage/postgres/replica_age.h"

namespace counter::postgres {
namespace {

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

// Seen by the router only.
absl::Status Behind() {
  return MakeError(ErrorReason::kStoreUnavailable, "the replica is too far behind");
}

}  // namespace

Replica::Replica(boost::asio::io_context& loop, const Options& options, Link::Options link,
                 const LagMeter& meter, const PrimaryHistory& primary)
    : options_(options),
      meter_(meter),
      primary_(primary),
      counts_(options.counts),
      pairs_(options.pairs),
      next_rest_(options.rest_first),
      link_(loop, Watched(std::move(link)), *this) {}

Link::Options Replica::Watched(Link::Options link) {
  link.probe = AskPosition();
  link.probed = [this](const Table& answer, MonotonicTime) { return Probed(answer); };
  link.veto = [this](const SessionFacts& facts) { return VetoReplica(facts, primary_); };
  return link;
}

std::optional<std::string> Replica::Probed(const Table& answer) {
  const absl::StatusOr<ReplicaPosition> position = DecodePosition(answer);
  if (!position.ok()) return "the replica cannot say where it is";
  position_ = *position;
  if (!position->in_recovery) return "the replica was promoted";
  if (position->store_id != primary_.newest().store_id)
    return "the replica is of another store than the primary";
  return std::nullopt;
}

// ---- Where it is.

std::optional<MonotonicTime> Replica::FreshAt(const ReplicaPosition& position) const {
  return ReplicaFreshAt(position, link_.facts(), primary_, meter_);
}

std::optional<absl::Duration> Replica::lag(MonotonicTime now) const {
  if (!link_.ready() || !position_.has_value()) return std::nullopt;
  const std::optional<MonotonicTime> fresh_at = FreshAt(*position_);
  if (!fresh_at.has_value()) return std::nullopt;
  return Between(*fresh_at, now);
}

bool Replica::usable(MonotonicTime now) const {
  if (now < rest_until_ || link_.Silent(now) > options_.patience) return false;
  const std::optional<absl::Duration> behind = lag(now);
  return behind.has_value() && *behind <= options_.lag_max;
}

void Replica::Rest() {
  const MonotonicTime now = Now();
  if (now < rest_until_) return;  // One failure, met by several reads.
  rest_until_ = now + next_rest_;
  next_rest_ = std::min(2 * next_rest_, options_.rest_max);
  ++stats_.rests;
}

ReplicaStats Replica::Stats(MonotonicTime now) const {
  ReplicaStats stats = stats_;
  stats.usable = usable(now);
  stats.lag = lag(now);
  return stats;
}

// ---- Reading.

bool Replica::PushCounts(std::vector<Item> items, const CallLimits& limits,
                         CountsBatcher::Done& done) {
  CallLimits here = limits;
  here.deadline = std::min(here.deadline, Now() + options_.patience);
  return counts_.Push(std::move(items), here, done);
}

bool Replica::PushPairs(std::vector<Pair> pairs, const CallLimits& limits,
                        PairsBatcher::Done& done) {
  CallLimits here = limits;
  here.deadline = std::min(here.deadline, Now() + options_.patience);
  return pairs_.Push(std::move(pairs), here, done);
}

void Replica::Pump() {
  if (!link_.ready()) return;
  if (!counts_.in_batch() && (link_.pipelined() || !pairs_.in_batch())) SendCounts();
  if (!pairs_.in_batch() && (link_.pipelined() || !counts_.in_batch())) SendPairs();
}

void Replica::SendCounts() {
  const std::vector<Item> items = counts_.TakeBatch(Now());
  if (items.empty()) return;
  ++stats_.statements;
  link_.Send({AskPosition(), ReadCounts(items)},
             [this, keys = items.size()](const UnitReply& reply) {
               absl::StatusOr<std::vector<ItemCount>> answers = Behind();
               if (reply.fate == UnitFate::kCommitted)
                 answers = DecodeCounts(reply.tables[1], static_cast<int>(keys));
               if (answers.ok())
                 for (ItemCount& count : *answers) count.source = ReadSource::kReplica;
               Ended(counts_, reply, answers, keys);
             });
}

void Replica::SendPairs() {
  const std::vector<Pair> pairs = pairs_.TakeBatch(Now());
  if (pairs.empty()) return;
  ++stats_.statements;
  link_.Send({AskPosition(), ReadPairsWithVersions(pairs)},
             [this, keys = pairs.size()](const UnitReply& reply) {
               absl::StatusOr<std::vector<PairState>> answers = Behind();
               if (reply.fate == UnitFate::kCommitted)
                 answers = DecodePairsWithVersions(reply.tables[1], static_cast<int>(keys));
               Ended(pairs_, reply, answers, keys);
             });
}

template <class Batcher, class Answers>
void Replica::Ended(Batcher& batcher, const UnitReply& reply, const Answers& answers, size_t keys) {
  if (reply.fate != UnitFate::kCommitted) {
    stats_.keys_failed += static_cast<int64_t>(keys);
    Rest();
    batcher.Fail(ToStatus(reply.error), false);
    Pump();
    return;
  }
  const absl::StatusOr<ReplicaPosition> position = DecodePosition(reply.tables[0]);
  std::optional<MonotonicTime> fresh_at;
  if (position.ok()) {
    position_ = *position;
    fresh_at = FreshAt(*position);
  }
  const MonotonicTime now = Now();
  if (!answers.ok() || !MayAnswer(fresh_at, now, options_.lag_max)) {
    stats_.keys_behind += static_cast<int64_t>(keys);
    batcher.Fail(answers.ok() ? Behind() : answers.status(), false);
  } else {
    next_rest_ = options_.rest_first;
    stats_.keys_answered += static_cast<int64_t>(keys);
    batcher.Complete(*answers, absl::Now() - Between(*fresh_at, now));
  }
  Pump();
}

void Replica::DropUnwanted() {
  const MonotonicTime now = Now();
  counts_.DropUnwanted(now);
  pairs_.DropUnwanted(now);
}

void Replica::TimedOut(size_t keys) {
  stats_.keys_timed_out += static_cast<int64_t>(keys);
  Rest();
}

void Replica::LinkReady(Link&) {
  position_.reset();
  Pump();
}

void Replica::LinkDown(Link&) { position_.reset(); }

}  // namespace counter::postgres
