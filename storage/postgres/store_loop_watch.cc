// StoreLoop, its clock: what has waited too long, which primary is followed, what others may see.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "storage/postgres/replica_statements.h"
#include "storage/postgres/store_loop.h"

namespace counter::postgres {
namespace {

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

// A host that has been silent for so long is left, if there are others: it may have been replaced.
constexpr absl::Duration kLeaveSilentHostAfter = absl::Seconds(2);

// After a try to note the timeline that did not do it.
constexpr absl::Duration kNoteAgainAfter = absl::Seconds(1);

}  // namespace

absl::Status StoreLoop::UnavailableError() {
  absl::Status error = MakeError(ErrorReason::kStoreUnavailable,
                                 "the store cannot be reached at the moment; try again");
  MarkNotApplied(error);
  return error;
}

// ---- Time.

bool StoreLoop::idle() const {
  std::vector<Errands*> errands = AllErrands();
  for (Errands* of_replica : ReplicaErrands()) errands.push_back(of_replica);
  return calls_.all_answered() && reader_->idle() && reads_->idle() &&
         std::all_of(errands.begin(), errands.end(),
                     [](const Errands* one) { return one->idle(); });
}

void StoreLoop::Busy() {
  if (!tick_is_busy_ && !idle()) ArmTick(kBusyTick);
}

void StoreLoop::ArmTick(absl::Duration wait) {
  tick_is_busy_ = wait == kBusyTick;
  tick_.expires_after(absl::ToChronoNanoseconds(wait));
  tick_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

void StoreLoop::Tick() {
  const MonotonicTime now = Now();
  EndExpired(now);
  DropUnanswered(now);
  EndUnserved(now);
  LeaveSilentHost(now);
  Look();
  if (stopping_ && idle()) {
    tick_.cancel();
    for (const auto& lane : lanes_) lane->Stop();
    reader_->Stop();
    reads_->Stop();
    for (Errands* errands : AllErrands()) errands->Stop();
    for (Errands* errands : ReplicaErrands()) errands->Stop();
    working_.reset();
    return;
  }
  ArmTick(idle() ? kIdleTick : kBusyTick);
}

void StoreLoop::EndExpired(MonotonicTime now) {
  // Cancellation has no event: it is looked for at some of the ticks.
  constexpr int kTicksPerCancellation = 10;
  if (calls_.AnyExpired(now) || ++ticks_ % kTicksPerCancellation == 0)
    for (const auto& lane : lanes_) lane->DropUnwanted();
  calls_.AnswerExpired(now);
  reads_->Tick();
  reader_->DropUnwanted();
  for (Errands* errands : AllErrands()) errands->DropUnwanted();
  for (Errands* errands : ReplicaErrands()) errands->DropUnwanted();
}

absl::Duration StoreLoop::Silence(MonotonicTime now) const {
  absl::Duration silence = reader_->link().Silent(now);
  // A lane may wait for a lock as long as it likes; but some other link must have heard something.
  for (const auto& lane : lanes_) silence = std::min(silence, Between(lane->link().heard(), now));
  return silence;
}

void StoreLoop::LeaveSilentHost(MonotonicTime now) {
  if (!several_hosts_ || Silence(now) < kLeaveSilentHostAfter) return;
  constexpr absl::string_view kWhy = "the server does not answer; looking for another one";
  for (const auto& lane : lanes_) lane->GiveUp(kWhy);
  reader_->GiveUp(kWhy);
  for (Errands* errands : AllErrands()) errands->GiveUp(kWhy);
}

// ---- The primary.

std::optional<std::string> StoreLoop::Probed(const Table& answer, MonotonicTime asked) {
  const absl::StatusOr<ProbeFacts> facts = DecodeProbe(answer);
  if (facts.ok() && facts->writable) meter_.PrimaryAt(facts->flushed, asked);
  if (facts.ok()) commits_wait_for_standby_ = facts->standby_named;
  const bool demoted = !facts.ok() || !facts->writable;
  const bool unguarded =
      !demoted && options_.durability == Durability::kReplicated && !facts->standby_named;
  if (!demoted && !unguarded) return std::nullopt;
  const std::string why =
      demoted ? "the server is no longer the primary" : "the server no longer waits for a standby";
  // What a lane has sent to a server that was demoted ends by itself, and certainly: with 25006.
  for (const auto& lane : lanes_)
    if (unguarded || lane->nothing_sent()) lane->GiveUp(why);
  for (Errands* errands : AllErrands())
    if (errands->idle()) errands->GiveUp(why);
  return why;
}

void StoreLoop::FollowPrimary() {
  const std::string before = history_.timeline();
  for (const Link* link : AllLinks())
    if (link->ready()) history_.Took(link->facts());
  if (history_.timeline() != before) {
    meter_.Forget();
    noted_timeline_ = 0;
    for (const auto& lane : lanes_) lane->BeginHistory();
  }
  constexpr absl::string_view kWhy = "another server took over as the primary";
  for (const auto& lane : lanes_)
    if (lane->link().ready() && history_.IsOutdated(lane->link().facts())) lane->GiveUp(kWhy);
  if (reader_ == nullptr) return;
  if (reader_->link().ready() && history_.IsOutdated(reader_->link().facts()))
    reader_->GiveUp(kWhy);
  for (Errands* errands : AllErrands())
    if (errands->link().ready() && history_.IsOutdated(errands->link().facts()))
      errands->GiveUp(kWhy);
}

void StoreLoop::DropUnanswered(MonotonicTime now) {
  // By then the server itself has cancelled what ran.
  constexpr absl::Duration kPatience = absl::Seconds(2);
  const absl::Duration limit = options_.statement_timeout + kPatience;
  reader_->DropIfUnanswered(now, limit);
  for (const auto& lists : lists_) lists->DropIfUnanswered(now, limit);
  for (const auto& replica : reads_->replicas()) replica->DropIfUnanswered(now, limit);
  for (Errands* errands : ReplicaErrands()) errands->DropIfUnanswered(now, limit);
  if (copies_ != nullptr) copies_->DropIfUnanswered(now, limit);
  // A commit that waits for a standby is cancelled by no timeout, and does not end with its
  // connection: each one given up would leave a backend, with its locks, on the server.
  if (commits_wait_for_standby_) return;
  for (const auto& lane : lanes_) lane->DropIfUnanswered(now, limit);
  if (outbox_ != nullptr) outbox_->DropIfUnanswered(now, limit);
  if (audits_ != nullptr) audits_->DropIfUnanswered(now, options_.audit_timeout + kPatience);
}

void StoreLoop::EndUnserved(MonotonicTime now) {
  const bool silent = Silent(now);
  for (const auto& lane : lanes_) {
    if (silent || lane->link().Unready(now) >= options_.unavailable_after)
      lane->FailWaiting(UnavailableError());
  }
  if (silent || reader_->link().Unready(now) >= options_.unavailable_after)
    reader_->FailAll(UnavailableError());
  for (Errands* errands : AllErrands()) {
    if (errands->link().Unready(now) >= options_.unavailable_after)
      errands->FailAll(UnavailableError());
  }
  for (Errands* errands : ReplicaErrands()) {
    if (errands->link().Unready(now) >= options_.unavailable_after)
      errands->FailAll(UnavailableError());
  }
  if (silent) {
    // Somebody waits for a list; a recount may well outlast the silence.
    for (const auto& lists : lists_) lists->FailAll(UnavailableError());
    calls_.AnswerAll(MakeError(ErrorReason::kStoreUnavailable,
                               "the store stopped answering: applied zero or one time"));
  }
}

void StoreLoop::NoteTimeline() {
  const int64_t timeline = history_.timeline_number();
  if (timeline == 0 || noted_timeline_ == timeline || noting_ || stopping_ || Now() < note_from_ ||
      !reader_->link().ready() || history_.IsOutdated(reader_->link().facts())) {
    return;
  }
  noting_ = true;
  note_from_ = Now() + kNoteAgainAfter;
  reader_->Ask({postgres::NoteTimeline(timeline)}, [this, timeline](const UnitReply& reply) {
    noting_ = false;
    // Whatever went wrong: it is tried again at one of the next looks.
    if (reply.fate != UnitFate::kCommitted || timeline != history_.timeline_number()) return;
    const auto noted = DecodeNotedTimeline(reply.tables[0]);
    if (!noted.ok() || !noted->has_value()) return;
    noted_timeline_ = timeline;
    MutexLock lock(seen_mutex_);
    knows_failovers_ = true;
    seen_changed_.NotifyAll();
    if (!(*noted)->followed) return;
    Failover failover;
    failover.seen = (*noted)->seen;
    failover.kept_until = (*noted)->kept_until.value_or(absl::InfinitePast());
    failover_ = failover;
  });
}

// ---- What other threads may see.

std::vector<const Link*> StoreLoop::Links() const {
  std::vector<const Link*> links;
  for (const auto& lane : lanes_) links.push_back(&lane->link());
  if (reader_ != nullptr) links.push_back(&reader_->link());
  return links;
}

std::vector<const Link*> StoreLoop::AllLinks() const {
  std::vector<const Link*> links = Links();
  for (const Errands* errands : AllErrands()) links.push_back(&errands->link());
  return links;
}

bool StoreLoop::AnyReady() const {
  const std::vector<const Link*> links = AllLinks();
  return std::any_of(links.begin(), links.end(), [](const Link* link) { return link->ready(); });
}

StoreStats StoreLoop::CountAll() const {
  StoreStats stats;
  for (const auto& lane : lanes_) {
    stats.units += lane->stats().units;
    stats.rows += lane->stats().rows;
    stats.mutations += lane->stats().mutations;
    stats.write_retries.Add(lane->stats().retries);
    stats.bisected += lane->stats().bisected;
    stats.refused += lane->stats().refused;
  }
  stats.dropped = calls_.dropped();
  stats.read_statements = reader_->stats().statements;
  stats.read_keys_asked = reader_->stats().keys_asked;
  stats.read_keys_read = reader_->stats().keys_read;
  stats.read_retries = reader_->stats().retries;
  stats.read_keys_waiting = reader_->keys();
  stats.failovers = history_.failovers();
  const MonotonicTime now = Now();
  for (const auto& replica : reads_->replicas()) stats.replicas.push_back(replica->Stats(now));
  stats.keys_older_than_token = reads_->keys_older_than_token();
  for (const Link* link : AllLinks()) {
    stats.links.Add(link->stats());
    if (link->ready()) ++stats.links_ready;
  }
  return stats;
}

void StoreLoop::Look() {
  FollowPrimary();
  NoteTimeline();
  const MonotonicTime now = Now();
  absl::Status health;
  bool refused = false;
  for (const Link* link : Links()) {
    // A link that was lost a moment ago is being connected again.
    if (!link->was_ready() || link->lasting() || link->Unready(now) >= options_.unavailable_after) {
      // What lasts is what an operator has to know.
      if (health.ok() || (link->lasting() && !refused)) health = link->status();
      if (health.ok()) health = absl::UnavailableError("connecting");
    }
    refused = refused || link->lasting();
  }
  if (health.ok() && Silent(now)) health = absl::UnavailableError("the server does not answer");
  const StoreStats stats = CountAll();
  if (options_.observer != nullptr) {
    int writes = 0;
    absl::Duration wait;
    for (const auto& lane : lanes_) {
      writes += lane->mutations();
      wait = std::max(wait, lane->Wait(now));
    }
    options_.observer->OnQueueDepth(StoreQueue::kWrites, writes);
    options_.observer->OnWriteWait(wait);
    options_.observer->OnQueueDepth(StoreQueue::kReads, reader_->reads());
  }
  MutexLock lock(seen_mutex_);
  health_ = health;
  refused_ = refused;
  stats_ = stats;
  if (const std::string timeline = history_.timeline(); !timeline.empty()) timeline_ = timeline;
  seen_changed_.NotifyAll();
}

}  // namespace counter::postgres
