// How many likes a second the PostgreSQL store takes in batches, beside pgbench with one
// transaction a like on the same server; and how many bytes a like takes.
//
//   bazel run --config=opt //tests/bench:postgres_bench -- --seconds 10 --rounds 3
//   bazel run --config=opt //tests/bench:postgres_bench -- --rounds 0 --bytes_rows 5000000
//
// Starts a private PostgreSQL 15 with ordinary durability. The store: `tasks` callers, each with
// one Apply of `batch` likes in flight, as WriteLikes would do it. pgbench: `clients` connections,
// each like a transaction of two statements (the pair, the counter), prepared; and the same as one
// statement without BEGIN and END. In turns; only the ratio of one run means something on a shared
// machine.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/task.h"
#include "storage/postgres/migrate.h"
#include "storage/postgres/store.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/workers.h"

namespace counter {
namespace {

using std::chrono::steady_clock;
using testing::PostgresServer;

struct Settings {
  std::string folder = "/var/tmp";
  double seconds = 5;
  int rounds = 3;
  int tasks = 16;
  int batch = 100;
  int lanes = postgres::StoreOptions{}.lanes;
  int batch_rows_max = postgres::StoreOptions{}.batch_rows_max;
  int units_in_flight_max = postgres::StoreOptions{}.units_in_flight_max;
  int clients = 16;
  int64_t bytes_rows = 0;
};

struct Load {
  const char* name;
  int64_t users;
  int64_t items;
};
constexpr Load kLoads[] = {{"uniform", 1'000'000, 1'000'000}, {"hot", 1'000'000'000, 1}};

constexpr const char* kTransaction =
    "BEGIN;\n"
    "INSERT INTO user_likes (user_id, item_id, item_type) VALUES (:u, :i, 1) "
    "ON CONFLICT DO NOTHING;\n"
    "INSERT INTO counters AS c (item_type, item_id, count, version, digest) "
    "VALUES (1, :i, 1, 1, 0) ON CONFLICT (item_type, item_id) "
    "DO UPDATE SET count = c.count + 1, version = c.version + 1;\n"
    "END;\n";
constexpr const char* kOneStatement =
    "WITH ins AS (INSERT INTO user_likes (user_id, item_id, item_type) VALUES (:u, :i, 1) "
    "ON CONFLICT DO NOTHING RETURNING item_id) "
    "INSERT INTO counters AS c (item_type, item_id, count, version, digest) "
    "SELECT 1, item_id, 1, 1, 0 FROM ins ON CONFLICT (item_type, item_id) "
    "DO UPDATE SET count = c.count + 1, version = c.version + 1;\n";

struct Rate {
  double likes_per_second = 0;
  double p99_ms = 0;  // Of one Apply.
};

Mutation RandomLike(const Load& load, std::mt19937_64& random) {
  return {UserId{1 + static_cast<int64_t>(random() % static_cast<uint64_t>(load.users))},
          {ItemType{1}, 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(load.items))},
          Action::kLike};
}

void Die(absl::string_view what, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", std::string(what).c_str(), status.ToString().c_str());
  std::exit(1);
}

Rate RunStore(const Settings& settings, const Load& load, const std::string& url) {
  postgres::StoreOptions options;
  options.url = url;
  options.item_types = {ItemType{1}};
  options.lanes = settings.lanes;
  options.batch_rows_max = settings.batch_rows_max;
  options.units_in_flight_max = settings.units_in_flight_max;
  auto store = postgres::PostgresStore::Open(options);
  if (!store.ok()) Die("the store", store.status());
  std::atomic<int64_t> likes{0};
  std::atomic<int64_t> failed{0};
  std::vector<std::vector<double>> times(static_cast<size_t>(settings.tasks));
  const auto begin = steady_clock::now();
  const auto end = begin + std::chrono::duration<double>(settings.seconds);
  testing::RunWorkers(settings.tasks, [&](int task) {
    std::mt19937_64 random(std::random_device{}());
    while (steady_clock::now() < end) {
      std::vector<Mutation> mutations;
      for (int i = 0; i < settings.batch; ++i) mutations.push_back(RandomLike(load, random));
      const auto sent = steady_clock::now();
      const auto results = BlockingWait((*store)->Apply(std::move(mutations), CallLimits()));
      for (const auto& result : results) ++(result.ok() ? likes : failed);
      times[static_cast<size_t>(task)].push_back(
          std::chrono::duration<double, std::milli>(steady_clock::now() - sent).count());
    }
  });
  const double took = std::chrono::duration<double>(steady_clock::now() - begin).count();
  const postgres::StoreStats stats = (*store)->Stats();
  std::printf(
      "    %.0f rows a transaction\n",
      static_cast<double>(stats.rows) / static_cast<double>(std::max<int64_t>(1, stats.units)));
  if (failed > 0) std::printf("    %lld failed\n", static_cast<long long>(failed.load()));
  std::vector<double> all;
  for (const auto& some : times) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  return {static_cast<double>(likes.load()) / took, all.empty() ? 0 : all[all.size() * 99 / 100]};
}

double RunPgbench(const Settings& settings, const Load& load, const std::string& url,
                  const char* statements) {
  testing::TempDir temp;
  testing::WriteFile(temp.File("script"),
                     absl::StrCat("\\set u random(1, ", load.users, ")\n\\set i random(1, ",
                                  load.items, ")\n", statements));
  testing::Process::Options options;
  options.argv = {testing::FindPostgresProgram("pgbench"),
                  "-n",
                  "-M",
                  "prepared",
                  "-c",
                  absl::StrCat(settings.clients),
                  "-j",
                  "2",
                  "-T",
                  absl::StrCat(std::max(1, static_cast<int>(settings.seconds))),
                  "-f",
                  temp.File("script"),
                  url};
  options.env = testing::Process::BaseEnv();
  options.stdout_path = temp.File("out");
  options.stderr_path = temp.File("err");
  auto pgbench = testing::Process::Start(options);
  if (!pgbench.ok()) Die("pgbench", pgbench.status());
  pgbench->Wait(absl::Seconds(settings.seconds) + absl::Seconds(60));
  const std::string out = testing::ReadFile(temp.File("out"));
  const size_t at = out.find("tps = ");
  double tps = 0;
  if (at == std::string::npos ||
      !absl::SimpleAtod(out.substr(at + 6, out.find(' ', at + 6) - at - 6), &tps))
    Die("pgbench", absl::InternalError(out + testing::ReadFile(temp.File("err"))));
  return tps;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string NewDatabase(PostgresServer& server) {
  static int number = 0;
  const auto url = server.MakeDatabase(absl::StrCat("bench", ++number));
  if (!url.ok()) Die("the database", url.status());
  const auto migrated = postgres::MigrateUp(*url, {ItemType{1}});
  if (!migrated.ok()) Die("migrating", migrated.status());
  return *url;
}

void CompareRates(const Settings& settings, PostgresServer& server) {
  for (const Load& load : kLoads) {
    std::vector<double> ratios;
    std::vector<double> ratios_one;
    for (int round = 1; round <= settings.rounds; ++round) {
      std::printf("%s, round %d\n", load.name, round);
      const double transactions = RunPgbench(settings, load, NewDatabase(server), kTransaction);
      const Rate store = RunStore(settings, load, NewDatabase(server));
      const double one = RunPgbench(settings, load, NewDatabase(server), kOneStatement);
      std::printf(
          "    store %.0f likes/s (p99 of an Apply %.1f ms), pgbench %.0f, "
          "as one statement %.0f\n",
          store.likes_per_second, store.p99_ms, transactions, one);
      ratios.push_back(store.likes_per_second / transactions);
      ratios_one.push_back(store.likes_per_second / one);
    }
    std::printf(
        "%s: %.1f times pgbench with one transaction a like (median of %d), "
        "%.1f times it as one statement\n",
        load.name, Median(ratios), settings.rounds, Median(ratios_one));
  }
}

void MeasureBytes(const Settings& settings, PostgresServer& server) {
  const std::string url = NewDatabase(server);
  postgres::StoreOptions options;
  options.url = url;
  options.item_types = {ItemType{1}};
  auto store = postgres::PostgresStore::Open(options);
  if (!store.ok()) Die("the store", store.status());
  std::atomic<int64_t> left{settings.bytes_rows};
  const Load load = {"bytes", settings.bytes_rows / 10 + 1, settings.bytes_rows / 10 + 1};
  testing::RunWorkers(settings.tasks, [&](int) {
    std::mt19937_64 random(std::random_device{}());
    while (left > 0) {
      std::vector<Mutation> mutations;
      for (int i = 0; i < settings.batch; ++i) mutations.push_back(RandomLike(load, random));
      for (const auto& result : BlockingWait((*store)->Apply(std::move(mutations), CallLimits())))
        if (result.ok() && result->changed) --left;
    }
  });
  (*store)->Stop();
  const auto sizes = server.Psql(
      url,
      "SELECT count(*), round(pg_total_relation_size('user_likes_1')::numeric / count(*), 1), "
      "round((SELECT pg_total_relation_size('counters')::numeric / count(*) FROM counters), 1) "
      "FROM user_likes_1");
  if (!sizes.ok()) Die("the sizes", sizes.status());
  const std::vector<std::string> cells = absl::StrSplit(*sizes, '|');
  std::printf("%s likes: %s bytes a like; %s bytes a counter\n", cells[0].c_str(), cells[1].c_str(),
              cells[2].c_str());
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Likes a second through the PostgreSQL store, beside pgbench");
  app.add_option("--folder", settings.folder, "Where the server keeps its data");
  app.add_option("--seconds", settings.seconds, "Of each measurement");
  app.add_option("--rounds", settings.rounds);
  app.add_option("--tasks", settings.tasks, "Callers of the store");
  app.add_option("--batch", settings.batch, "Likes of one Apply");
  app.add_option("--lanes", settings.lanes);
  app.add_option("--batch_rows_max", settings.batch_rows_max);
  app.add_option("--units_in_flight_max", settings.units_in_flight_max);
  app.add_option("--clients", settings.clients, "Of pgbench");
  app.add_option("--bytes_rows", settings.bytes_rows, "Measure bytes a like at so many; 0: do not");
  CLI11_PARSE(app, argc, argv);
  PostgresServer::Options options;
  options.data_parent = settings.folder;
  options.settings = {{"shared_buffers", "512MB"},
                      {"wal_compression", "lz4"},
                      {"max_wal_size", "4GB"},
                      {"max_connections", "200"}};
  auto server = PostgresServer::Start(options);
  if (!server.ok()) Die("PostgreSQL", server.status());
  if (settings.rounds > 0) CompareRates(settings, **server);
  if (settings.bytes_rows > 0) MeasureBytes(settings, **server);
  return 0;
}

}  // namespace
}  // namespace counter

int main(int argc, char** argv) { return counter::Main(argc, argv); }
