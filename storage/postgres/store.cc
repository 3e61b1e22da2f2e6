#include "storage/postgres/store.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <random>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "storage/postgres/database_url.h"
#include "storage/postgres/errands.h"
#include "storage/postgres/lane.h"
#include "storage/postgres/migrate.h"
#include "storage/postgres/reader.h"

namespace counter::postgres {
namespace {

namespace asio = boost::asio;

using Results = std::vector<absl::StatusOr<Applied>>;

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

absl::Status UnknownAfter(ErrorReason reason, absl::string_view what) {
  return MakeError(reason, absl::StrCat(what, ": applied zero or one time"));
}

absl::Status ShuttingDown() {
  absl::Status error = MakeError(ErrorReason::kShuttingDown, "the server is shutting down");
  MarkNotApplied(error);
  return error;
}

absl::Status Overloaded() {
  absl::Status error =
      MakeError(ErrorReason::kOverloaded, "too many reads wait for the store; try again later");
  MarkNotApplied(error);
  return error;
}

std::vector<Item> ItemsOf(const std::vector<ItemRead>& reads) {
  std::vector<Item> items;
  items.reserve(reads.size());
  for (const ItemRead& read : reads) items.push_back(read.item);
  return items;
}

}  // namespace

// All members are the loop thread's but those that a mutex guards.
class PostgresStore::Impl final : public Lane::Host {
 public:
  explicit Impl(StoreOptions options, const DatabaseUrl& url);
  ~Impl() override { Stop(); }

  absl::Status Start();
  void Stop();

  // Lets a call in; false after Stop(). Each true is followed by one Post().
  bool Enter() {
    MutexLock lock(gate_);
    if (stopped_) return false;
    ++entering_;
    return true;
  }
  template <class Work>
  void Post(Work work) {
    asio::post(loop_, std::move(work));
    MutexLock lock(gate_);
    if (--entering_ == 0) all_entered_.NotifyAll();
  }

  void Apply(std::vector<Mutation> mutations, CallLimits limits, Resumer<Results> resume);
  Reader& reader() { return *reader_; }
  void ReadsPushed() {
    reader_->Pump();
    Busy();
  }
  void RunErrand(ErrandKind kind, std::vector<StatementCall> calls, const CallLimits& limits,
                 Errands::Done done);
  StatementCall AuditLimits() const {
    return SetForTransaction(options_.audit_timeout, options_.lock_timeout);
  }

  void SetListener(OutboxListener* listener) {
    MutexLock lock(listener_mutex_);
    listener_ = listener;
  }
  void Acknowledge(const OutboxRow& row);

  std::string Timeline() const {
    MutexLock lock(seen_mutex_);
    return timeline_;
  }
  absl::Status Health() const {
    MutexLock lock(seen_mutex_);
    return health_;
  }
  StoreStats Stats() const {
    MutexLock lock(seen_mutex_);
    return stats_;
  }

  void MutationsEnded(std::vector<EndedMutation> ended) override;
  void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) override;

 private:
  // One Apply. It stays until every one of its mutations has ended, even if its caller was answered
  // before.
  struct Call {
    Results results;
    std::vector<bool> ended;
    int open = 0;
    bool answered = false;
    CallLimits limits;
    std::optional<Resumer<Results>> resume;
    std::list<Call>::iterator self;
  };

  Link::Options LinkOptions(const std::string& name, int number, bool probe);
  Lane& LaneOf(const Item& item) {
    return *lanes_[static_cast<size_t>(BucketOf(item)) * lanes_.size() / kBuckets];
  }

  void EndMutation(Call& call, int position, absl::StatusOr<Applied> result);
  // Answers the caller with what is known; mutations that have not ended get `error`.
  void Answer(Call& call, const absl::Status& error);
  void EraseIfOver(Call& call);

  void Busy();
  void ArmTick(absl::Duration wait);
  void Tick();
  void EndExpired(MonotonicTime now);
  void EndUnserved(MonotonicTime now);
  bool ServerSilent(MonotonicTime now) const;
  void Look();
  std::vector<const Link*> Links() const;
  bool idle() const;

  const StoreOptions options_;
  const DatabaseUrl url_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> working_{loop_.get_executor()};
  asio::steady_timer tick_{loop_};
  bool tick_is_busy_ = false;
  int ticks_ = 0;
  bool stopping_ = false;
  int64_t dropped_ = 0;

  std::list<Call> calls_;
  absl::btree_set<std::pair<MonotonicTime, Call*>> deadlines_;  // Of calls that were not answered.
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Errands> audits_;  // Null before the first.
  std::unique_ptr<Errands> outbox_;

  Mutex gate_;
  CondVar all_entered_;
  bool stopped_ ABSL_GUARDED_BY(gate_) = false;
  int entering_ ABSL_GUARDED_BY(gate_) = 0;

  Mutex listener_mutex_;
  OutboxListener* listener_ ABSL_GUARDED_BY(listener_mutex_) = nullptr;

  mutable Mutex seen_mutex_;
  CondVar seen_changed_;
  absl::Status health_ ABSL_GUARDED_BY(seen_mutex_);
  std::string timeline_ ABSL_GUARDED_BY(seen_mutex_) = "unknown";
  bool refused_ ABSL_GUARDED_BY(seen_mutex_) = false;  // Lasting.
  StoreStats stats_ ABSL_GUARDED_BY(seen_mutex_);

  std::thread thread_;
};

// ---- Starting and stopping.

PostgresStore::Impl::Impl(StoreOptions options, const DatabaseUrl& url)
    : options_(std::move(options)),
      url_(url),
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
  reader_ = std::make_unique<Reader>(loop_, reader, LinkOptions("reads", options_.lanes, true));
}

Link::Options PostgresStore::Impl::LinkOptions(const std::string& name, int number, bool probe) {
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

absl::Status PostgresStore::Impl::Start() {
  for (const auto& lane : lanes_) lane->Start();
  reader_->Start();
  ArmTick(kIdleTick);
  thread_ = std::thread([this] { loop_.run(); });
  const MonotonicTime until = Now() + options_.open_wait;
  MutexLock lock(seen_mutex_);
  while (!health_.ok() && !refused_ && Now() < until) seen_changed_.WaitUntil(seen_mutex_, until);
  return refused_ ? health_ : absl::OkStatus();
}

void PostgresStore::Impl::Stop() {
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

void PostgresStore::Impl::Apply(std::vector<Mutation> mutations, CallLimits limits,
                                Resumer<Results> resume) {
  calls_.emplace_back();
  Call& call = calls_.back();
  call.self = std::prev(calls_.end());
  call.results.assign(mutations.size(), absl::UnknownError("not ended"));
  call.ended.resize(mutations.size());
  call.open = static_cast<int>(mutations.size());
  call.limits = std::move(limits);
  call.resume = std::move(resume);
  deadlines_.insert({call.limits.deadline, &call});
  std::vector<EndedMutation> refused;
  for (size_t i = 0; i < mutations.size(); ++i) {
    const Ticket ticket = {&call, static_cast<int>(i)};
    if (!LaneOf(mutations[i].item).Push(mutations[i], call.limits, ticket))
      refused.push_back({ticket, WriteCombiner::FullError()});
  }
  // The call may be gone after each of these.
  if (!refused.empty()) MutationsEnded(std::move(refused));
  for (const auto& lane : lanes_) lane->Pump();
  Busy();
}

void PostgresStore::Impl::MutationsEnded(std::vector<EndedMutation> ended) {
  for (EndedMutation& mutation : ended) {
    Call& call = *static_cast<Call*>(mutation.ticket.call);
    EndMutation(call, mutation.ticket.position, std::move(mutation.result));
    EraseIfOver(call);
  }
}

void PostgresStore::Impl::EndMutation(Call& call, int position, absl::StatusOr<Applied> result) {
  const auto at = static_cast<size_t>(position);
  const ErrorReason reason = ReasonOf(result.status());
  if (reason == ErrorReason::kDeadlineExceeded || reason == ErrorReason::kCancelled) ++dropped_;
  if (!result.ok() && options_.observer != nullptr)
    options_.observer->OnErrors(StoreQueue::kWrites, reason, 1);
  if (!call.answered) call.results[at] = std::move(result);
  call.ended[at] = true;
  --call.open;
}

void PostgresStore::Impl::EraseIfOver(Call& call) {
  if (call.open > 0) return;
  if (!call.answered) Answer(call, absl::OkStatus());
  calls_.erase(call.self);
}

void PostgresStore::Impl::Answer(Call& call, const absl::Status& error) {
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!call.ended[i]) call.results[i] = error;
  }
  call.answered = true;
  deadlines_.erase({call.limits.deadline, &call});
  Resumer<Results> resume = *std::exchange(call.resume, std::nullopt);
  resume(std::move(call.results));
}

// ---- The outbox.

void PostgresStore::Impl::BatchCommitted(const OutboxRow& row,
                                         const std::vector<ChangedItem>& changed) {
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

void PostgresStore::Impl::Acknowledge(const OutboxRow& row) {
  if (!Enter()) return;
  Post([this, row] {
    if (row.lane >= 0 && row.lane < static_cast<int>(lanes_.size()))
      lanes_[static_cast<size_t>(row.lane)]->Acknowledge(row.id);
  });
}

// ---- Errands.

void PostgresStore::Impl::RunErrand(ErrandKind kind, std::vector<StatementCall> calls,
                                    const CallLimits& limits, Errands::Done done) {
  std::unique_ptr<Errands>& errands = kind == ErrandKind::kAudit ? audits_ : outbox_;
  if (errands == nullptr) {
    const int number = options_.lanes + (kind == ErrandKind::kAudit ? 1 : 2);
    errands = std::make_unique<Errands>(
        loop_, LinkOptions(kind == ErrandKind::kAudit ? "audit" : "outbox", number, false),
        options_.audits_max);
    errands->Start();
  }
  if (!errands->Push(std::move(calls), limits, done)) done(Overloaded());
  Busy();
}

// ---- Time.

bool PostgresStore::Impl::idle() const {
  return deadlines_.empty() && reader_->idle() && (audits_ == nullptr || audits_->idle()) &&
         (outbox_ == nullptr || outbox_->idle());
}

void PostgresStore::Impl::Busy() {
  if (!tick_is_busy_ && !idle()) ArmTick(kBusyTick);
}

void PostgresStore::Impl::ArmTick(absl::Duration wait) {
  tick_is_busy_ = wait == kBusyTick;
  tick_.expires_after(absl::ToChronoNanoseconds(wait));
  tick_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

void PostgresStore::Impl::Tick() {
  const MonotonicTime now = Now();
  EndExpired(now);
  EndUnserved(now);
  Look();
  if (stopping_ && idle()) {
    tick_.cancel();
    for (const auto& lane : lanes_) lane->Stop();
    reader_->Stop();
    for (Errands* errands : {audits_.get(), outbox_.get()})
      if (errands != nullptr) errands->Stop();
    working_.reset();
    return;
  }
  ArmTick(idle() ? kIdleTick : kBusyTick);
}

void PostgresStore::Impl::EndExpired(MonotonicTime now) {
  // Cancellation has no event: it is looked for at some of the ticks.
  constexpr int kTicksPerCancellation = 10;
  const bool some_expired = !deadlines_.empty() && deadlines_.begin()->first <= now;
  if (some_expired || ++ticks_ % kTicksPerCancellation == 0)
    for (const auto& lane : lanes_) lane->DropUnwanted();
  // What is still open of them was sent. The reply is read all the same.
  while (!deadlines_.empty() && deadlines_.begin()->first <= now)
    Answer(*deadlines_.begin()->second,
           UnknownAfter(ErrorReason::kDeadlineExceeded,
                        "the store had not answered when the deadline came"));
  reader_->DropUnwanted();
  for (Errands* errands : {audits_.get(), outbox_.get()})
    if (errands != nullptr) errands->DropUnwanted();
}

bool PostgresStore::Impl::ServerSilent(MonotonicTime now) const {
  if (reader_->link().Silent(now) < options_.unavailable_after) return false;
  // A lane may wait for a lock as long as it likes; but some other link must have heard something.
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return Between(lane->link().heard(), now) >= options_.unavailable_after;
  });
}

void PostgresStore::Impl::EndUnserved(MonotonicTime now) {
  const bool silent = ServerSilent(now);
  for (const auto& lane : lanes_) {
    if (silent || lane->link().Unready(now) >= options_.unavailable_after)
      lane->FailWaiting(Unavailable());
  }
  if (silent || reader_->link().Unready(now) >= options_.unavailable_after)
    reader_->FailAll(Unavailable());
  for (Errands* errands : {audits_.get(), outbox_.get()}) {
    if (errands != nullptr && errands->link().Unready(now) >= options_.unavailable_after)
      errands->FailAll(Unavailable());
  }
  if (!silent) return;
  while (!deadlines_.empty())
    Answer(*deadlines_.begin()->second,
           UnknownAfter(ErrorReason::kStoreUnavailable, "the store stopped answering"));
}

// ---- What other threads may see.

std::vector<const Link*> PostgresStore::Impl::Links() const {
  std::vector<const Link*> links;
  for (const auto& lane : lanes_) links.push_back(&lane->link());
  if (reader_ != nullptr) links.push_back(&reader_->link());
  return links;
}

void PostgresStore::Impl::Look() {
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
  StoreStats stats;
  for (const auto& lane : lanes_) {
    stats.units += lane->stats().units;
    stats.rows += lane->stats().rows;
    stats.mutations += lane->stats().mutations;
    stats.retries += lane->stats().retries;
    stats.rejected += lane->stats().rejected;
    stats.unknown += lane->stats().unknown;
  }
  stats.dropped = dropped_;
  stats.read_statements = reader_->stats().statements;
  stats.read_keys_asked = reader_->stats().keys_asked;
  stats.read_keys_read = reader_->stats().keys_read;
  if (options_.observer != nullptr) {
    int writes = 0;
    for (const auto& lane : lanes_) writes += lane->mutations();
    options_.observer->OnQueueDepth(StoreQueue::kWrites, writes);
    options_.observer->OnQueueDepth(StoreQueue::kReads, reader_->keys());
  }
  MutexLock lock(seen_mutex_);
  health_ = health;
  refused_ = refused;
  stats_ = stats;
  if (!timeline.empty()) timeline_ = timeline;
  seen_changed_.NotifyAll();
}

// ---- The interface.

absl::StatusOr<std::unique_ptr<PostgresStore>> PostgresStore::Open(StoreOptions options) {
  if (options.lanes < 1 || options.lanes > kBuckets || options.batch_rows_max < 1 ||
      options.units_in_flight_max < 1) {
    return absl::InvalidArgumentError(
        "lanes must be 1 to 1024, and the limits of batches at least 1");
  }
  const absl::StatusOr<DatabaseUrl> url = ParseDatabaseUrl(options.url);
  if (!url.ok()) return url.status();
  auto impl = std::make_unique<Impl>(std::move(options), *url);
  const absl::Status started = impl->Start();
  if (!started.ok()) return absl::FailedPreconditionError(started.message());
  return std::unique_ptr<PostgresStore>(new PostgresStore(std::move(impl)));
}

PostgresStore::PostgresStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PostgresStore::~PostgresStore() = default;

Task<Results> PostgresStore::Apply(std::vector<Mutation> mutations, CallLimits limits) {
  if (mutations.empty()) co_return Results();
  if (!impl_->Enter()) co_return Results(mutations.size(), ShuttingDown());
  auto start = [&](Resumer<Results> resume) {
    impl_->Post([impl = impl_.get(), mutations = std::move(mutations), limits = std::move(limits),
                 resume = std::move(resume)]() mutable {
      impl->Apply(std::move(mutations), std::move(limits), std::move(resume));
    });
  };
  CallbackAwaitable<Results, decltype(start)> applied(start);
  Results results = co_await applied;
  co_return results;
}

Task<absl::StatusOr<CountsRead>> PostgresStore::Counts(std::vector<ItemRead> items, Consistency,
                                                       CallLimits limits) {
  using Answers = absl::StatusOr<ReadAnswers<ItemCount>>;
  if (items.empty()) co_return CountsRead{{}, absl::Now()};
  if (!impl_->Enter()) co_return ShuttingDown();
  auto start = [&](Resumer<Answers> resume) {
    impl_->Post([impl = impl_.get(), items = ItemsOf(items), limits = std::move(limits),
                 resume = std::move(resume)]() mutable {
      Reader::CountsBatcher::Done done = std::move(resume);
      if (!impl->reader().PushCounts(std::move(items), limits, done)) {
        done(Overloaded());
        return;
      }
      impl->ReadsPushed();
    });
  };
  CallbackAwaitable<Answers, decltype(start)> read(start);
  Answers answers = co_await read;
  if (!answers.ok()) co_return answers.status();
  co_return CountsRead{std::move(answers->answers), answers->as_of};
}

Task<absl::StatusOr<PairsRead>> PostgresStore::HasLiked(UserId user, std::vector<ItemRead> items,
                                                        Consistency, CallLimits limits) {
  using Answers = absl::StatusOr<ReadAnswers<PairState>>;
  if (items.empty()) co_return PairsRead{{}, ReadSource::kPrimary, absl::Now()};
  if (!impl_->Enter()) co_return ShuttingDown();
  std::vector<Pair> pairs;
  pairs.reserve(items.size());
  for (const ItemRead& read : items) pairs.push_back({user, read.item});
  auto start = [&](Resumer<Answers> resume) {
    impl_->Post([impl = impl_.get(), pairs = std::move(pairs), limits = std::move(limits),
                 resume = std::move(resume)]() mutable {
      Reader::PairsBatcher::Done done = std::move(resume);
      if (!impl->reader().PushPairs(std::move(pairs), limits, done)) {
        done(Overloaded());
        return;
      }
      impl->ReadsPushed();
    });
  };
  CallbackAwaitable<Answers, decltype(start)> read(start);
  Answers answers = co_await read;
  if (!answers.ok()) co_return answers.status();
  co_return PairsRead{std::move(answers->answers), ReadSource::kPrimary, answers->as_of};
}

Task<absl::StatusOr<std::vector<Table>>> PostgresStore::RunErrand(ErrandKind kind,
                                                                  std::vector<StatementCall> calls,
                                                                  CallLimits limits) {
  using Tables = absl::StatusOr<std::vector<Table>>;
  if (!impl_->Enter()) co_return ShuttingDown();
  auto start = [&](Resumer<Tables> resume) {
    impl_->Post([impl = impl_.get(), kind, calls = std::move(calls), limits = std::move(limits),
                 resume = std::move(resume)]() mutable {
      impl->RunErrand(kind, std::move(calls), limits, std::move(resume));
    });
  };
  CallbackAwaitable<Tables, decltype(start)> run(start);
  Tables tables = co_await run;
  co_return tables;
}

Task<absl::StatusOr<AuditPage>> PostgresStore::Audit(std::optional<Item> after, int items_max,
                                                     CallLimits limits) {
  std::vector<StatementCall> calls = {impl_->AuditLimits(), AuditItems(after, items_max)};
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(ErrandKind::kAudit, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  co_return DecodeAudit((*tables)[1], items_max);
}

Task<absl::StatusOr<std::vector<StaleRow>>> PostgresStore::TakeStale(absl::Duration min_age,
                                                                     int rows_max,
                                                                     CallLimits limits) {
  std::vector<StatementCall> calls = {TakeStaleRows(min_age, rows_max)};
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(ErrandKind::kOutbox, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  co_return DecodeStaleRows((*tables)[0]);
}

Task<absl::Status> PostgresStore::DeleteStale(std::vector<int64_t> ids, CallLimits limits) {
  std::vector<StatementCall> calls = {DeleteRows(ids)};
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(ErrandKind::kOutbox, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  co_return tables.status();
}

std::string PostgresStore::Timeline() const { return impl_->Timeline(); }
absl::Status PostgresStore::Health() const { return impl_->Health(); }
void PostgresStore::Stop() { impl_->Stop(); }
void PostgresStore::SetListener(OutboxListener* listener) { impl_->SetListener(listener); }
void PostgresStore::Acknowledge(const OutboxRow& row) { impl_->Acknowledge(row); }
StoreStats PostgresStore::Stats() const { return impl_->Stats(); }

}  // namespace counter::postgres
