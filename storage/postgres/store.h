// PostgresStore: the truth in PostgreSQL 15 or later. See storage/like_store.h for what it
// promises.
//
// Use it when several servers share one truth. It writes through lanes, each a connection that owns
// a range of buckets and combines what arrives into batches (lane.h); reads go over a connection of
// their own (reader.h), recounts over another that is opened for the first of them. The schema is
// made by migrate.h, not here: a database behind this binary is refused.
//
// Deadlines: a mutation that has not been sent when its deadline comes ends as not applied. One
// that was sent ends with kDeadlineExceeded, applied zero or one time; its reply is still read.
//
// When the database is gone: what waits fails, as not applied, once there has been no connection
// for `unavailable_after`, or once the server has been silent for that long although a probe waits;
// from then on new calls fail at once. It heals by itself.
//
// Threads: as LikeStore; tasks go on on the store's own thread.
#ifndef COUNTER_STORAGE_POSTGRES_STORE_H_
#define COUNTER_STORAGE_POSTGRES_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/cache_outbox.h"
#include "storage/durability.h"
#include "storage/like_store.h"
#include "storage/stale_outbox.h"
#include "storage/store_observer.h"

namespace counter::postgres {

struct StoreOptions {
  // postgresql://user:password@host/database?pgbouncer=true; see database_url.h.
  std::string url;
  std::vector<ItemType> item_types;  // Each must have been migrated.
  Durability durability = Durability::kLocal;
  std::string application_name = "counterd";

  int lanes = 2;                // Connections that write.
  int batch_rows_max = 300;     // Of one statement.
  int units_in_flight_max = 2;  // Of one lane.
  int mutations_max = 100'000;  // Taken and not ended, of one lane.
  int read_keys_max = 200'000;  // Taken and not ended, of each kind of read.

  absl::Duration statement_timeout = absl::Seconds(5);
  absl::Duration lock_timeout = absl::Seconds(1);
  absl::Duration audit_timeout = absl::Minutes(30);
  int audits_max = 16;  // Taken and not ended; the same of calls to the outbox.
  absl::Duration tcp_timeout = absl::Seconds(5);
  absl::Duration unavailable_after = absl::Seconds(1);
  // How long Open() waits for the first connections.
  absl::Duration open_wait = absl::Seconds(5);

  // Tells an operator what happened; called on the store's thread. May be empty.
  std::function<void(const std::string& text)> say;
  // Told of the store's work. May be null; must outlive the store.
  StoreObserver* observer = nullptr;
};

// What the store has done so far, summed over lanes. For metrics.
struct StoreStats {
  int64_t units = 0;      // Transactions that wrote.
  int64_t rows = 0;       // In them.
  int64_t mutations = 0;  // That those rows answered.
  int64_t retries = 0;
  int64_t rejected = 0;
  int64_t unknown = 0;
  int64_t dropped =
      0;  // Mutations whose deadline came, or whose caller went, before they were sent.
  int64_t read_statements = 0;
  int64_t read_keys_asked = 0;
  int64_t read_keys_read = 0;
};

class Table;
struct StatementCall;

class PostgresStore final : public LikeStore, public CacheOutbox, public StaleOutbox {
 public:
  // Fails if the options or the database are not fit and will not be until somebody changes
  // something. A database that cannot be reached yet is no failure: Health() says so, and it heals.
  static absl::StatusOr<std::unique_ptr<PostgresStore>> Open(StoreOptions options);
  ~PostgresStore() override;  // Stops, if Stop() was not called.

  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation> mutations,
                                                   CallLimits limits) override;
  Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead> items, Consistency consistency,
                                          CallLimits limits) override;
  Task<absl::StatusOr<PairsRead>> HasLiked(UserId user, std::vector<ItemRead> items,
                                           Consistency consistency, CallLimits limits) override;
  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item> after, int items_max,
                                        CallLimits limits) override;
  // "unknown" before the first connection.
  std::string Timeline() const override;
  absl::Status Health() const override;
  void Stop() override;

  void SetListener(OutboxListener* listener) override;
  void Acknowledge(const OutboxRow& row) override;
  Task<absl::StatusOr<std::vector<StaleRow>>> TakeStale(absl::Duration min_age, int rows_max,
                                                        CallLimits limits) override;
  Task<absl::Status> DeleteStale(std::vector<int64_t> ids, CallLimits limits) override;

  StoreStats Stats() const;

 private:
  class Impl;
  // Recounts may be long: the outbox has a connection of its own.
  enum class ErrandKind { kAudit, kOutbox };
  Task<absl::StatusOr<std::vector<Table>>> RunErrand(ErrandKind kind,
                                                     std::vector<StatementCall> calls,
                                                     CallLimits limits);
  explicit PostgresStore(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_STORE_H_
