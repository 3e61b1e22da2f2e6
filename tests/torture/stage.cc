#include "tests/torture/stage.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "storage/sqlite/sqlite_store.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr int kSmallDiskMib = 400;

std::string SocketIn(const std::string& directory) { return directory + "/.s.PGSQL.5432"; }

int64_t Number(absl::string_view text) {
  int64_t number = 0;
  REQUIRE(absl::SimpleAtoi(text, &number));
  return number;
}

// What an audit of the embedded store says.
std::vector<std::string> AuditEmbedded(const std::string& data_dir) {
  SqliteStoreOptions options;
  options.path = data_dir + "/counter.db";
  auto store = OpenSqliteStore(options);
  INFO(store.status());
  REQUIRE(store.ok());
  std::vector<std::string> drifts;
  for (const AuditFinding& finding : Findings(**store))
    drifts.push_back(absl::StrCat("item ", finding.item.id, ": stored count ", finding.stored_count,
                                  ", likes ", finding.actual_count, ", stored digest ",
                                  finding.stored_digest, ", of likes ", finding.actual_digest));
  (*store)->Stop();
  return drifts;
}

}  // namespace

Stage::Stage(const Options& options) : options_(options), folder_("/tmp/counter-torture-XXXXXX") {
  REQUIRE(mkdtemp(folder_.data()) != nullptr);
  if (!options_.embedded) StartDatabases();
  for (int i = 0; i < (options_.embedded ? 1 : options_.servers); ++i) StartServer(i);
  REQUIRE(AwaitService(absl::Seconds(20) * Slowness()));
}

Stage::~Stage() {
  servers_.clear();
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(folder_, ignored);
}

void Stage::StartDatabases() {
  if (options_.small_disk) {
    small_disk_ = std::make_unique<SmallDisk>(kSmallDiskMib);
    if (!small_disk_->mounted()) small_disk_.reset();
  }
  if (options_.net_link) {
    net_link_ = std::make_unique<NetLink>();
    if (!net_link_->works()) net_link_.reset();
  }
  postgres_clock_ = std::make_unique<ShiftedClock>();
  redis_clock_ = std::make_unique<ShiftedClock>();
  PostgresServer::Options postgres;
  if (small_disk_ != nullptr) postgres.data_parent = small_disk_->path();
  postgres.settings["max_wal_size"] = "64MB";
  postgres.settings["restart_after_crash"] = "on";
  postgres.env = postgres_clock_->Env();
  auto started = PostgresServer::Start(postgres);
  INFO(started.status());
  REQUIRE(started.ok());
  postgres_ = *std::move(started);
  database_ = MigratedDatabase(*postgres_);
  RedisServer::Options redis;
  redis.env = redis_clock_->Env();
  auto started_redis = RedisServer::Start(redis);
  INFO(started_redis.status());
  REQUIRE(started_redis.ok());
  redis_ = *std::move(started_redis);
}

int Stage::LinkListener() const {
  const int listener = net_link_->Listen();
  REQUIRE(listener >= 0);
  return listener;
}

std::map<std::string, std::string> Stage::ServerEnv(int i) {
  std::map<std::string, std::string> env = server_clocks_.back()->Env();
  env["RATE_LIMIT_REQUESTS"] = "0";
  // The bound of a crash, for the recent likes too.
  env["RECENT_LIKES_FRESH_SECONDS"] = "5";
  env["ITEM_TYPES"] = "post=1,reel=2";
  if (!options_.embedded) {
    const int buffer = options_.line_buffer_bytes;
    const std::string database(database_.substr(database_.rfind("dbname=") + 7));
    const std::string name = database.substr(0, database.find(' '));
    socket_directories_.push_back(std::make_unique<ServerDirectory>());
    const std::string directory = socket_directories_.back()->path();
    const Proxy::Address postgres = {.path = SocketIn(postgres_->socket_directory())};
    if (i == 1 && net_link_ != nullptr) {
      database_lines_.push_back(std::make_unique<FaultyLine>(FaultyLine::Options{
          .server = postgres, .listener = LinkListener(), .buffer_bytes = buffer}));
      redis_lines_.push_back(std::make_unique<FaultyLine>(FaultyLine::Options{
          .server = {redis_->port()}, .listener = LinkListener(), .buffer_bytes = buffer}));
      env["DATABASE_URL"] = absl::StrCat("postgresql://postgres@", net_link_->address(), ":",
                                         database_lines_.back()->port(), "/", name);
      env["REDIS_URL"] =
          absl::StrCat("redis://", net_link_->address(), ":", redis_lines_.back()->port());
    } else {
      database_lines_.push_back(std::make_unique<FaultyLine>(FaultyLine::Options{
          .listen = {.path = SocketIn(directory)}, .server = postgres, .buffer_bytes = buffer}));
      redis_lines_.push_back(std::make_unique<FaultyLine>(
          FaultyLine::Options{.server = {redis_->port()}, .buffer_bytes = buffer}));
      env["DATABASE_URL"] = absl::StrCat("postgresql://postgres@%2Ftmp%2F",
                                         directory.substr(directory.rfind('/') + 1), "/", name);
      env["REDIS_URL"] = absl::StrCat("redis://127.0.0.1:", redis_lines_.back()->port());
    }
  }
  for (const auto& [name, value] : options_.settings) env[name] = value;
  return env;
}

void Stage::StartServer(int i) {
  server_clocks_.push_back(std::make_unique<ShiftedClock>());
  CounterServer::Options server;
  server.binary = options_.binary;
  server.env = ServerEnv(i);
  server.log_path = absl::StrCat(folder_, "/server", i, ".log");
  server.ready_deadline = absl::Seconds(20) * Slowness();
  auto started = CounterServer::Start(server);
  INFO(started.status());
  REQUIRE(started.ok());
  servers_.push_back(*std::move(started));
  client_lines_.push_back(
      std::make_unique<FaultyLine>(FaultyLine::Options{.server = {servers_.back()->grpc_port()}}));
  clients_.push_back(client::Client::Connect(
      {.target = absl::StrCat("127.0.0.1:", client_lines_.back()->port()), .retries = false}));
}

bool Stage::Serves(CounterServer& server) {
  ++probes_made_;
  // A name of its own keeps gRPC from using a connection that is there: a server that takes no new
  // one does not serve.
  const client::Client probe =
      client::Client::Connect({.target = server.target(),
                               .retries = false,
                               .user_agent = absl::StrCat("probe/", probes_made_)});
  // Of several items, so that all lanes are asked; of another type than the load's.
  constexpr int kItems = 8;
  std::vector<client::Mutation> mutations;
  for (int64_t item = 1; item <= kItems; ++item)
    mutations.push_back({1'000'000 + probes_made_, {"reel", item}});
  const auto reply = probe.WriteLikes(mutations, {.deadline = absl::Seconds(2)});
  return reply.ok() && std::all_of(reply->results.begin(), reply->results.end(),
                                   [](const auto& result) { return result.ok(); });
}

std::vector<const client::Client*> Stage::Clients() const {
  std::vector<const client::Client*> clients;
  for (const client::Client& client : clients_) clients.push_back(&client);
  return clients;
}

std::string Stage::Sql(const std::string& sql) const {
  const auto answer = postgres_->Psql(database_, sql);
  INFO(answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

bool Stage::AwaitService(absl::Duration patience) {
  return Eventually(patience, [&] {
    return std::all_of(servers_.begin(), servers_.end(), [this](const auto& server) {
      return (server->process().Running() || server->Restart().ok()) && Serves(*server);
    });
  });
}

std::string Stage::CacheDifferences() const {
  constexpr absl::Duration kBoundAfterCrash = absl::Seconds(5);
  std::string differences;
  if (options_.embedded) return differences;
  (void)Eventually(kBoundAfterCrash * Slowness(), [&] {
    differences = FindCacheDifferences();
    return differences.empty();
  });
  return differences;
}

std::string Stage::FindCacheDifferences() const {
  std::map<std::string, std::string> stored;
  for (const absl::string_view row :
       absl::StrSplit(Sql("SELECT item_id, count FROM counters WHERE item_type = 1"), '\n',
                      absl::SkipEmpty())) {
    const std::pair<std::string, std::string> cells = absl::StrSplit(row, '|');
    stored["counter:post:" + cells.first] = cells.second;
  }
  std::string differences;
  const std::string reply = redis_->Command({"KEYS", "counter:post:*"});
  const std::vector<std::string> keys = absl::StrSplit(reply, '\n', absl::SkipEmpty());
  for (const std::string& key : keys) {
    const std::string value = redis_->Command({"GET", key});
    const std::vector<std::string> parts = absl::StrSplit(value, '@');
    if (parts.size() != 3) continue;  // A lease, or it has ended meanwhile.
    const auto found = stored.find(key);
    const std::string count = found == stored.end() ? "0" : found->second;
    if (parts[0] != count)
      absl::StrAppend(&differences, key, " is ", value, " in Redis, ", count, " in the store\n");
  }
  return differences;
}

verify::FinalState Stage::End() {
  for (const auto& server : servers_) {
    server->Terminate();
    const auto exit = server->WaitExit(absl::Seconds(15) * Slowness());
    INFO(server->Log());
    REQUIRE(exit == ExitStatus{0, 0});
  }
  verify::FinalState state;
  if (options_.embedded) {
    state.drifts = AuditEmbedded(servers_[0]->data_dir());
    return state;
  }
  const std::string likes = Sql("SELECT user_id, item_id FROM user_likes WHERE item_type = 1");
  for (const absl::string_view row : absl::StrSplit(likes, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> cells = absl::StrSplit(row, '|');
    state.likes.insert({Number(cells.first), Number(cells.second)});
  }
  const std::string counts = Sql("SELECT item_id, count FROM counters WHERE item_type = 1");
  for (const absl::string_view row : absl::StrSplit(counts, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> cells = absl::StrSplit(row, '|');
    state.counts[Number(cells.first)] = Number(cells.second);
  }
  const auto store = OpenTestStore(database_);
  for (const AuditFinding& finding : Findings(*store))
    state.drifts.push_back(absl::StrCat("item ", finding.item.id, ": stored count ",
                                        finding.stored_count, ", likes ", finding.actual_count,
                                        ", stored digest ", finding.stored_digest, ", of likes ",
                                        finding.actual_digest));
  const std::string bad_words = BadWords(*postgres_);
  if (!bad_words.empty()) state.drifts.push_back("PostgreSQL's log says " + bad_words);
  return state;
}

void Stage::Keep() {
  keep_ = true;
  if (postgres_ != nullptr) WriteFile(folder_ + "/postgres.log", postgres_->Log());
}

}  // namespace counter::testing
