// Backends: the store and the caches that the settings ask for, as the interfaces that the service
// works with. Part of main: only here are concrete classes named.
//
//   DATABASE_URL  the store         REDIS_URL  the caches
//   empty         SQLite            empty      in the process
//   postgresql:   PostgreSQL        redis:     Redis, kept true to the store by CacheUpkeep
//
// PostgreSQL without Redis: another server may write what this one has cached, and nobody says so.
// Caches inside the process then live for a second at most, the bound of CACHED reads.
//
// Threads: Open and Stop one at a time; the rest any. Ownership: owns all parts; borrows the
// observer.
#ifndef COUNTER_SERVER_BACKENDS_H_
#define COUNTER_SERVER_BACKENDS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cache/count_cache.h"
#include "cache/rate_limiter.h"
#include "cache/recent_likes.h"
#include "server/check/copy_reader.h"
#include "server/config/config.h"
#include "server/metrics/metrics.h"
#include "storage/counter_copies.h"
#include "storage/like_maintenance.h"
#include "storage/like_store.h"
#include "storage/store_observer.h"

namespace counter {

class Backends {
 public:
  // The error is for the operator: it may name folders and hosts, never a password.
  static absl::StatusOr<std::unique_ptr<Backends>> Open(const Config& config,
                                                        StoreObserver& observer);
  virtual ~Backends() = default;

  virtual LikeStore& store() = 0;
  virtual LikeMaintenance& maintenance() = 0;  // Of the same store.
  virtual CounterCopies& copies() = 0;         // Likewise.
  // What count_cache() is made of, the nearest first.
  virtual std::vector<CheckedCache> checked_caches() = 0;
  virtual CountCache& count_cache() = 0;
  virtual RecentLikes& recent_likes() = 0;
  virtual RateLimiter& rate_limiter() = 0;

  // What the store, the caches and their upkeep count about themselves, as they stand now.
  virtual std::vector<MetricReading> Readings() const = 0;

  // Whether Redis answers just now; none if it is not used. Any thread.
  virtual std::optional<bool> RedisAnswers() const = 0;

  // Ends everything, caches first. Requires that nobody calls any more.
  virtual void Stop() = 0;
};

// What the schema of DATABASE_URL's database lacks, or what was done about it, a line each.
struct MigrationReport {
  std::vector<std::string> lines;
  bool complete = false;  // Nothing is missing (any more).
};
// Requires config.database_url. These block. The error is for the operator, without a password.
absl::StatusOr<MigrationReport> MigrateDatabase(const Config& config);
absl::StatusOr<MigrationReport> InspectDatabase(const Config& config);

}  // namespace counter

#endif  // COUNTER_SERVER_BACKENDS_H_
