#include "storage/postgres/store_loop.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "storage/postgres/migrate.h"
#include "storage/postgres/prepared_statements.h"
#include "storage/postgres/replica_statements.h"

namespace counter::postgres {
namespace {

namespace asio = boost::asio;

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

// How often the primary and the replicas are asked where they are. Two such times are added to
// what a replica is behind, at most, before that is known.
constexpr absl::Duration kLagProbeInterval = absl::Milliseconds(100);
// A replica that cannot be reached is not missed.
constexpr absl::Duration kReplicaBackoffMax = absl::Seconds(5);

// Of several hosts one may accept and not answer: the others must be tried soon.
constexpr absl::Duration kConnectTimeoutOfOneHost = absl::Milliseconds(1500);

}  // namespace

// ---- Starting and stopping.

StoreLoop::StoreLoop(StoreOptions options, const DatabaseUrl& url)
    : options_(std::move(options)),
      url_(url),
      several_hosts_(NamesSeveralHosts(url_.conninfo)),
      calls_(options_.observer),
      health_(absl::UnavailableError("not connected yet")) {
  for (int i = 0; i < options_.lanes; ++i) {
    Lane::Options lane;
    lane.number = i;
    lane.batch_rows_max = options_.batch_rows_max;
    lane.units_in_flight_max = options_.units_in_flight_max;
    lane.combiner.mutations_max = options_.mutations_max;
    lane.wait_max = options_.write_wait_max;
    lane.observer = options_.observer;
    lanes_.push_back(
        std::make_unique<Lane>(loop_, lane, LinkOptions(absl::StrCat("lane ", i), i), *this));
  }
  Reader::Options reader;
  reader.counts.waiting_keys_max = options_.read_keys_max;
  reader.pairs.waiting_keys_max = options_.read_keys_max;
  reader.reads_max = options_.reads_max;
  reader_ = std::make_unique<Reader>(loop_, reader, ReaderLinkOptions());
  reads_ = std::make_unique<ReadRouter>(*reader_, [this] { Busy(); });
  for (size_t i = 0; i < options_.replica_urls.size(); ++i) AddReplica(static_cast<int>(i));
  replica_copies_.resize(options_.replica_urls.size());
}

Link::Options StoreLoop::ReplicaLinkOptions(int number) {
  // Checked by Open().
  const DatabaseUrl url = *ParseDatabaseUrl(options_.replica_urls[static_cast<size_t>(number)]);
  Link::Options link = LinkOptions(absl::StrCat("replica ", number + 1), number);
  link.connection.conninfo = url.conninfo;
  link.connection.pooled = url.pooled;
  link.connection.role = ServerRole::kReplica;
  link.connection.statements = ReplicaStatements();
  link.needs.role = ServerRole::kReplica;
  link.limits.backoff_max = kReplicaBackoffMax;
  return link;
}

void StoreLoop::AddReplica(int number) {
  Link::Options link = ReplicaLinkOptions(number);
  link.limits.probe_interval = kLagProbeInterval;
  Replica::Options replica;
  replica.counts.waiting_keys_max = options_.read_keys_max;
  replica.pairs.waiting_keys_max = options_.read_keys_max;
  replica.lag_max = options_.replica_lag_max;
  replica.patience = options_.replica_patience;
  reads_->Add(std::make_unique<Replica>(loop_, replica, std::move(link), meter_, history_));
}

Link::Options StoreLoop::LinkOptions(const std::string& name, int number) {
  Link::Options link;
  link.name = name;
  link.connection.conninfo = url_.conninfo;
  link.connection.pooled = url_.pooled;
  link.connection.statements = PreparedStatements();
  link.connection.replicated = options_.durability == Durability::kReplicated;
  link.connection.application_name = options_.application_name;
  link.connection.statement_timeout = options_.statement_timeout;
  link.connection.lock_timeout = options_.lock_timeout;
  link.connection.tcp_timeout = options_.tcp_timeout;
  link.needs.durability = options_.durability;
  link.needs.migration = MigrationHead();
  for (const ItemType type : options_.item_types) link.needs.item_types.push_back(type.value);
  if (several_hosts_) link.limits.connect_timeout = kConnectTimeoutOfOneHost;
  link.veto = [this](const SessionFacts& facts) { return history_.Veto(facts, AnyReady()); };
  link.seed = std::random_device()() + static_cast<uint64_t>(number);
  link.say = options_.say;
  link.changed = [this] { Look(); };
  return link;
}

Link::Options StoreLoop::ReaderLinkOptions() {
  Link::Options link = LinkOptions("reads", options_.lanes);
  link.probe = Probe();
  if (!options_.replica_urls.empty()) link.limits.probe_interval = kLagProbeInterval;
  link.probed = [this](const Table& answer, MonotonicTime asked) { return Probed(answer, asked); };
  return link;
}

absl::Status StoreLoop::Start() {
  for (const auto& lane : lanes_) lane->Start();
  reader_->Start();
  reads_->Start();
  ArmTick(kIdleTick);
  thread_ = std::thread([this] { loop_.run(); });
  const MonotonicTime until = Now() + options_.open_wait;
  MutexLock lock(seen_mutex_);
  // Who serves before it knows of a failover would believe caches that remember what that has lost.
  while ((!health_.ok() || !knows_failovers_) && !refused_ && Now() < until)
    seen_changed_.WaitUntil(seen_mutex_, until);
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
  // A server that says nothing is gone and not slow: that is what callers are told.
  const bool is_silent = Silent(Now());
  for (size_t i = 0; i < mutations.size(); ++i) {
    const Ticket ticket = {&call, static_cast<int>(i)};
    absl::Status taken = is_silent
                             ? UnavailableError()
                             : LaneOf(mutations[i].item).Push(mutations[i], call.limits, ticket);
    if (!taken.ok()) refused.push_back({ticket, std::move(taken)});
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
    lanes_[static_cast<size_t>(row.lane)]->Acknowledge(row);
  }
}

void StoreLoop::Acknowledge(const OutboxRow& row) {
  if (!Enter()) return;
  Post([this, row] {
    if (row.lane >= 0 && row.lane < static_cast<int>(lanes_.size()))
      lanes_[static_cast<size_t>(row.lane)]->Acknowledge(row);
  });
}

// ---- Errands.

void StoreLoop::RunErrand(ErrandKind kind, std::vector<StatementCall> calls,
                          const CallLimits& limits, Errands::Done done) {
  constexpr const char* kNames[] = {"audit", "outbox", "copies"};
  std::unique_ptr<Errands>& errands = ErrandsOf(kind);
  if (errands == nullptr) {
    const int place = static_cast<int>(kind);
    errands = std::make_unique<Errands>(
        loop_, LinkOptions(kNames[place], options_.lanes + 1 + place), options_.audits_max);
    errands->Start();
  }
  if (!errands->Push(std::move(calls), limits, done)) done(ReadsOverloaded());
  Busy();
}

std::unique_ptr<Errands>& StoreLoop::ErrandsOf(ErrandKind kind) {
  return kind == ErrandKind::kAudit ? audits_ : kind == ErrandKind::kOutbox ? outbox_ : copies_;
}

void StoreLoop::RunReplicaErrand(int replica, std::vector<StatementCall> calls,
                                 const CallLimits& limits, Errands::Done done) {
  std::unique_ptr<Errands>& errands = replica_copies_[static_cast<size_t>(replica)];
  if (errands == nullptr) {
    Link::Options link = ReplicaLinkOptions(replica);
    link.name = absl::StrCat("copies of replica ", replica + 1);
    // What is of another history is told by each answer (IsOfThisHistory).
    link.veto = nullptr;
    errands = std::make_unique<Errands>(loop_, std::move(link), options_.audits_max);
    errands->Start();
  }
  if (!errands->Push(std::move(calls), limits, done)) done(ReadsOverloaded());
  Busy();
}

bool StoreLoop::IsOfThisHistory(const ReplicaPosition& position) const {
  return position.in_recovery && position.timeline == history_.timeline_number() &&
         position.store_id == history_.newest().store_id;
}

std::vector<Errands*> StoreLoop::ReplicaErrands() const {
  std::vector<Errands*> all;
  for (const auto& errands : replica_copies_)
    if (errands != nullptr) all.push_back(errands.get());
  return all;
}

std::vector<Errands*> StoreLoop::AllErrands() const {
  std::vector<Errands*> all;
  for (Errands* errands : {audits_.get(), outbox_.get(), copies_.get()})
    if (errands != nullptr) all.push_back(errands);
  for (const auto& errands : lists_) all.push_back(errands.get());
  return all;
}

// ---- Lists.

Errands& StoreLoop::LeastBusyLists() {
  for (int i = static_cast<int>(lists_.size()); i < options_.list_connections; ++i) {
    lists_.push_back(std::make_unique<Errands>(
        loop_, LinkOptions(absl::StrCat("lists ", i), options_.lanes + 4 + i), options_.lists_max));
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

}  // namespace counter::postgres
