// statement_bench: the store's own batch statement, sent by plain libpq: what PostgreSQL itself
// allows to a service that sends it.
//
//   bazel run --config=opt //tests/bench:statement_bench -- --url postgresql://... --connections 2
//
// Each connection sends one batch after the other, each a transaction, and deletes the outbox row
// of the one before with it, as a lane does. No pipeline, no queue, no service, no cache. The
// database must be migrated. Prints one line of JSON.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <postgresql/libpq-fe.h>
#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "clients/load/draw.h"
#include "clients/load/latency_histogram.h"
#include "storage/like.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"
#include "storage/postgres/unit_statements.h"
#include "storage/write_combiner.h"
#include "tests/support/workers.h"

namespace counter {
namespace {

using std::chrono::steady_clock;

struct Settings {
  std::string url;
  std::string items = "uniform:1000000";
  int64_t users_first = 1;
  int connections = 2;
  int batch = 100;
  double seconds = 5;
};

struct ConnectionDeleter {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, ConnectionDeleter>;
using PgResult = std::unique_ptr<PGresult, ResultDeleter>;

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "statement_bench: %s\n", why.c_str());
  std::exit(1);
}

// With the settings that the store gives its sessions.
Connection Connect(const std::string& url) {
  const char* const keys[] = {"dbname", "options", nullptr};
  const char* const values[] = {
      url.c_str(),
      "-c synchronous_commit=on -c plan_cache_mode=force_generic_plan -c enable_seqscan=off "
      "-c jit=off",
      nullptr};
  Connection connection(PQconnectdbParams(keys, values, 1));
  if (PQstatus(connection.get()) != CONNECTION_OK) Die(PQerrorMessage(connection.get()));
  return connection;
}

WriteUnit MakeUnit(const Settings& settings, load::Draw& items, std::atomic<int64_t>& next_user,
                   std::mt19937_64& random) {
  WriteUnit unit;
  unit.action = Action::kLike;
  unit.mutations = settings.batch;
  for (int i = 0; i < settings.batch; ++i) {
    unit.rows.push_back({UserId{next_user++}, {ItemType{1}, items.Next(random())}});
    unit.counters.push_back(unit.rows.back().item);
  }
  std::sort(unit.rows.begin(), unit.rows.end(), [](const UnitRow& a, const UnitRow& b) {
    return std::tie(a.user, a.item) < std::tie(b.user, b.item);
  });
  std::sort(unit.counters.begin(), unit.counters.end());
  unit.counters.erase(std::unique(unit.counters.begin(), unit.counters.end()), unit.counters.end());
  for (UnitRow& row : unit.rows) {
    row.counter =
        static_cast<int>(std::lower_bound(unit.counters.begin(), unit.counters.end(), row.item) -
                         unit.counters.begin());
  }
  return unit;
}

postgres::Table ToTable(const PGresult* result) {
  postgres::Table table(PQnfields(result));
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      if (PQgetisnull(result, row, column) != 0) {
        table.AddNull();
      } else {
        table.Add({PQgetvalue(result, row, column),
                   static_cast<size_t>(PQgetlength(result, row, column))});
      }
    }
  }
  return table;
}

// One connection's prepared statement.
class Session {
 public:
  Session(const std::string& url, const postgres::Statement& statement)
      : connection_(Connect(url)), statement_(statement) {
    std::vector<Oid> types;
    for (const postgres::TypeId type : statement.parameters)
      types.push_back(static_cast<Oid>(type));
    Check(PgResult(PQprepare(connection_.get(), statement.name, statement.sql,
                             static_cast<int>(types.size()), types.data())),
          PGRES_COMMAND_OK);
  }

  postgres::Table Run(const postgres::StatementCall& call) {
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (const std::string& parameter : call.parameters) {
      values.push_back(parameter.data());
      lengths.push_back(static_cast<int>(parameter.size()));
    }
    const std::vector<int> binary(values.size(), 1);
    const PgResult result(PQexecPrepared(connection_.get(), statement_.name,
                                         static_cast<int>(values.size()), values.data(),
                                         lengths.data(), binary.data(), 1));
    Check(result, PGRES_TUPLES_OK);
    return ToTable(result.get());
  }

 private:
  void Check(const PgResult& result, ExecStatusType expected) const {
    if (PQresultStatus(result.get()) != expected) Die(PQerrorMessage(connection_.get()));
  }

  Connection connection_;
  const postgres::Statement& statement_;
};

struct Seen {
  int64_t likes = 0;
  load::LatencyHistogram latency;
};

Seen RunConnection(const Settings& settings, int number, load::Draw& items,
                   std::atomic<int64_t>& next_user) {
  std::mt19937_64 random(static_cast<uint64_t>(number) + 1);
  postgres::LaneNote note = {static_cast<int16_t>(number), {}};
  const WriteUnit first = MakeUnit(settings, items, next_user, random);
  Session session(settings.url, *postgres::ApplyUnit(first, note).statement);
  Seen seen;
  const auto end = steady_clock::now() + std::chrono::duration<double>(settings.seconds);
  for (auto sent = steady_clock::now(); sent < end; sent = steady_clock::now()) {
    const WriteUnit unit = MakeUnit(settings, items, next_user, random);
    const postgres::Table table = session.Run(postgres::ApplyUnit(unit, note));
    const auto applied = postgres::DecodeUnit(table, settings.batch);
    if (!applied.ok()) Die(std::string(applied.status().message()));
    note.acknowledged.clear();
    if (applied->outbox_id.has_value()) note.acknowledged.push_back(*applied->outbox_id);
    for (const Applied& row : applied->rows) seen.likes += row.changed ? 1 : 0;
    seen.latency.Record(absl::FromChrono(steady_clock::now() - sent));
  }
  return seen;
}

int Run(const Settings& settings) {
  auto items = load::Draw::Parse(settings.items);
  if (!items.ok()) Die(absl::StrCat("items: ", items.status().message()));
  std::atomic<int64_t> next_user = settings.users_first;
  std::vector<Seen> seen(static_cast<size_t>(settings.connections));
  const auto begin = steady_clock::now();
  testing::RunWorkers(settings.connections, [&](int number) {
    seen[static_cast<size_t>(number)] = RunConnection(settings, number, **items, next_user);
  });
  const double seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  Seen all;
  for (const Seen& each : seen) {
    all.likes += each.likes;
    all.latency.Add(each.latency);
  }
  std::printf("%s\n", boost::json::serialize(
                          boost::json::object{
                              {"units_per_second", static_cast<double>(all.likes) / seconds},
                              {"users_next", next_user.load()},
                              {"latency_ms",
                               {{"p50", absl::ToDoubleMilliseconds(all.latency.Quantile(0.5))},
                                {"p99", absl::ToDoubleMilliseconds(all.latency.Quantile(0.99))}}}})
                          .c_str());
  return 0;
}

}  // namespace
}  // namespace counter

int main(int argc, char** argv) {
  counter::Settings settings;
  CLI::App app("The store's batch statement by plain libpq.");
  app.add_option("--url", settings.url, "Of a migrated database")->required();
  app.add_option("--items", settings.items, "hot, uniform:N, zipf:N or walk:N")
      ->capture_default_str();
  app.add_option("--users_first", settings.users_first, "Where the users, all new, begin")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 62))
      ->capture_default_str();
  app.add_option("--connections", settings.connections)->check(CLI::Range(1, 100));
  app.add_option("--batch", settings.batch, "Likes of a transaction")->check(CLI::Range(1, 10000));
  app.add_option("--seconds", settings.seconds)->check(CLI::Range(0.01, 3600.0));
  CLI11_PARSE(app, argc, argv);
  return counter::Run(settings);
}
