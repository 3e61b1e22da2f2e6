// A Redis Cluster as one should be run: TLS and nothing else, nodes that are known by a name which
// their certificates vouch for, and the account of deploy/. Slots move and masters fail meanwhile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cache/redis/slot.h"
#include "tests/integration/fixture.h"
#include "tests/support/certificates.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr char kPassword[] = "of-servers";
constexpr char kTestsAccount[] = "tests";
constexpr char kTestsPassword[] = "of-tests-and-nodes";
constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr int64_t kPosts = 60;

// Six nodes whose certificate names a host and no address, so that a server which goes by
// addresses, or checks no names, is found out.
class SecuredCluster {
 public:
  SecuredCluster() : authority_("authority") {
    const KeyPair pair = authority_.Issue("DNS:localhost");
    WriteFile(folder_.File("ca.pem"), authority_.pem());
    WriteFile(folder_.File("node.pem"), pair.certificate);
    WriteFile(folder_.File("node.key"), pair.key);
    const std::string accounts =
        absl::StrReplaceAll(ReadFile(FromEnvironment("USERS_ACL")), {{"PASSWORD", kPassword}});
    WriteFile(folder_.File("users.acl"), absl::StrCat(accounts, "user ", kTestsAccount, " on >",
                                                      kTestsPassword, " ~* &* +@all\n"));
    RedisCluster::Options options;
    options.args = {"--aclfile", folder_.File("users.acl"),           "--cluster-announce-hostname",
                    "localhost", "--cluster-preferred-endpoint-type", "hostname"};
    options.user = kTestsAccount;
    options.password = kTestsPassword;
    options.tls_only = {folder_.File("ca.pem"), folder_.File("node.pem"), folder_.File("node.key")};
    auto started = RedisCluster::Start(options);
    INFO(started.status());
    REQUIRE(started.ok());
    cluster_ = *std::move(started);
  }

  RedisCluster& operator*() const { return *cluster_; }
  RedisCluster* operator->() const { return cluster_.get(); }

  // Of a server that is told of two nodes.
  Settings SettingsOfServer() const {
    return {{"REDIS_URL",
             absl::StrCat("rediss://counter:", kPassword, "@localhost:", cluster_->node(0).port(),
                          ",localhost:", cluster_->node(1).port())},
            {"SSL_CERT_FILE", folder_.File("ca.pem")}};
  }

  // Nothing that was asked was denied, and every master serves the account.
  void RequireAccountUsed() const {
    for (int i = 0; i < RedisCluster::kNodes; ++i) {
      CAPTURE(i);
      CHECK(cluster_->node(i).Command({"ACL", "LOG"}).empty());
      CHECK(cluster_->node(i).Command({"CONFIG", "GET", "port"}) == "port\n0");
    }
    for (const int master : cluster_->Masters()) {
      CAPTURE(master);
      CHECK(absl::StrContains(cluster_->node(master).Command({"CLIENT", "LIST"}), "user=counter"));
    }
  }

 private:
  const CertificateAuthority authority_;
  const TempDir folder_;
  std::unique_ptr<RedisCluster> cluster_;
};

// One more like of each post; whether all were taken.
bool LikeAll(const Client& client, int64_t user) {
  std::vector<client::Mutation> likes;
  for (int64_t post = 1; post <= kPosts; ++post) likes.push_back({user, Post(post)});
  const auto reply = client.WriteLikes(likes);
  return reply.ok() && std::all_of(reply->results.begin(), reply->results.end(),
                                   [](const auto& result) { return result.ok(); });
}

// Whether in a while the cache answers every post with so many likes.
bool AllCached(const Client& client, int64_t likes) {
  std::vector<client::Item> posts;
  for (int64_t post = 1; post <= kPosts; ++post) posts.push_back(Post(post));
  return Eventually(kPatience * Slowness(), [&] {
    const auto read = client.Counts(posts);
    return read.ok() &&
           std::all_of(read->counts.begin(), read->counts.end(), [likes](const auto& count) {
             return count.source == client::Source::kCache && count.count == likes;
           });
  });
}

void RequireOk(const absl::Status& status) {
  INFO(status);
  REQUIRE(status.ok());
}

TEST_CASE(
    "A cluster that speaks TLS alone, by names, to an account of least rights caches on while "
    "slots move and masters fail") {
  const SecuredCluster cluster;
  const auto server = StartServer(cluster.SettingsOfServer());
  const Client client = ConnectTo(*server);
  REQUIRE(Eventually(kPatience * Slowness(), [&] {
    return MetricOf(*server, "counter_redis_nodes_connected") == RedisCluster::kMasters;
  }));
  REQUIRE(LikeAll(client, 1));
  REQUIRE(AllCached(client, 1));
  cluster.RequireAccountUsed();

  // Slots move: MOVED and ASK name hosts too.
  for (int64_t post = 1; post <= 6; ++post) {
    const std::string key = absl::StrCat("counter:post:", post);
    const int from = cluster->OwnerOf(key);
    RequireOk(cluster->MoveSlot(redis::SlotOf(key), from, (from + 1) % RedisCluster::kMasters));
  }
  REQUIRE(LikeAll(client, 2));
  CHECK(AllCached(client, 2));
  // The account may follow ASK.
  const std::string on_its_way = "counter:post:7";
  const int slot = redis::SlotOf(on_its_way);
  const int from = cluster->OwnerOf(on_its_way);
  const int to = (from + 1) % RedisCluster::kMasters;
  RequireOk(cluster->BeginMove(slot, from, to));
  REQUIRE(cluster->node(from).Command({"DEL", on_its_way}) == "1");
  CHECK(AllCached(client, 2));
  CHECK(MetricOf(*server, "counter_redis_redirects_total", {{"kind", "ask"}}) > 0);
  RequireOk(cluster->EndMove(slot, from, to));

  // A master dies, and its replica takes over.
  const int victim = cluster->OwnerOf("counter:post:60");
  cluster->node(victim).Kill9();
  REQUIRE(LikeAll(client, 3));
  REQUIRE(Eventually(kPatience * Slowness(), [&] {
    const std::vector<int> masters = cluster->Masters();
    return masters.size() == RedisCluster::kMasters &&
           std::find(masters.begin(), masters.end(), victim) == masters.end();
  }));
  CHECK(AllCached(client, 3));
  REQUIRE(LikeAll(client, 4));
  CHECK(AllCached(client, 4));

  // It comes back as a replica of the other, and takes over from it.
  RequireOk(cluster->node(victim).Restart());
  REQUIRE(cluster->ComesToBeWhole(kPatience * Slowness()));
  RequireOk(cluster->FailOver(cluster->node(cluster->OwnerOf("counter:post:60"))));
  REQUIRE(cluster->ComesToBeWhole(kPatience * Slowness()));
  REQUIRE(LikeAll(client, 5));
  CHECK(AllCached(client, 5));
  cluster.RequireAccountUsed();
}

TEST_CASE("A cluster whose nodes are known by addresses that no certificate names is not used") {
  // The seeds' name is vouched for; what they say of themselves is not.
  const SecuredCluster cluster;
  for (int i = 0; i < RedisCluster::kNodes; ++i) {
    REQUIRE(cluster->node(i).Command({"CONFIG", "SET", "cluster-preferred-endpoint-type", "ip"}) ==
            "OK");
  }
  const auto server = StartServer(cluster.SettingsOfServer());
  const Client client = ConnectTo(*server);
  REQUIRE(Eventually(kPatience * Slowness(), [&] {
    return MetricOf(*server, "counter_redis_nodes") == RedisCluster::kMasters &&
           MetricOf(*server, "counter_redis_breaks_total") > RedisCluster::kMasters;
  }));
  CHECK(MetricOf(*server, "counter_redis_nodes_connected") == 0);
  // Callers notice nothing.
  REQUIRE(LikeAll(client, 1));
  CHECK(StrongCount(client, Post(1)) == 1);
}

}  // namespace
}  // namespace counter::testing
