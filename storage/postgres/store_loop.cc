#include "storage/postgres/store_loop.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "storage/postgres/migrate.h"

namespace counter::postgres {
namespace {

namespace asio = boost::asio;

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

// How often the store looks at deadlines and at the state of its links.
constexpr absl::Duration kBusyTick = absl::Milliseconds(10);
constexpr absl::Duration kIdleTick = absl::Milliseconds(100);

absl::Status Unavailable() {
  absl::Status error = MakeError(ErrorReason::kStoreUnavailable,
                                 "the store cannot be reached at the moment; try again");
  MarkNotApplied(error);
  return error;
}

}  // namespace

absl::Status ReadsOverloaded() {
  absl::Status error =
      MakeError(ErrorReason::kOverloaded, "too many reads wait for the store; try again later");
  MarkNotApplied(error);
  return error;
}

// ---- Starting and stopping.

StoreLoop::StoreLoop(StoreOptions options, const DatabaseUrl& url)
    : options_(std::move(options)),
      url_(url),
      calls_(options_.observer),
      health_(absl::UnavailableError("not connected yet")) {
  for (int i = 0; i < options_.lanes; ++i) {
    Lane::Options lane;
    lane.number = i;
    lane.batch_rows_max = options_.batch_rows_max;
    lane.units_in_flight_max = options_.units_in_flight_max;
    lane.combiner.mutations_max = options_.mutations_max;
    lane.observer = options_.observer;
    lanes_.push_back(std::make_unique<Lane>(
        loop_, lane, LinkOptions(absl::StrCat("lane ", i), i, false), *this));
  }
  Reader::Options reader;
  reader.counts.waiting_keys_max = options_.read_keys_max;
  reader.pairs.waiting_keys_max = options_.read_keys_max;
  reader.reads_max = options_.reads_max;
  reader_ = std::make_unique<Reader>(loop_, reader, LinkOptions("reads", options_.lanes, true));
}

Link::Options StoreLoop::LinkOptions(const std::string& name, int number, bool probe) {
  Link::Options link;
  link.name = name;
  link.connection.conninfo = url_.conninfo;
  link.connection.pooled = url_.pooled;
  link.connection.replicated = options_.durability == Durability::kReplicated;
  link.connection.application_name = options_.application_name;
  link.connection.statement_timeout = options_.statement_timeout;
  link.connection.lock_timeout = options_.lock_timeout;
  link.connection.tcp_timeout = options_.tcp_timeout;
  link.needs.durability = options_.durability;
  link.needs.migration = MigrationHead();
  for (const ItemType type : options_.item_types) link.needs.item_types.push_back(type.value);
  link.probe = probe;
  link.seed = std::random_device()() + static_cast<uint64_t>(number);
  link.say = options_.say;
  link.changed = [this] { Look(); };
  return link;
}

absl::Status StoreLoop::Start() {
  for (const auto& lane : lanes_) lane->Start();
  reader_->Start();
  ArmTick(kIdleTick);
  thread_ = std::thread([this] { loop_.run(); });
  const MonotonicTime until = Now() + options_.open_wait;
  MutexLock lock(seen_mutex_);
  while (!health_.ok() && !refused_ && Now() < until) seen_changed_.WaitUntil(seen_mutex_, until);
  return refused_ ? health_ : absl::OkStatus();
}

void StoreLoop::Stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(gate_);
    stopped_ = true;
    while (entering_ > 0) all_entered_.Wait(gate_);
  }
  asio::post(loop_, [this] {
    stopping_ = true;
    Tick();
  });
  thread_.join();
}

// ---- Writing.

void StoreLoop::Apply(std::vector<Mutation> mutations, CallLimits limits,
                      Resumer<OpenCalls::Results> resume) {
  OpenCalls::Call& call = calls_.Add(static_cast<int>(mutations.size()), std::move(limits), resume);
  std::vector<EndedMutation> refused;
  for (size_t i = 0; i < mutations.size(); ++i) {
    const Ticket ticket = {&call, static_cast<int>(i)};
    if (!LaneOf(mutations[i].item).Push(mutations[i], call.limits, ticket))
      refused.push_back({ticket, WriteCombiner::FullError()});
  }
  // The call may be gone after each of these.
  if (!refused.empty()) calls_.End(std::move(refused));
  for (const auto& lane : lanes_) lane->Pump();
  Busy();
}

void StoreLoop::MutationsEnded(std::vector<EndedMutation> ended) { calls_.End(std::move(ended)); }

// ---- The outbox.

void StoreLoop::BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) {
  OutboxListener* listener = nullptr;
  {
    MutexLock lock(listener_mutex_);
    listener = listener_;
  }
  if (listener != nullptr) {
    listener->BatchCommitted(row, changed);
  } else {
    lanes_[static_cast<size_t>(row.lane)]->Acknowledge(row.id);
  }
}

void StoreLoop::Acknowledge(const OutboxRow& row) {
  if (!Enter()) return;
  Post([this, row] {
    if (row.lane >= 0 && row.lane < static_cast<int>(lanes_.size()))
      lanes_[static_cast<size_t>(row.lane)]->Acknowledge(row.id);
  });
}

// ---- Errands.

void StoreLoop::RunErrand(ErrandKind kind, std::vector<StatementCall> calls,
                          const CallLimits& limits, Errands::Done done) {
  std::unique_ptr<Errands>& errands = kind == ErrandKind::kAudit ? audits_ : outbox_;
  if (errands == nullptr) {
    const int number = options_.lanes + (kind == ErrandKind::kAudit ? 1 : 2);
    errands = std::make_unique<Errands>(
        loop_, LinkOptions(kind == ErrandKind::kAudit ? "audit" : "outbox", number, false),
        options_.audits_max);
    errands->Start();
  }
  if (!errands->Push(std::move(calls), limits, done)) done(ReadsOverloaded());
  Busy();
}

std::vector<Errands*> StoreLoop::AllErrands() const {
  std::vector<Errands*> all;
  for (Errands* errands : {audits_.get(), outbox_.get()})
    if (errands != nullptr) all.push_back(errands);
  for (const auto& errands : lists_) all.push_back(errands.get());
  return all;
}

// ---- Lists.

Errands& StoreLoop::LeastBusyLists() {
  for (int i = static_cast<int>(lists_.size()); i < options_.list_connections; ++i) {
    lists_.push_back(std::make_unique<Errands>(
        loop_, LinkOptions(absl::StrCat("lists ", i), options_.lanes + 3 + i, false),
        options_.lists_max));
    lists_.back()->Start();
  }
  return **std::min_element(lists_.begin(), lists_.end(),
                            [](const auto& a, const auto& b) { return a->size() < b->size(); });
}

absl::Duration StoreLoop::ListTimeout(const CallLimits& limits) const {
  if (limits.deadline == MonotonicTime::max()) return options_.statement_timeout;
  return std::min(options_.statement_timeout, Between(Now(), limits.deadline));
}

void StoreLoop::ListLikes(const LikesQuery& query, const CallLimits& limits, Errands::Done done) {
  if (!LeastBusyLists().Push(ListStatements::ListLikes(query, ListTimeout(limits)), limits, done))
    done(ReadsOverloaded());
  Busy();
}

void StoreLoop::ListLikers(const LikersQuery& query, const CallLimits& limits, Errands::Done done) {
  if (!LeastBusyLists().Push(list_statements_.ListLikers(query, ListTimeout(limits)), limits, done))
    done(ReadsOverloaded());
  Busy();
}

// ---- Time.

bool StoreLoop::idle() const {
  const std::vector<Errands*> errands = AllErrands();
  return calls_.all_answered() && reader_->idle() &&
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
  EndUnserved(now);
  Look();
  if (stopping_ && idle()) {
    tick_.cancel();
    for (const auto& lane : lanes_) lane->Stop();
    reader_->Stop();
    for (Errands* errands : AllErrands()) errands->Stop();
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
  reader_->DropUnwanted();
  for (Errands* errands : AllErrands()) errands->DropUnwanted();
}

bool StoreLoop::ServerSilent(MonotonicTime now) const {
  if (reader_->link().Silent(now) < options_.unavailable_after) return false;
  // A lane may wait for a lock as long as it likes; but some other link must have heard something.
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return Between(lane->link().heard(), now) >= options_.unavailable_after;
  });
}

void StoreLoop::EndUnserved(MonotonicTime now) {
  const bool silent = ServerSilent(now);
  for (const auto& lane : lanes_) {
    if (silent || lane->link().Unready(now) >= options_.unavailable_after)
      lane->FailWaiting(Unavailable());
  }
  if (silent || reader_->link().Unready(now) >= options_.unavailable_after)
    reader_->FailAll(Unavailable());
  for (Errands* errands : AllErrands()) {
    if (errands->link().Unready(now) >= options_.unavailable_after) errands->FailAll(Unavailable());
  }
  if (silent) {
    // Somebody waits for a list; a recount may well outlast the silence.
    for (const auto& lists : lists_) lists->FailAll(Unavailable());
    calls_.AnswerAll(MakeError(ErrorReason::kStoreUnavailable,
                               "the store stopped answering: applied zero or one time"));
  }
}

// ---- What other threads may see.

std::vector<const Link*> StoreLoop::Links() const {
  std::vector<const Link*> links;
  for (const auto& lane : lanes_) links.push_back(&lane->link());
  if (reader_ != nullptr) links.push_back(&reader_->link());
  return links;
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
  std::vector<const Link*> links = Links();
  for (const Errands* errands : AllErrands()) links.push_back(&errands->link());
  for (const Link* link : links) {
    stats.links.Add(link->stats());
    if (link->ready()) ++stats.links_ready;
  }
  return stats;
}

void StoreLoop::Look() {
  const MonotonicTime now = Now();
  absl::Status health;
  bool refused = false;
  std::string timeline;
  for (const Link* link : Links()) {
    // A link that was lost a moment ago is being connected again.
    if (!link->was_ready() || link->lasting() || link->Unready(now) >= options_.unavailable_after) {
      // What lasts is what an operator has to know.
      if (health.ok() || (link->lasting() && !refused)) health = link->status();
      if (health.ok()) health = absl::UnavailableError("connecting");
    }
    refused = refused || link->lasting();
    if (link->was_ready())
      timeline = absl::StrCat(link->facts().store_id, "t", link->facts().timeline);
  }
  if (health.ok() && ServerSilent(now))
    health = absl::UnavailableError("the server does not answer");
  const StoreStats stats = CountAll();
  if (options_.observer != nullptr) {
    int writes = 0;
    for (const auto& lane : lanes_) writes += lane->mutations();
    options_.observer->OnQueueDepth(StoreQueue::kWrites, writes);
    options_.observer->OnQueueDepth(StoreQueue::kReads, reader_->reads());
  }
  MutexLock lock(seen_mutex_);
  health_ = health;
  refused_ = refused;
  stats_ = stats;
  if (!timeline.empty()) timeline_ = timeline;
  seen_changed_.NotifyAll();
}

}  // namespace counter::postgres
