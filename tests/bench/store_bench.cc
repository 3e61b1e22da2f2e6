// How many likes a second the embedded store takes, beside SQLite itself doing the same work.
//
//   bazel run --config=opt //tests/bench:store_bench -- --seconds 5 --folder /var/tmp
//
// The store: `tasks` callers, each with one Apply of `batch` likes in flight, as WriteLikes would
// do it. SQLite: one connection, the same schema, pragmas and statements, transactions of 1000
// sorted likes. Both on new files of the same folder, one after the other, in turns; only the ratio
// of one run means something on a shared machine.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/task.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/sqlite_store.h"

namespace counter {
namespace {

using std::chrono::steady_clock;

struct Settings {
  std::string folder = "/var/tmp";
  double seconds = 3;
  int rounds = 3;
  int tasks = 16;
  int batch = 100;
  int reply_us = 0;  // Of work that each caller does on the thread that answers it.
  int batch_rows_max = SqliteStoreOptions{}.batch_rows_max;
  int checkpoint_pages = SqliteStoreOptions{}.checkpoint_pages;
  bool json = false;
};

struct Load {
  const char* name;
  int64_t users;
  int64_t items;
};
constexpr Load kLoads[] = {{"uniform", 1'000'000, 1'000'000}, {"hot", int64_t{1} << 40, 1}};

struct Rate {
  double likes_per_second = 0;
  double p99_ms = 0;  // Of one Apply, or of one transaction.
};

Mutation RandomLike(const Load& load, std::mt19937_64& random) {
  return {UserId{1 + static_cast<int64_t>(random() % static_cast<uint64_t>(load.users))},
          {ItemType{1}, 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(load.items))},
          Action::kLike};
}

std::string NewFile(const Settings& settings) {
  const std::string folder = settings.folder + "/counter_store_bench";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder + "/likes.db";
}

double P99(std::vector<double>& ms) {
  if (ms.empty()) return 0;
  std::sort(ms.begin(), ms.end());
  return ms[ms.size() * 99 / 100];
}

double MsSince(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// One caller: Apply after Apply until the time is over.
struct Caller {
  std::mt19937_64 random;
  int64_t likes = 0;
  std::vector<double> ms;
  std::atomic<bool> ended{false};
};

Task<> CallUntil(LikeStore& store, const Load& load, const Settings& settings,
                 steady_clock::time_point end, Caller& caller) {
  while (steady_clock::now() < end) {
    std::vector<Mutation> mutations;
    for (int i = 0; i < settings.batch; ++i) mutations.push_back(RandomLike(load, caller.random));
    const steady_clock::time_point start = steady_clock::now();
    Task<std::vector<absl::StatusOr<Applied>>> apply = store.Apply(std::move(mutations), {});
    const std::vector<absl::StatusOr<Applied>> results = co_await std::move(apply);
    caller.ms.push_back(MsSince(start));
    for (const auto& result : results) {
      if (!result.ok()) {
        std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
        std::abort();
      }
    }
    caller.likes += settings.batch;
    const steady_clock::time_point replying = steady_clock::now();
    while (MsSince(replying) * 1000 < settings.reply_us) {
    }
  }
  caller.ended = true;
}

Rate MeasureStore(const Load& load, const Settings& settings, uint64_t seed) {
  SqliteStoreOptions options;
  options.path = NewFile(settings);
  options.batch_rows_max = settings.batch_rows_max;
  options.checkpoint_pages = settings.checkpoint_pages;
  std::unique_ptr<LikeStore> store = *OpenSqliteStore(options);
  std::vector<std::unique_ptr<Caller>> callers;
  const auto start = steady_clock::now();
  const auto end = start + std::chrono::microseconds(static_cast<int64_t>(settings.seconds * 1e6));
  for (int i = 0; i < settings.tasks; ++i) {
    callers.push_back(std::make_unique<Caller>());
    callers.back()->random.seed(seed + static_cast<uint64_t>(i));
    Spawn(CallUntil(*store, load, settings, end, *callers.back()));
  }
  Rate rate;
  std::vector<double> ms;
  for (const auto& caller : callers) {
    while (!caller->ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const double elapsed = MsSince(start) / 1000;
  for (const auto& caller : callers) {
    rate.likes_per_second += static_cast<double>(caller->likes) / elapsed;
    ms.insert(ms.end(), caller->ms.begin(), caller->ms.end());
  }
  store->Stop();
  rate.p99_ms = P99(ms);
  return rate;
}

// The least that SQLite must do for the same promise.
class RawSqlite {
 public:
  explicit RawSqlite(const std::string& path) {
    std::string error;
    {
      SqliteStoreOptions options;
      options.path = path;
      (*OpenSqliteStore(options))->Stop();
    }
    database_ = sqlite::Database::Open(path, sqlite::Database::Use::kWrite, 65'536, error);
    like_ = std::make_unique<sqlite::Statement>(
        *database_,
        "INSERT INTO user_likes(item_type, user_id, item_id, created_at) "
        "VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING");
    count_ = std::make_unique<sqlite::Statement>(
        *database_,
        "INSERT INTO counters(item_type, item_id, count, version, digest) VALUES(?1, ?2, ?3, 1, 1) "
        "ON CONFLICT(item_type, item_id) DO UPDATE SET count = count + excluded.count, "
        "version = version + 1");
  }

  void Transaction(std::vector<Mutation>& likes) {
    std::sort(likes.begin(), likes.end(), [](const Mutation& a, const Mutation& b) {
      return std::tie(a.user, a.item) < std::tie(b.user, b.item);
    });
    std::map<Item, int64_t> counts;
    database_->Execute("BEGIN IMMEDIATE");
    for (const Mutation& like : likes) {
      like_->Run(int64_t{1}, like.user.value, like.item.id, int64_t{1'700'000'000});
      counts[like.item] += database_->changed_rows();
    }
    for (const auto& [item, count] : counts) count_->Run(int64_t{1}, item.id, count);
    if (database_->Execute("COMMIT") != sqlite::DatabaseCode::kOk) std::abort();
    if (database_->wal_pages() >= 1000) database_->Checkpoint(false);
  }

 private:
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<sqlite::Statement> like_;
  std::unique_ptr<sqlite::Statement> count_;
};

Rate MeasureRaw(const Load& load, const Settings& settings, uint64_t seed) {
  RawSqlite raw(NewFile(settings));
  std::mt19937_64 random(seed);
  std::vector<double> ms;
  int64_t likes = 0;
  const auto start = steady_clock::now();
  while (MsSince(start) < settings.seconds * 1000) {
    std::vector<Mutation> batch;
    for (int i = 0; i < 1000; ++i) batch.push_back(RandomLike(load, random));
    const auto began = steady_clock::now();
    raw.Transaction(batch);
    ms.push_back(MsSince(began));
    likes += 1000;
  }
  return {static_cast<double>(likes) / (MsSince(start) / 1000), P99(ms)};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Likes a second of the embedded store and of SQLite itself");
  app.add_option("--folder", settings.folder, "Where the files go; must be on a real disk");
  app.add_option("--seconds", settings.seconds, "Of each measurement");
  app.add_option("--rounds", settings.rounds, "Measurements of each kind, in turns");
  app.add_option("--tasks", settings.tasks, "Callers of the store");
  app.add_option("--batch", settings.batch, "Likes of one Apply");
  app.add_option("--reply-us", settings.reply_us, "Work of a caller after each answer");
  app.add_option("--batch-rows-max", settings.batch_rows_max, "The store's batch_rows_max");
  app.add_option("--checkpoint-pages", settings.checkpoint_pages, "The store's checkpoint_pages");
  app.add_flag("--json", settings.json, "At the end a line with the medians, in likes a second");
  CLI11_PARSE(app, argc, argv);
  const uint64_t seed = std::random_device{}();
  std::printf("seed %llu, %d tasks x %d\n", static_cast<unsigned long long>(seed), settings.tasks,
              settings.batch);
  boost::json::object medians;
  for (const Load& load : kLoads) {
    std::vector<double> raws;
    std::vector<double> stores;
    for (int round = 0; round < settings.rounds; ++round) {
      const Rate raw = MeasureRaw(load, settings, seed + static_cast<uint64_t>(round));
      const Rate store = MeasureStore(load, settings, seed + static_cast<uint64_t>(round));
      std::printf(
          "%-8s store %7.0f likes/s, p99 %6.1f ms | sqlite %7.0f likes/s, p99 %6.1f ms | "
          "ratio %.2f\n",
          load.name, store.likes_per_second, store.p99_ms, raw.likes_per_second, raw.p99_ms,
          store.likes_per_second / raw.likes_per_second);
      std::fflush(stdout);
      raws.push_back(raw.likes_per_second);
      stores.push_back(store.likes_per_second);
    }
    medians[load.name] = {{"sqlite", Median(raws)}, {"store", Median(stores)}};
  }
  if (settings.json) std::printf("%s\n", boost::json::serialize(medians).c_str());
  std::filesystem::remove_all(settings.folder + "/counter_store_bench");
  return 0;
}

}  // namespace
}  // namespace counter

int main(int argc, char** argv) { return counter::Run(argc, argv); }
