// RedisCluster: a real Redis Cluster of a test's own: masters, each with a replica, on free ports
// of 127.0.0.1, every node in a folder of its own.
//
// It is whole when Start returns. A node that has failed is noticed by the others after
// kNodeTimeout, and its replica takes over; then a replica that is started again follows it.
// It needs redis-server and redis-cli of Debian's package redis in the PATH.
//
// Threads: as RedisServer. Ownership: owns its nodes; everything ends with the object.
#ifndef COUNTER_TESTS_SUPPORT_REDIS_CLUSTER_H_
#define COUNTER_TESTS_SUPPORT_REDIS_CLUSTER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {

class RedisCluster {
 public:
  static constexpr int kMasters = 3;
  static constexpr int kNodes = 2 * kMasters;  // The first kMasters begin as masters.
  static constexpr absl::Duration kNodeTimeout = absl::Milliseconds(1500);

  struct Options {
    std::vector<std::string> args = {};  // Of each node, after those that every node needs.
    // Of each node, as RedisServer's; the nodes log in to each other with the same.
    std::string user = {};
    std::string password = {};
    std::optional<RedisServer::TlsFiles> tls_only = {};
  };
  static absl::StatusOr<std::unique_ptr<RedisCluster>> Start(const Options& options);
  static absl::StatusOr<std::unique_ptr<RedisCluster>> Start() { return Start(Options()); }

  RedisServer& node(int i) const { return *nodes_[static_cast<size_t>(i)]; }
  std::string url() const;  // Names the first masters.

  // A command whose first word after the name is its key, on the node that has it; as
  // RedisServer::Command.
  std::string Command(const std::vector<std::string>& parts) const;
  // Which node is the master of the slot of `key`, as any node that answers says; -1 if none does.
  int OwnerOf(const std::string& key) const;
  // Which nodes are masters, as they say themselves, and answer.
  std::vector<int> Masters() const;
  // Each master is told; false if one answered otherwise than `expected`.
  bool TellMasters(const std::vector<std::string>& parts, const std::string& expected) const;

  // Gives the slot to another master, keys and all, as redis-cli does it: for a while some of its
  // keys are on the one node and some on the other.
  absl::Status MoveSlot(int slot, int from, int to) const;
  // The two halves of that: between them commands are answered by ASK.
  absl::Status BeginMove(int slot, int from, int to) const;
  absl::Status EndMove(int slot, int from, int to) const;

  // Makes the replica of a master take over while both run, and waits until it has. Nothing is
  // lost.
  absl::Status FailOver(const RedisServer& master) const;

  // Waits until all nodes that run say that the cluster is whole and agree on who owns what.
  bool ComesToBeWhole(absl::Duration deadline) const;

 private:
  explicit RedisCluster(const Options& options) : options_(options) {}
  absl::Status Create();

  const Options options_;
  TempDir temp_;  // For the output of redis-cli.
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_REDIS_CLUSTER_H_
