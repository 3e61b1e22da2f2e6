// LiveCluster: a real Redis Cluster of 3 masters and 3 replicas, and a connection to it that is
// ready.
//
// One cluster a test program, started when it is first asked for; each LiveCluster has a connection
// of its own and begins with empty nodes. Threads: as RedisCluster.
#ifndef COUNTER_TESTS_CACHE_REDIS_LIVE_CLUSTER_H_
#define COUNTER_TESTS_CACHE_REDIS_LIVE_CLUSTER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/time/time.h"
#include "base/task.h"
#include "cache/redis/connection.h"
#include "cache/redis/slot.h"
#include "tests/support/eventually.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {

// `nodes` are those that the connection is told of; it finds the others.
inline ConnectionOptions OptionsFor(const counter::testing::RedisCluster& cluster,
                                    const std::vector<int>& nodes = {0, 1, 2}) {
  ConnectionOptions options;
  options.address.port = static_cast<uint16_t>(cluster.node(nodes.at(0)).port());
  for (size_t i = 1; i < nodes.size(); ++i) {
    options.address.others.push_back(
        {"127.0.0.1", static_cast<uint16_t>(cluster.node(nodes[i]).port())});
  }
  options.seed = counter::testing::TestSeed() | 1U;
  return options;
}

// Whether every master comes to be connected in time.
inline bool BecomesWhole(const Connection& connection,
                         absl::Duration deadline = absl::Seconds(10)) {
  return counter::testing::Eventually(deadline * counter::testing::Slowness(), [&] {
    return connection.usable() && connection.Stats().ready;
  });
}

class LiveCluster {
 public:
  LiveCluster() : connection_(OptionsFor(cluster())) {
    REQUIRE(cluster().ComesToBeWhole(absl::Seconds(20) * counter::testing::Slowness()));
    REQUIRE(cluster().TellMasters({"FLUSHALL"}, "OK"));
    connection_.Start();
    REQUIRE(BecomesWhole(connection_));
  }

  static counter::testing::RedisCluster& cluster() {
    static const std::unique_ptr<counter::testing::RedisCluster> cluster = [] {
      auto started = counter::testing::RedisCluster::Start();
      INFO(started.status().ToString());
      REQUIRE(started.ok());
      return *std::move(started);
    }();
    return *cluster;
  }
  Connection& connection() { return connection_; }

  // The reply to a command whose first word after the name is its key, waited for as long as it
  // takes.
  Reply Ask(const std::vector<std::string>& parts) {
    Commands commands;
    commands.Add(std::vector<absl::string_view>(parts.begin(), parts.end()), SlotOf(parts.at(1)));
    Answer answer =
        BlockingWait(redis::Ask(connection_, std::move(commands), MonotonicTime::max()));
    REQUIRE(answer.has_value());
    return answer->at(0);
  }

 private:
  Connection connection_;
};

}  // namespace counter::redis::testing

#endif  // COUNTER_TESTS_CACHE_REDIS_LIVE_CLUSTER_H_
