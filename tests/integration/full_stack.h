// FullStack: PostgreSQL, Redis and two servers over them, real ones, for one case.
//
// Use it for what only the whole shows: that two servers are one service, and what happens when a
// part of it goes. PostgreSQL is one for the test program, with a new migrated database for each
// case; Redis and the servers are the case's own. Everything ends with the object.
//
// With COUNTER_TEST_REDIS=cluster Redis is a cluster of 3 masters and 3 replicas, one for the test
// program, emptied for each case: a case that stops nodes starts them again.
//
// Functions fail the case (REQUIRE) if they cannot do what they say: call them on the test's
// thread. Client and Redis commands are for any thread.
#ifndef COUNTER_TESTS_INTEGRATION_FULL_STACK_H_
#define COUNTER_TESTS_INTEGRATION_FULL_STACK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "tests/integration/fixture.h"
#include "tests/support/counter_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_proxy.h"
#include "tests/support/redis_server.h"

namespace counter::testing {

// As a URL, the only form that a setting takes, of libpq's "host=/tmp/x dbname=y user=z".
std::string UrlOf(const std::string& conninfo);

class FullStack {
 public:
  static constexpr int kServers = 2;

  // How servers come to Redis: directly, or through a proxy that breaks the line and fails over.
  enum class RedisLine : uint8_t { kDirect, kProxy };

  // `settings` are of both servers; the rate limit is off unless they say otherwise. Both use the
  // cache already. A cluster has neither options nor a proxy.
  explicit FullStack(const Settings& settings = {}, const RedisServer::Options& redis = {},
                     RedisLine line = RedisLine::kDirect);

  PostgresServer& postgres() const { return postgres_; }
  const std::string& database() const { return database_; }
  // The only Redis. Of a cluster: one that was a master when the case began, for it to suffer.
  RedisServer& redis() const { return cluster_ != nullptr ? cluster_->node(victim_) : *redis_; }
  // The one that has this key.
  RedisServer& redis_of(const std::string& key) const;
  RedisCluster& cluster() const { return *cluster_; }  // Requires OnRedisCluster().
  // Every Redis that is a master now.
  std::vector<RedisServer*> redis_masters() const;
  RedisProxy& redis_line() const { return *redis_line_; }  // Requires RedisLine::kProxy.
  // Fails over to a replica of redis() that never got what was acknowledged in the last `lost`, and
  // has no scripts. From then on redis() is that one. Requires RedisLine::kProxy.
  void FailOverRedis(absl::Duration lost);
  CounterServer& server(int i) { return *servers_[static_cast<size_t>(i)]; }
  const Client& client(int i) const { return clients_[static_cast<size_t>(i)]; }
  // Another server over the same PostgreSQL and Redis.
  std::unique_ptr<CounterServer> StartAnother(const Settings& settings) const;

  // What psql prints.
  std::string Sql(const std::string& sql) const;
  // The count of a post that is in Redis; absent if none is (nothing, or a lease).
  std::optional<int64_t> CachedCount(int64_t post) const;
  // All counts of posts that are in Redis, by key.
  std::map<std::string, int64_t> CachedCounts() const;
  // What is in Redis and not in PostgreSQL: a line for each cached count that is another one than
  // the stored. Empty if there is none. Requires that nobody writes.
  std::string CacheDifferences() const;
  // Whether the cache comes to be equal to the store within the bound of a crash (5 s).
  bool CacheComesToEqualStore(std::string& differences) const;

  // Counts and digests equal the likes that are stored, and PostgreSQL's log holds no deadlock and
  // no bad statement.
  void RequireSound() const;

 private:
  PostgresServer& postgres_;
  std::string database_;
  std::unique_ptr<RedisServer> redis_;         // Null: a cluster.
  RedisCluster* cluster_ = nullptr;            // Null: none.
  int victim_ = 0;                             // A node of the cluster.
  std::unique_ptr<RedisServer> former_redis_;  // The replica of the next failover; null: none yet.
  std::unique_ptr<RedisProxy> redis_line_;     // Null: none.
  std::vector<std::unique_ptr<CounterServer>> servers_;
  std::vector<Client> clients_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_FULL_STACK_H_
