// ReplicatedStack: a primary with standbys, a Redis or a Redis Cluster, and two servers over them,
// real ones, for one case.
//
// Use it where replicas, or a failover of PostgreSQL, matter to the whole. The servers know all
// hosts, and each standby as a replica; the rate limit is off unless the settings say otherwise.
// Everything ends with the object.
//
// Functions fail the case (REQUIRE) if they cannot do what they say: call them on the test's
// thread. Clients and Redis commands are for any thread.
#ifndef COUNTER_TESTS_INTEGRATION_REPLICATED_STACK_H_
#define COUNTER_TESTS_INTEGRATION_REPLICATED_STACK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/fixture.h"
#include "tests/storage/replicated_postgres.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"

namespace counter::testing {

class ReplicatedStack {
 public:
  static constexpr int kServers = 2;

  struct Options {
    Settings settings = {};  // Of both servers.
    ReplicatedPostgres::Options postgres = {};
    // Whether the servers know the primary as a replica, too: for when it has become one.
    bool primary_is_replica = false;
    bool redis_cluster = false;  // Of 3 masters and 3 replicas.
  };

  explicit ReplicatedStack(const Options& options);
  explicit ReplicatedStack(const Settings& settings = {}) : ReplicatedStack(Options{settings}) {}

  CounterServer& server(int i) { return *servers_[static_cast<size_t>(i)]; }
  const Client& client(int i) const { return clients_[static_cast<size_t>(i)]; }
  RedisServer& redis() { return *redis_; }             // Requires a Redis.
  RedisCluster& cluster() const { return *cluster_; }  // Requires a cluster.
  // What Redis answers to a command whose first word after the name is its key.
  std::string Redis(const std::vector<std::string>& parts) const;
  void ForgetCount(int64_t post);

  ReplicatedPostgres postgres;

 private:
  std::unique_ptr<RedisServer> redis_;     // Null: a cluster.
  std::unique_ptr<RedisCluster> cluster_;  // Null: none.
  std::vector<std::unique_ptr<CounterServer>> servers_;
  std::vector<Client> clients_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_REPLICATED_STACK_H_
