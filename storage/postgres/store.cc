#include "storage/postgres/store.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "storage/postgres/database_url.h"
#include "storage/postgres/list_statements.h"
#include "storage/postgres/outbox_statements.h"
#include "storage/postgres/read_statements.h"
#include "storage/postgres/run_errand.h"
#include "storage/postgres/store_loop.h"
#include "storage/postgres/table.h"

namespace counter::postgres {
namespace {

using Results = OpenCalls::Results;

// The table that the last statement of a list answered.
template <class Query>
Task<absl::StatusOr<Table>> RunList(StoreLoop& on,
                                    void (StoreLoop::*list)(const Query&, const CallLimits&,
                                                            Errands::Done),
                                    Query query, CallLimits limits) {
  using Tables = absl::StatusOr<std::vector<Table>>;
  const absl::Status wanted = CheckWanted(limits);
  if (!wanted.ok()) co_return wanted;
  if (!on.Enter()) co_return ShuttingDown();
  auto start = [&](Resumer<Tables> resume) {
    on.Post([loop = &on, list, query = std::move(query), limits = std::move(limits),
             resume = std::move(resume)]() mutable {
      (loop->*list)(query, limits, std::move(resume));
    });
  };
  CallbackAwaitable<Tables, decltype(start)> run(start);
  Tables tables = co_await run;
  if (!tables.ok()) co_return tables.status();
  co_return std::move(tables->back());
}

}  // namespace

absl::StatusOr<std::unique_ptr<PostgresStore>> PostgresStore::Open(StoreOptions options) {
  if (options.lanes < 1 || options.lanes > kBuckets || options.batch_rows_max < 1 ||
      options.units_in_flight_max < 1) {
    return absl::InvalidArgumentError(
        "lanes must be 1 to 1024, and the limits of batches at least 1");
  }
  const absl::StatusOr<DatabaseUrl> url = ParseDatabaseUrl(options.url);
  if (!url.ok()) return url.status();
  for (const std::string& replica : options.replica_urls) {
    const absl::StatusOr<DatabaseUrl> parsed = ParseDatabaseUrl(replica);
    if (!parsed.ok()) return parsed.status();
  }
  auto loop = std::make_unique<StoreLoop>(std::move(options), *url);
  const absl::Status started = loop->Start();
  if (!started.ok()) return absl::FailedPreconditionError(started.message());
  return std::unique_ptr<PostgresStore>(new PostgresStore(std::move(loop)));
}

PostgresStore::PostgresStore(std::unique_ptr<StoreLoop> loop) : loop_(std::move(loop)) {}
PostgresStore::~PostgresStore() = default;

Task<Results> PostgresStore::Apply(std::vector<Mutation> mutations, CallLimits limits) {
  if (mutations.empty()) co_return Results();
  if (!loop_->Enter()) co_return Results(mutations.size(), ShuttingDown());
  auto start = [&](Resumer<Results> resume) {
    loop_->Post([loop = loop_.get(), mutations = std::move(mutations), limits = std::move(limits),
                 resume = std::move(resume)]() mutable {
      loop->Apply(std::move(mutations), std::move(limits), std::move(resume));
    });
  };
  CallbackAwaitable<Results, decltype(start)> applied(start);
  Results results = co_await applied;
  co_return results;
}

Task<absl::StatusOr<CountsRead>> PostgresStore::Counts(std::vector<ItemRead> items,
                                                       Consistency consistency, CallLimits limits) {
  using Read = absl::StatusOr<CountsRead>;
  if (items.empty()) co_return CountsRead{{}, absl::Now()};
  if (!loop_->Enter()) co_return ShuttingDown();
  auto start = [&](Resumer<Read> resume) {
    loop_->Post([loop = loop_.get(), items = std::move(items), consistency,
                 limits = std::move(limits), resume = std::move(resume)]() mutable {
      loop->reads().Counts(items, consistency, limits, std::move(resume));
    });
  };
  CallbackAwaitable<Read, decltype(start)> read(start);
  Read counts = co_await read;
  co_return counts;
}

Task<absl::StatusOr<PairsRead>> PostgresStore::HasLiked(UserId user, std::vector<ItemRead> items,
                                                        Consistency consistency,
                                                        CallLimits limits) {
  using Read = absl::StatusOr<PairsRead>;
  if (items.empty()) co_return PairsRead{{}, ReadSource::kPrimary, absl::Now()};
  if (!loop_->Enter()) co_return ShuttingDown();
  auto start = [&](Resumer<Read> resume) {
    loop_->Post([loop = loop_.get(), user, items = std::move(items), consistency,
                 limits = std::move(limits), resume = std::move(resume)]() mutable {
      loop->reads().HasLiked(user, items, consistency, limits, std::move(resume));
    });
  };
  CallbackAwaitable<Read, decltype(start)> read(start);
  Read pairs = co_await read;
  co_return pairs;
}

Task<absl::StatusOr<LikesPage>> PostgresStore::ListLikes(LikesQuery query, CallLimits limits) {
  const int likes_max = query.likes_max;
  Task<absl::StatusOr<Table>> run =
      RunList(*loop_, &StoreLoop::ListLikes, std::move(query), std::move(limits));
  const absl::StatusOr<Table> table = co_await std::move(run);
  if (!table.ok()) co_return table.status();
  co_return DecodeLikes(*table, likes_max);
}

Task<absl::StatusOr<LikersPage>> PostgresStore::ListLikers(LikersQuery query, CallLimits limits) {
  const int likers_max = query.likers_max;
  Task<absl::StatusOr<Table>> run =
      RunList(*loop_, &StoreLoop::ListLikers, query, std::move(limits));
  const absl::StatusOr<Table> table = co_await std::move(run);
  if (!table.ok()) co_return table.status();
  co_return DecodeLikers(*table, likers_max);
}

Task<absl::StatusOr<AuditPage>> PostgresStore::Audit(std::optional<Item> after, int items_max,
                                                     CallLimits limits) {
  std::vector<StatementCall> calls = {loop_->AuditLimits(), AuditItems(after, items_max)};
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(*loop_, StoreLoop::ErrandKind::kAudit, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  co_return DecodeAudit((*tables)[1], items_max);
}

Task<absl::StatusOr<std::vector<StaleRow>>> PostgresStore::TakeStale(absl::Duration min_age,
                                                                     int rows_max,
                                                                     CallLimits limits) {
  std::vector<StatementCall> calls = {TakeStaleRows(min_age, rows_max)};
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(*loop_, StoreLoop::ErrandKind::kOutbox, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  if (!tables.ok()) co_return tables.status();
  co_return DecodeStaleRows((*tables)[0]);
}

Task<absl::Status> PostgresStore::DeleteStale(std::vector<int64_t> ids, CallLimits limits) {
  std::vector<StatementCall> calls = {DeleteRows(ids)};
  Task<absl::StatusOr<std::vector<Table>>> run =
      RunErrand(*loop_, StoreLoop::ErrandKind::kOutbox, std::move(calls), std::move(limits));
  absl::StatusOr<std::vector<Table>> tables = co_await std::move(run);
  co_return tables.status();
}

std::string PostgresStore::Timeline() const { return loop_->Timeline(); }
std::optional<Failover> PostgresStore::LastFailover() const { return loop_->LastFailover(); }
absl::Status PostgresStore::Health() const { return loop_->Health(); }
void PostgresStore::Stop() { loop_->Stop(); }
void PostgresStore::SetListener(OutboxListener* listener) { loop_->SetListener(listener); }
void PostgresStore::Acknowledge(const OutboxRow& row) { loop_->Acknowledge(row); }
StoreStats PostgresStore::Stats() const { return loop_->Stats(); }

}  // namespace counter::postgres
