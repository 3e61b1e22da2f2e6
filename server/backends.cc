#include "server/backends.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "cache/local/local_count_cache.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/local/local_recent_likes.h"
#include "cache/near/near_count_cache.h"
#include "cache/redis/redis_caches.h"
#include "cache/redis/redis_url.h"
#include "server/cache_readings.h"
#include "server/postgres_readings.h"
#include "server/upkeep/cache_upkeep.h"
#include "server/upkeep/failpoint.h"
#include "server/upkeep/recent_likes_upkeep.h"
#include "storage/postgres/migrate.h"
#include "storage/postgres/migrate_likers_index.h"
#include "storage/postgres/store.h"
#include "storage/sqlite/sqlite_store.h"

namespace counter {
namespace {

// A store, and its outbox if it has one.
struct OpenedStore {
  std::unique_ptr<MaintainedStore> store;
  CacheOutbox* outbox = nullptr;
  StaleOutbox* stale_outbox = nullptr;
  const postgres::PostgresStore* postgres = nullptr;  // What `store` is, if it is that.

  void AppendReadings(std::vector<MetricReading>& readings) const {
    if (postgres == nullptr) return;
    AppendPostgresReadings(postgres->Stats(), readings);
    AppendFailoverReadings(postgres->LastFailover(), readings);
  }
};

absl::StatusOr<OpenedStore> OpenSqlite(const Config& config, StoreObserver& observer) {
  SqliteStoreOptions options;
  options.path = absl::StrCat(config.data_dir, "/counter.db");
  options.queue_mutations_max = config.write_queue_max;
  options.write_wait_max = absl::Milliseconds(config.write_wait_max_ms);
  options.queue_reads_max = config.read_queue_max;
  options.batch_rows_max = config.batch_rows_max;
  options.likers_index = config.likers_index;
  options.observer = &observer;
  absl::StatusOr<std::unique_ptr<MaintainedStore>> store = OpenSqliteStore(options);
  if (!store.ok()) return store.status();
  return OpenedStore{*std::move(store)};
}

std::vector<ItemType> ItemTypesOf(const Config& config) {
  std::vector<ItemType> types;
  for (const auto& [name, type] : config.item_types) types.push_back(type);
  return types;
}

absl::StatusOr<OpenedStore> OpenPostgres(const Config& config, StoreObserver& observer) {
  postgres::StoreOptions options;
  options.url = config.database_url->text;
  options.item_types = ItemTypesOf(config);
  for (const ServiceUrl& replica : config.replica_urls)
    options.replica_urls.push_back(replica.text);
  options.replica_lag_max = absl::Milliseconds(config.replica_lag_max_ms);
  options.durability = config.durability;
  // More rows a statement are hardly faster and make everybody in it wait longer.
  constexpr int kStatementRowsMax = 300;
  options.batch_rows_max = std::min(config.batch_rows_max, kStatementRowsMax);
  options.mutations_max = std::max(config.write_queue_max / options.lanes, 1);
  options.write_wait_max = absl::Milliseconds(config.write_wait_max_ms);
  options.reads_max = config.read_queue_max;
  options.observer = &observer;
  options.say = [](const std::string& text) {
    Log(LogLevel::kWarning, "The connection to PostgreSQL has news.", {{"what", text}});
  };
  absl::StatusOr<std::unique_ptr<postgres::PostgresStore>> store =
      postgres::PostgresStore::Open(std::move(options));
  if (!store.ok()) return store.status();
  OpenedStore opened;
  opened.outbox = store->get();
  opened.stale_outbox = store->get();
  opened.postgres = store->get();
  opened.store = *std::move(store);
  return opened;
}

// With the caches inside this process.
class LocalBackends final : public Backends {
 public:
  LocalBackends(OpenedStore opened, const Config& config)
      : opened_(std::move(opened)),
        counts_(Clock::System(), CountOptions(config)),
        recent_likes_(Clock::System(), RecentOptions(config)),
        rate_limiter_(Clock::System(), {.limit = config.rate_limit_requests,
                                        .window = config.rate_limit_window,
                                        .users_max = config.rate_limit_users_max}) {}

  LikeStore& store() override { return *opened_.store; }
  LikeMaintenance& maintenance() override { return *opened_.store; }
  CounterCopies& copies() override { return *opened_.store; }
  std::vector<CheckedCache> checked_caches() override { return {{CopyLayer::kLocal, &counts_}}; }
  CountCache& count_cache() override { return counts_; }
  RecentLikes& recent_likes() override { return recent_likes_; }
  RateLimiter& rate_limiter() override { return rate_limiter_; }
  std::vector<MetricReading> Readings() const override {
    std::vector<MetricReading> readings;
    AppendLocalReadings({{"counter", counts_.Stats()},
                         {"recent_likes", recent_likes_.Stats()},
                         {"rate_limiter", rate_limiter_.Stats()}},
                        readings);
    opened_.AppendReadings(readings);
    return readings;
  }
  std::optional<bool> RedisAnswers() const override { return std::nullopt; }
  void Stop() override { opened_.store->Stop(); }

 private:
  // Below the second by more than the jitter of a count's life.
  static constexpr absl::Duration kLifeBesideOthers = absl::Milliseconds(900);

  static bool HasOthers(const Config& config) { return config.database_url.has_value(); }
  static LocalCountCacheOptions CountOptions(const Config& config) {
    LocalCountCacheOptions options;
    options.ttl =
        HasOthers(config) ? std::min(config.cache_ttl, kLifeBesideOthers) : config.cache_ttl;
    options.entries_max = config.cache_items_max;
    return options;
  }
  static LocalRecentLikesOptions RecentOptions(const Config& config) {
    LocalRecentLikesOptions options;
    options.ttl = config.recent_likes_ttl;
    options.bounds.fresh_for = HasOthers(config)
                                   ? std::min(config.recent_likes_fresh, kLifeBesideOthers)
                                   : config.recent_likes_fresh;
    options.facts_max = config.recent_likes_max;
    return options;
  }

  OpenedStore opened_;
  LocalCountCache counts_;
  LocalRecentLikes recent_likes_;
  LocalRateLimiter rate_limiter_;
};

redis::RedisCachesOptions RedisOptions(const Config& config, redis::Address address) {
  redis::RedisCachesOptions options;
  options.connection.address = std::move(address);
  options.connection.say = [](const std::string& text) {
    Log(LogLevel::kWarning, "The connection to Redis has news.", {{"what", text}});
  };
  for (const auto& [name, type] : config.item_types) options.type_names[type.value] = name;
  options.counts.ttl = config.cache_ttl;
  options.recent_likes.ttl = config.recent_likes_ttl;
  options.recent_likes.fresh_for = config.recent_likes_fresh;
  options.rate_limiter.limit = config.rate_limit_requests;
  options.rate_limiter.window = config.rate_limit_window;
  options.rate_limiter.fallback_users_max = config.rate_limit_users_max;
  return options;
}

NearCountCacheOptions NearOptions(const Config& config) {
  NearCountCacheOptions options;
  options.fresh = absl::Milliseconds(config.near_cache_ms);
  options.stale = options.fresh * 3 / 2;
  options.entries_max = config.near_cache_items_max;
  return options;
}

// With the caches in Redis.
class RedisBackends final : public Backends {
 public:
  // Ends the process at the batch of that number (failpoint.h); 0: never.
  RedisBackends(OpenedStore opened, const Config& config, redis::Address address,
                int64_t failpoint_batch)
      : opened_(std::move(opened)),
        caches_(RedisOptions(config, std::move(address))),
        recent_likes_(caches_.recent_likes(), Clock::System(), {}, opened_.store.get()),
        upkeep_({*opened_.store, caches_.counts(), opened_.outbox, opened_.stale_outbox,
                 Clock::System(), &recent_likes_}) {
    if (config.near_cache_ms > 0) near_.emplace(upkeep_, Clock::System(), NearOptions(config));
    if (failpoint_batch > 0) failpoint_.emplace(upkeep_, failpoint_batch);
    OutboxListener* listener = &upkeep_;
    if (failpoint_.has_value()) listener = &*failpoint_;
    if (opened_.outbox != nullptr) opened_.outbox->SetListener(listener);
    caches_.OnNewRun([this](const std::vector<Item>& items) {
      recent_likes_.TellAgain();
      upkeep_.PutAgain(items);
    });
    caches_.Start();
    upkeep_.Start();
  }
  ~RedisBackends() override { Stop(); }

  LikeStore& store() override { return *opened_.store; }
  LikeMaintenance& maintenance() override { return *opened_.store; }
  CounterCopies& copies() override { return *opened_.store; }
  std::vector<CheckedCache> checked_caches() override {
    std::vector<CheckedCache> caches;
    if (near_.has_value()) caches.push_back({CopyLayer::kNear, &*near_});
    caches.push_back({CopyLayer::kRedis, &caches_.counts()});
    return caches;
  }
  CountCache& count_cache() override {
    if (near_.has_value()) return *near_;
    return upkeep_;
  }
  RecentLikes& recent_likes() override { return recent_likes_; }
  RateLimiter& rate_limiter() override { return caches_.rate_limiter(); }
  std::vector<MetricReading> Readings() const override {
    std::vector<MetricReading> readings;
    const redis::RedisCachesStats stats = caches_.Stats();
    AppendRedisReadings(stats, readings);
    AppendUpkeepReadings(upkeep_.Stats(), recent_likes_.Stats(), readings);
    std::vector<NamedCacheStats> local = {{"rate_limiter", stats.limiter_fallback}};
    NearCountCache::Stats
        near;  // All zero if there is none: a series that comes and goes misleads.
    if (near_.has_value()) {
      near = near_->stats();
      local.push_back({"near", {near.entries, near_->entries_max(), near.evictions}});
    }
    AppendNearReadings(near, readings);
    AppendLocalReadings(local, readings);
    opened_.AppendReadings(readings);
    return readings;
  }
  std::optional<bool> RedisAnswers() const override { return caches_.connection().usable(); }

  void Stop() override {
    if (stopped_) return;
    stopped_ = true;
    if (opened_.outbox != nullptr) opened_.outbox->SetListener(nullptr);
    upkeep_.Stop();
    caches_.Stop();
    opened_.store->Stop();
  }

 private:
  OpenedStore opened_;
  redis::RedisCaches caches_;
  RecentLikesUpkeep recent_likes_;
  CacheUpkeep upkeep_;
  std::optional<NearCountCache> near_;
  std::optional<Failpoint> failpoint_;
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backends>> Backends::Open(const Config& config,
                                                         StoreObserver& observer) {
  std::optional<redis::Address> redis_address;
  if (config.redis_url.has_value()) {
    absl::StatusOr<redis::Address> parsed = redis::ParseRedisUrl(config.redis_url->text);
    if (!parsed.ok()) return parsed.status();
    redis_address = *std::move(parsed);
  }
  const char* asked = std::getenv("COUNTER_FAILPOINT");
  const absl::StatusOr<int64_t> failpoint = ParseFailpoint(asked == nullptr ? "" : asked);
  if (!failpoint.ok()) return failpoint.status();
  if (*failpoint > 0) {
    Log(LogLevel::kWarning, "This process ends at a failpoint. Only tests want that.",
        {{"COUNTER_FAILPOINT", asked}});
  }
  absl::StatusOr<OpenedStore> opened = config.database_url.has_value()
                                           ? OpenPostgres(config, observer)
                                           : OpenSqlite(config, observer);
  if (!opened.ok()) return opened.status();
  if (redis_address.has_value()) {
    return std::make_unique<RedisBackends>(*std::move(opened), config, *std::move(redis_address),
                                           *failpoint);
  }
  return std::make_unique<LocalBackends>(*std::move(opened), config);
}

absl::StatusOr<MigrationReport> MigrateDatabase(const Config& config) {
  absl::StatusOr<std::vector<std::string>> done =
      postgres::MigrateUp(config.database_url->text, ItemTypesOf(config));
  if (!done.ok()) return done.status();
  if (config.likers_index) {
    absl::StatusOr<std::vector<std::string>> indexed =
        postgres::MakeLikersIndex(config.database_url->text, ItemTypesOf(config));
    if (!indexed.ok()) return indexed.status();
    done->insert(done->end(), indexed->begin(), indexed->end());
  }
  if (done->empty()) done->push_back("nothing to do: the schema is complete");
  return MigrationReport{*std::move(done), /*complete=*/true};
}

absl::StatusOr<MigrationReport> InspectDatabase(const Config& config) {
  const absl::StatusOr<postgres::MigrationStatus> status =
      postgres::ReadMigrationStatus(config.database_url->text, ItemTypesOf(config));
  if (!status.ok()) return status.status();
  MigrationReport report;
  report.complete = status->complete();
  report.lines.push_back(absl::StrCat("applied: ", status->applied, " of ", status->head));
  for (const std::string& name : status->pending) {
    report.lines.push_back(absl::StrCat("missing: migration ", name));
  }
  for (int64_t type : status->types_missing) {
    report.lines.push_back(absl::StrCat("missing: partition of item type ", type));
  }
  if (!config.likers_index || !report.complete) return report;
  const absl::StatusOr<std::vector<int64_t>> not_indexed =
      postgres::TypesWithoutLikersIndex(config.database_url->text, ItemTypesOf(config));
  if (!not_indexed.ok()) return not_indexed.status();
  report.complete = not_indexed->empty();
  for (int64_t type : *not_indexed) {
    report.lines.push_back(absl::StrCat("missing: index of likers of item type ", type));
  }
  return report;
}

}  // namespace counter
