#include "tests/integration/full_stack.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// The count of a value "count@version@read_at"; absent if it is none.
std::optional<int64_t> CountIn(absl::string_view value) {
  const std::vector<absl::string_view> parts = absl::StrSplit(value, '@');
  int64_t count = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &count)) return std::nullopt;
  return count;
}

// A server serves before it has a connection to Redis.
void RequireCacheInUse(const Client& client) {
  constexpr int64_t kNobodysPost = 4'000'000'000;
  REQUIRE(Eventually(absl::Seconds(10) * Slowness(), [&] {
    const auto read = client.Count(Post(kNobodysPost));
    return read.ok() && read->count.source == client::Source::kCache;
  }));
}

std::unique_ptr<RedisServer> StartRedis(const RedisServer::Options& options) {
  absl::StatusOr<std::unique_ptr<RedisServer>> started = RedisServer::Start(options);
  INFO(started.status().ToString());
  REQUIRE(started.ok());
  return *std::move(started);
}

// One for the test program: it takes seconds to make.
RedisCluster& SharedCluster() {
  static const std::unique_ptr<RedisCluster> cluster = [] {
    absl::StatusOr<std::unique_ptr<RedisCluster>> started = RedisCluster::Start();
    INFO(started.status().ToString());
    REQUIRE(started.ok());
    return *std::move(started);
  }();
  REQUIRE(cluster->ComesToBeWhole(absl::Seconds(30) * Slowness()));
  REQUIRE(cluster->TellMasters({"FLUSHALL"}, "OK"));
  return *cluster;
}

std::string KeyOf(int64_t post) { return absl::StrCat("counter:post:", post); }

}  // namespace

std::string UrlOf(const std::string& conninfo) {
  std::map<std::string, std::string> words;
  for (const absl::string_view word : absl::StrSplit(conninfo, ' ')) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(word, absl::MaxSplits('=', 1));
    words[pair.first] = pair.second;
  }
  return absl::StrCat("postgresql://", words["user"], "@",
                      absl::StrReplaceAll(words["host"], {{"/", "%2F"}}), "/", words["dbname"]);
}

FullStack::FullStack(const Settings& settings, const RedisServer::Options& redis, RedisLine line)
    : postgres_(SharedPostgres()), database_(MigratedDatabase()) {
  if (OnRedisCluster()) {
    REQUIRE(line == RedisLine::kDirect);
    cluster_ = &SharedCluster();
    victim_ = cluster_->Masters().at(0);
  } else {
    redis_ = StartRedis(redis);
  }
  if (line == RedisLine::kProxy) redis_line_ = std::make_unique<RedisProxy>(*redis_);
  for (int i = 0; i < kServers; ++i) {
    servers_.push_back(StartAnother(settings));
    clients_.push_back(ConnectTo(*servers_.back()));
  }
  for (const Client& client : clients_) RequireCacheInUse(client);
}

std::unique_ptr<CounterServer> FullStack::StartAnother(const Settings& settings) const {
  const std::string redis = cluster_ != nullptr      ? cluster_->url()
                            : redis_line_ != nullptr ? redis_line_->url()
                                                     : redis_->url();
  Settings all = {
      {"DATABASE_URL", UrlOf(database_)}, {"REDIS_URL", redis}, {"ITEM_TYPES", "post=1,reel=2"}};
  for (const auto& [name, value] : settings) all[name] = value;
  return StartServer(all);
}

void FullStack::FailOverRedis(absl::Duration lost) {
  if (former_redis_ == nullptr) former_redis_ = StartRedis({});
  // Else a replica waits for five seconds before it gets its first copy.
  redis_->Command({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
  RedisServer& replica = *former_redis_;
  REQUIRE(replica.Command({"REPLICAOF", "127.0.0.1", absl::StrCat(redis_->port())}) == "OK");
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] {
    return absl::StrContains(replica.Command({"INFO", "replication"}), "master_link_status:up");
  }));
  REQUIRE(replica.Command({"REPLICAOF", "NO", "ONE"}) == "OK");
  REQUIRE(replica.Command({"SCRIPT", "FLUSH"}) == "OK");
  absl::SleepFor(lost);
  redis_line_->LeadTo(replica);
  std::swap(redis_, former_redis_);
}

std::string FullStack::Sql(const std::string& sql) const {
  const absl::StatusOr<std::string> answer = postgres_.Psql(database_, sql);
  INFO(answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

RedisServer& FullStack::redis_of(const std::string& key) const {
  if (cluster_ == nullptr) return *redis_;
  const int owner = cluster_->OwnerOf(key);
  REQUIRE(owner >= 0);
  return cluster_->node(owner);
}

std::vector<RedisServer*> FullStack::redis_masters() const {
  if (cluster_ == nullptr) return {redis_.get()};
  std::vector<RedisServer*> masters;
  for (const int master : cluster_->Masters()) masters.push_back(&cluster_->node(master));
  return masters;
}

std::optional<int64_t> FullStack::CachedCount(int64_t post) const {
  const std::string key = KeyOf(post);
  return CountIn(redis_of(key).Command({"GET", key}));
}

std::map<std::string, int64_t> FullStack::CachedCounts() const {
  std::map<std::string, int64_t> counts;
  for (const RedisServer* redis : redis_masters()) {
    const std::string keys = redis->Command({"KEYS", "counter:post:*"});
    for (const absl::string_view key : absl::StrSplit(keys, '\n', absl::SkipEmpty())) {
      const std::optional<int64_t> count = CountIn(redis->Command({"GET", std::string(key)}));
      if (count.has_value()) counts[std::string(key)] = *count;
    }
  }
  return counts;
}

std::string FullStack::CacheDifferences() const {
  std::map<std::string, int64_t> stored;
  const std::string rows = Sql("SELECT item_id, count FROM counters WHERE item_type = 1");
  for (const absl::string_view row : absl::StrSplit(rows, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(row, '|');
    REQUIRE(absl::SimpleAtoi(cells[1], &stored[absl::StrCat("counter:post:", cells[0])]));
  }
  std::string differences;
  for (const auto& [key, count] : CachedCounts()) {
    if (count != stored[key])
      absl::StrAppend(&differences, key, " is ", count, " in Redis, ", stored[key],
                      " in PostgreSQL\n");
  }
  return differences;
}

bool FullStack::CacheComesToEqualStore(std::string& differences) const {
  constexpr absl::Duration kBoundAfterCrash = absl::Seconds(5);
  return Eventually(kBoundAfterCrash * Slowness(), [&] {
    differences = CacheDifferences();
    return differences.empty();
  });
}

void FullStack::RequireSound() const {
  const auto store = OpenTestStore(database_);
  for (const AuditFinding& finding : Findings(*store)) {
    FAIL_CHECK("post " << finding.item.id << ": stored count " << finding.stored_count << ", likes "
                       << finding.actual_count << ", stored digest " << finding.stored_digest
                       << ", of likes " << finding.actual_digest);
  }
  CHECK(BadWords(postgres_).empty());
}

}  // namespace counter::testing
