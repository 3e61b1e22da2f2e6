// PostgresStore: the truth in PostgreSQL 15 or later. See storage/like_store.h for what it
// promises, and storage/like_maintenance.h.
//
// Use it when several servers share one truth. It writes through lanes, each a connection that owns
// a range of buckets and combines what arrives into batches (lane.h); reads go over a connection of
// their own (reader.h), or to a replica where they may (read_router.h), recounts, lists and
// what copies say over others that are opened for the first of them. The
// schema is made by migrate.h, not here: a database behind this binary is refused.
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

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/cache_outbox.h"
#include "storage/counter_copies.h"
#include "storage/like_maintenance.h"
#include "storage/postgres/store_options.h"
#include "storage/postgres/store_stats.h"
#include "storage/stale_outbox.h"

namespace counter::postgres {

class StoreLoop;

class PostgresStore final : public MaintainedStore, public CacheOutbox, public StaleOutbox {
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
  Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery query, CallLimits limits) override;
  Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery query, CallLimits limits) override;
  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item> after, int items_max,
                                        CallLimits limits) override;
  // In store_maintenance.cc.
  Task<absl::StatusOr<std::vector<RepairedCounter>>> Repair(std::vector<Item> items,
                                                            CallLimits limits) override;
  Task<absl::StatusOr<std::vector<Item>>> SomeLikes(UserId user, int items_max,
                                                    CallLimits limits) override;
  Task<absl::StatusOr<LikerScan>> ScanLikers(Item item, std::optional<LikePosition> after,
                                             int scan_max, int likers_max,
                                             CallLimits limits) override;
  // In store_copies.cc.
  int replicas() const override;
  Task<absl::StatusOr<std::vector<CounterRow>>> ReplicaRows(int replica, std::vector<Item> items,
                                                            CallLimits limits) override;
  Task<absl::StatusOr<std::vector<RecountedCounter>>> RecountSome(std::vector<Item> items,
                                                                  RecountBounds bounds,
                                                                  CallLimits limits) override;
  // "unknown" before the first connection.
  std::string Timeline() const override;
  std::optional<Failover> LastFailover() const override;
  absl::Status Health() const override;
  void Stop() override;

  void SetListener(OutboxListener* listener) override;
  void Acknowledge(const OutboxRow& row) override;
  Task<absl::StatusOr<std::vector<StaleRow>>> TakeStale(absl::Duration min_age, int rows_max,
                                                        CallLimits limits) override;
  Task<absl::Status> DeleteStale(std::vector<int64_t> ids, CallLimits limits) override;

  StoreStats Stats() const;

 private:
  explicit PostgresStore(std::unique_ptr<StoreLoop> loop);
  const std::unique_ptr<StoreLoop> loop_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_STORE_H_
