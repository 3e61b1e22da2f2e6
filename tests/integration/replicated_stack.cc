#include "tests/integration/replicated_stack.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "tests/integration/full_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {

ReplicatedStack::ReplicatedStack(const Options& options) : postgres(options.postgres) {
  if (options.redis_cluster) {
    auto cluster = RedisCluster::Start();
    INFO(cluster.status());
    REQUIRE(cluster.ok());
    cluster_ = *std::move(cluster);
    REQUIRE(cluster_->ComesToBeWhole(absl::Seconds(30) * Slowness()));
  } else {
    auto redis = RedisServer::Start();
    INFO(redis.status());
    REQUIRE(redis.ok());
    redis_ = *std::move(redis);
  }
  std::vector<std::string> replicas;
  for (int i = 0; i < options.postgres.standbys; ++i)
    replicas.push_back(UrlOf(postgres.UrlAt(postgres.standby(i))));
  if (options.primary_is_replica) replicas.push_back(UrlOf(postgres.PrimaryUrl()));
  Settings all = {{"DATABASE_URL", UrlOf(postgres.UrlOfAll())},
                  {"REPLICA_URLS", absl::StrJoin(replicas, ",")},
                  {"REDIS_URL", cluster_ != nullptr ? cluster_->url() : redis_->url()},
                  {"ITEM_TYPES", "post=1,reel=2"}};
  for (const auto& [name, value] : options.settings) all[name] = value;
  for (int i = 0; i < kServers; ++i) {
    servers_.push_back(StartServer(all));
    clients_.push_back(ConnectTo(*servers_.back()));
  }
  for (const auto& server : servers_) {
    REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] {
      return MetricOf(*server, "counter_redis_connected") == 1 &&
             MetricOf(*server, "counter_postgres_replicas_in_use") == options.postgres.standbys;
    }));
  }
}

std::string ReplicatedStack::Redis(const std::vector<std::string>& parts) const {
  return cluster_ != nullptr ? cluster_->Command(parts) : redis_->Command(parts);
}

void ReplicatedStack::ForgetCount(int64_t post) {
  Redis({"DEL", absl::StrCat("counter:post:", post)});
}

}  // namespace counter::testing
