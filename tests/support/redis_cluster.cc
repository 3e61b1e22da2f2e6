#include "tests/support/redis_cluster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr char kNoAnswer[] = "-NOCONNECTION";

// Where "-MOVED 3999 127.0.0.1:6381" leads to; 0: nowhere.
int TargetPort(const std::string& reply) {
  if (!absl::StartsWith(reply, "-MOVED") && !absl::StartsWith(reply, "-ASK")) return 0;
  int port = 0;
  return absl::SimpleAtoi(reply.substr(reply.rfind(':') + 1), &port) ? port : 0;
}

bool IsMaster(const RedisServer& node) {
  return absl::StartsWith(node.Command({"ROLE"}), "master");
}

// Who owns what, as this node sees it, in a form that is the same on all nodes that agree.
std::string MapOf(const RedisServer& node) {
  std::vector<std::string> lines =
      absl::StrSplit(node.Command({"CLUSTER", "SLOTS"}), '\n', absl::SkipEmpty());
  return absl::StrJoin(lines, " ");
}

// The newest epoch that this node has heard of; empty if it does not answer.
std::string EpochOf(const RedisServer& node) {
  const std::string info = node.Command({"CLUSTER", "INFO"});
  for (const absl::string_view line : absl::StrSplit(info, "\r\n")) {
    if (absl::StartsWith(line, "cluster_current_epoch:")) return std::string(line);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<RedisCluster>> RedisCluster::Start(const Options& options) {
  std::unique_ptr<RedisCluster> cluster(new RedisCluster(options));
  RedisServer::Options node;
  node.cluster = true;
  node.args = {"--cluster-node-timeout", absl::StrCat(absl::ToInt64Milliseconds(kNodeTimeout)),
               "--cluster-replica-validity-factor", "0",
               // What a failed master had owned is all that is out of reach.
               "--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no",
               "--repl-ping-replica-period", "1"};
  node.user = options.user;
  node.password = options.password;
  node.tls_only = options.tls_only;
  if (!options.user.empty()) {
    node.args.insert(node.args.end(),
                     {"--masteruser", options.user, "--masterauth", options.password});
  }
  node.args.insert(node.args.end(), options.args.begin(), options.args.end());
  for (int i = 0; i < kNodes; ++i) {
    auto started = RedisServer::Start(node);
    if (!started.ok()) return started.status();
    cluster->nodes_.push_back(*std::move(started));
  }
  absl::Status created = cluster->Create();
  if (!created.ok()) return created;
  return cluster;
}

absl::Status RedisCluster::Create() {
  Process::Options cli;
  cli.env = Process::BaseEnv();
  cli.argv = {"redis-cli", "--cluster", "create"};
  for (const auto& node : nodes_) cli.argv.push_back(absl::StrCat("127.0.0.1:", node->port()));
  cli.argv.insert(cli.argv.end(), {"--cluster-replicas", "1", "--cluster-yes"});
  if (!options_.user.empty())
    cli.argv.insert(cli.argv.end(), {"--user", options_.user, "--pass", options_.password});
  if (options_.tls_only.has_value())
    cli.argv.insert(cli.argv.end(), {"--tls", "--cacert", options_.tls_only->authority});
  cli.stdout_path = temp_.File("create.log");
  cli.stderr_path = temp_.File("create.log");
  auto created = Process::Start(cli);
  if (!created.ok()) return created.status();
  const auto said = [&] { return ReadFile(temp_.File("create.log")); };
  if (created->Wait(absl::Seconds(60)) != ExitStatus{0, 0})
    return absl::InternalError(absl::StrCat("redis-cli made no cluster:\n", said()));
  if (!ComesToBeWhole(absl::Seconds(30) * Slowness()))
    return absl::InternalError(absl::StrCat("the cluster did not become whole:\n", said()));
  return absl::OkStatus();
}

std::string RedisCluster::url() const {
  std::vector<std::string> hosts;
  for (int i = 0; i < kMasters; ++i) hosts.push_back(absl::StrCat("127.0.0.1:", node(i).port()));
  return absl::StrCat("redis://", absl::StrJoin(hosts, ","));
}

std::string RedisCluster::Command(const std::vector<std::string>& parts) const {
  const int owner = OwnerOf(parts.at(1));
  if (owner < 0) return kNoAnswer;
  std::string reply = node(owner).Command(parts);
  constexpr int kHops = 5;
  for (int hop = 0; hop < kHops && TargetPort(reply) != 0; ++hop) {
    for (const auto& next : nodes_) {
      // No ASKING: whoever wants to see a slot on its way looks at its node.
      if (next->port() == TargetPort(reply)) {
        reply = next->Command(parts);
        break;
      }
    }
  }
  return reply;
}

int RedisCluster::OwnerOf(const std::string& key) const {
  for (const auto& asked : nodes_) {
    // A write that changes nothing, which replicas send on, too.
    const std::string reply = asked->Command({"PERSIST", key});
    if (reply == kNoAnswer || absl::StartsWith(reply, "-CLUSTERDOWN")) continue;
    const int port = absl::StartsWith(reply, "-MOVED") ? TargetPort(reply) : asked->port();
    const auto has_port = [&](const auto& node) { return node->port() == port; };
    const auto owner = std::find_if(nodes_.begin(), nodes_.end(), has_port);
    if (owner != nodes_.end()) return static_cast<int>(owner - nodes_.begin());
  }
  return -1;
}

std::vector<int> RedisCluster::Masters() const {
  std::vector<int> masters;
  for (int i = 0; i < kNodes; ++i) {
    if (IsMaster(node(i))) masters.push_back(i);
  }
  return masters;
}

bool RedisCluster::TellMasters(const std::vector<std::string>& parts,
                               const std::string& expected) const {
  const std::vector<int> masters = Masters();
  return std::all_of(masters.begin(), masters.end(),
                     [&](int master) { return node(master).Command(parts) == expected; });
}

absl::Status RedisCluster::MoveSlot(int slot, int from, int to) const {
  absl::Status moved = BeginMove(slot, from, to);
  if (moved.ok()) moved = EndMove(slot, from, to);
  return moved;
}

absl::Status RedisCluster::BeginMove(int slot, int from, int to) const {
  const std::string number = absl::StrCat(slot);
  std::string reply = node(to).Command(
      {"CLUSTER", "SETSLOT", number, "IMPORTING", node(from).Command({"CLUSTER", "MYID"})});
  if (reply == "OK") {
    reply = node(from).Command(
        {"CLUSTER", "SETSLOT", number, "MIGRATING", node(to).Command({"CLUSTER", "MYID"})});
  }
  if (reply == "OK") return absl::OkStatus();
  return absl::InternalError(absl::StrCat("slot ", slot, " could not begin to move: ", reply));
}

absl::Status RedisCluster::EndMove(int slot, int from, int to) const {
  const std::string number = absl::StrCat(slot);
  std::string reply;
  std::vector<std::string> how = {"0", "5000", "REPLACE"};
  if (!options_.user.empty()) how.insert(how.end(), {"AUTH2", options_.user, options_.password});
  while (true) {
    const std::string keys = node(from).Command({"CLUSTER", "GETKEYSINSLOT", number, "100"});
    if (keys.empty()) break;
    for (const absl::string_view key : absl::StrSplit(keys, '\n', absl::SkipEmpty())) {
      std::vector<std::string> migrate = {"MIGRATE", "127.0.0.1", absl::StrCat(node(to).port()),
                                          std::string(key)};
      migrate.insert(migrate.end(), how.begin(), how.end());
      reply = node(from).Command(migrate);
      if (reply != "OK" && reply != "NOKEY")
        return absl::InternalError(absl::StrCat(key, " could not be moved: ", reply));
    }
  }
  const std::string id = node(to).Command({"CLUSTER", "MYID"});
  for (const int master : {to, from}) {
    reply = node(master).Command({"CLUSTER", "SETSLOT", number, "NODE", id});
    if (reply != "OK")
      return absl::InternalError(absl::StrCat("slot ", slot, " could not be given: ", reply));
  }
  // Two moves at once could give themselves one epoch, and a slot in the end two owners or none;
  // and a node that has not heard of this one, a replica too, would name the old owner for the
  // next.
  const bool all_know = Eventually(absl::Seconds(10) * Slowness(), [&] {
    std::set<std::string> epochs;
    std::set<std::string> maps;
    for (const auto& one : nodes_) {
      epochs.insert(EpochOf(*one));
      maps.insert(MapOf(*one));
    }
    epochs.erase("");
    maps.erase(kNoAnswer);
    return epochs.size() == 1 && maps.size() == 1;
  });
  if (all_know) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("not all nodes learn that slot ", slot, " moved"));
}

absl::Status RedisCluster::FailOver(const RedisServer& master) const {
  const std::string of_master = absl::StrCat("\n", master.port(), "\n");
  for (const auto& node : nodes_) {
    // "slave", its master's host and port, and more.
    const std::string role = node->Command({"ROLE"});
    if (!absl::StartsWith(role, "slave") || !absl::StrContains(role, of_master)) continue;
    // A replica gives up, and says nothing, if it has not caught up within 5 s.
    constexpr absl::Duration kTry = absl::Seconds(6);
    constexpr int kTries = 4;
    for (int i = 0; i < kTries; ++i) {
      const std::string reply = node->Command({"CLUSTER", "FAILOVER"});
      if (reply != "OK") return absl::InternalError("the replica does not take over: " + reply);
      if (Eventually(kTry * Slowness(), [&] { return IsMaster(*node); })) return absl::OkStatus();
    }
    return absl::DeadlineExceededError("the replica has not taken over");
  }
  return absl::NotFoundError("it has no replica");
}

bool RedisCluster::ComesToBeWhole(absl::Duration deadline) const {
  return Eventually(deadline, [&] {
    std::set<std::string> maps;
    int running = 0;
    for (const auto& node : nodes_) {
      const std::string info = node->Command({"CLUSTER", "INFO"});
      if (info == kNoAnswer) continue;
      ++running;
      if (!absl::StrContains(info, "cluster_state:ok") ||
          !absl::StrContains(info, "cluster_slots_ok:16384")) {
        return false;
      }
      const std::string replication = node->Command({"INFO", "replication"});
      if (absl::StrContains(replication, "master_link_status:down")) return false;
      maps.insert(MapOf(*node));
    }
    return running > 0 && (running < kNodes || maps.size() == 1);
  });
}

}  // namespace counter::testing
