#include "tests/integration/fixture.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "storage/sqlite/sqlite_store.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// The file of the embedded store; fails the case unless there is exactly one.
std::string StoreFile(const std::string& data_dir) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir)) {
    if (entry.path().extension() == ".db") files.push_back(entry.path().string());
  }
  REQUIRE(files.size() == 1);
  return files[0];
}

// What differs, for people.
std::string ToString(const AuditFinding& finding) {
  return absl::StrCat("item ", finding.item.type.value, ":", finding.item.id, " stored count ",
                      finding.stored_count, ", likes ", finding.actual_count, ", stored digest ",
                      finding.stored_digest, ", of likes ", finding.actual_digest);
}

}  // namespace

std::unique_ptr<CounterServer> StartServer(const Settings& settings) {
  CounterServer::Options options;
  options.env["RATE_LIMIT_REQUESTS"] = "0";
  for (const auto& [name, value] : settings) options.env[name] = value;
  options.ready_deadline = absl::Seconds(10) * Slowness();
  absl::StatusOr<std::unique_ptr<CounterServer>> server = CounterServer::Start(std::move(options));
  INFO(server.status().ToString());
  REQUIRE(server.ok());
  return *std::move(server);
}

void RestartServer(CounterServer& server) {
  const absl::Status restarted = server.Restart();
  INFO(restarted.ToString());
  REQUIRE(restarted.ok());
}

Client ConnectTo(const CounterServer& server) {
  return Client::Connect(
      {.target = server.target(), .deadline = absl::Seconds(10) * Slowness(), .retries = false});
}

std::shared_ptr<grpc::Channel> ChannelTo(const CounterServer& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A connection of its own, not one that another channel of the test has worn in.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(server.target(), grpc::InsecureChannelCredentials(), arguments);
}

void StopServer(CounterServer& server) {
  server.Terminate();
  const auto exit = server.WaitExit(absl::Seconds(10) * Slowness());
  INFO(server.Log());
  REQUIRE(exit == ExitStatus{0, 0});
}

void RequireSoundStore(const CounterServer& server) {
  SqliteStoreOptions options;
  options.path = StoreFile(server.data_dir());
  absl::StatusOr<std::unique_ptr<LikeStore>> store = OpenSqliteStore(options);
  INFO(store.status().ToString());
  REQUIRE(store.ok());
  std::optional<Item> after;
  do {
    constexpr int kPageItems = 1000;
    const absl::StatusOr<AuditPage> page =
        BlockingWait((*store)->Audit(after, kPageItems, CallLimits()));
    INFO(page.status().ToString());
    REQUIRE(page.ok());
    for (const AuditFinding& finding : page->findings) FAIL_CHECK(ToString(finding));
    after = page->next;
  } while (after.has_value());
  (*store)->Stop();
}

double MetricOf(const CounterServer& server, const std::string& name,
                const MetricsText::Labels& labels) {
  const absl::StatusOr<MetricsText> metrics = server.Metrics();
  INFO(metrics.status().ToString());
  REQUIRE(metrics.ok());
  CAPTURE(name);
  REQUIRE(metrics->Has(name));
  return metrics->Sum(name, labels);
}

client::Item Post(int64_t id) { return {"post", id}; }

v1::LikeRequest LikeRequestOf(int64_t user_id, const client::Item& item) {
  v1::LikeRequest request;
  request.set_user_id(user_id);
  request.mutable_item()->set_item_type(item.type);
  request.mutable_item()->set_item_id(item.id);
  return request;
}

v1::UnlikeRequest UnlikeRequestOf(int64_t user_id, const client::Item& item) {
  v1::UnlikeRequest request;
  request.set_user_id(user_id);
  request.mutable_item()->set_item_type(item.type);
  request.mutable_item()->set_item_id(item.id);
  return request;
}

std::vector<client::Mutation> LikesOf(const client::Item& item, int64_t users) {
  std::vector<client::Mutation> mutations;
  for (int64_t user = 1; user <= users; ++user) mutations.push_back({user, item});
  return mutations;
}

int64_t StrongCount(const Client& client, const client::Item& item) {
  const auto count = client.Count(item, {.consistency = client::Consistency::kStrong});
  INFO((count.ok() ? std::string() : count.error().ToString()));
  REQUIRE(count.ok());
  return count->count.count;
}

bool StronglyLiked(const Client& client, int64_t user_id, const client::Item& item) {
  const auto liked =
      client.HasLiked(user_id, {item}, {.consistency = client::Consistency::kStrong});
  INFO((liked.ok() ? std::string() : liked.error().ToString()));
  REQUIRE(liked.ok());
  return liked->liked.at(0);
}

}  // namespace counter::testing
