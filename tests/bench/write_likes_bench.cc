// write_likes_bench: durable likes a second through WriteLikes, on a counterd of its own.
//
//   bazel run --config=opt //tests/bench:write_likes_bench -- --callers 16 --batch 100 --seconds 5
//
// Closed loop: each caller sends its next batch when the former was answered. Every like is of a
// user who never liked before, so each is a durable row. Prints one line a round and the medians,
// for items drawn at random and for one hot item.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "tests/support/counter_server.h"
#include "tests/support/workers.h"

namespace counter {
namespace {

struct Load {
  int callers = 16;
  int batch = 100;
  double seconds = 5;
  int rounds = 5;
  int64_t items = 1'000'000;
  std::string counterd;
};

struct Tally {
  std::atomic<int64_t> next_user = 1;
  std::atomic<int64_t> liked = 0;
  std::atomic<int64_t> failed = 0;
};

void CallUntil(absl::Time end, const Client& client, int batch, int64_t items, int worker,
               Tally& tally) {
  std::mt19937_64 random(worker + 1);
  while (absl::Now() < end) {
    std::vector<client::Mutation> mutations;
    for (int i = 0; i < batch; ++i) {
      const int64_t item = static_cast<int64_t>(random() % static_cast<uint64_t>(items)) + 1;
      mutations.push_back({tally.next_user.fetch_add(1), {"post", item}, client::Action::kLike});
    }
    const auto reply = client.WriteLikes(mutations);
    if (!reply.ok()) {
      tally.failed += batch;
      continue;
    }
    for (const auto& result : reply->results) {
      ++(result.ok() && result->changed ? tally.liked : tally.failed);
    }
  }
}

// Likes a second of one round.
double Round(const std::string& target, const Load& load, int64_t items, Tally& tally) {
  const Client client = Client::Connect({.target = target, .deadline = absl::Seconds(30)});
  const int64_t liked_before = tally.liked;
  const absl::Time begin = absl::Now();
  testing::RunWorkers(load.callers, [&](int worker) {
    CallUntil(begin + absl::Seconds(load.seconds), client, load.batch, items, worker, tally);
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  return static_cast<double>(tally.liked - liked_before) / seconds;
}

int Run(const Load& load) {
  testing::CounterServer::Options options;
  options.binary = load.counterd;
  options.env["RATE_LIMIT_REQUESTS"] = "0";
  const auto server = testing::CounterServer::Start(options);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", std::string(server.status().message()).c_str());
    return 1;
  }
  const std::vector<std::pair<std::string, int64_t>> shapes = {{"uniform", load.items},
                                                               {"one hot item", 1}};
  Tally tally;
  std::map<std::string, std::vector<double>> rates;
  for (int round = 1; round <= load.rounds; ++round) {
    for (const auto& [name, items] : shapes) {
      rates[name].push_back(Round((*server)->target(), load, items, tally));
      std::printf("round %d, %s: %.0f durable likes/s\n", round, name.c_str(), rates[name].back());
    }
  }
  for (auto& [name, values] : rates) {
    std::sort(values.begin(), values.end());
    std::printf("median, %s, %d callers x %d: %.0f durable likes/s\n", name.c_str(), load.callers,
                load.batch, values[values.size() / 2]);
  }
  std::printf("failed likes: %lld\n", static_cast<long long>(tally.failed.load()));
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace counter

int main(int argc, char** argv) {
  counter::Load load;
  CLI::App app("Durable likes a second through WriteLikes, on a counterd of its own.");
  app.add_option("--callers", load.callers, "Callers at once")->check(CLI::Range(1, 1000));
  app.add_option("--batch", load.batch, "Likes a call")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", load.seconds, "Seconds a round")->check(CLI::Range(0.01, 3600.0));
  app.add_option("--rounds", load.rounds, "Rounds of each shape")->check(CLI::Range(1, 100));
  app.add_option("--items", load.items, "Items of the uniform shape")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}));
  app.add_option("--counterd", load.counterd, "The server's binary")->required();
  CLI11_PARSE(app, argc, argv);
  return counter::Run(load);
}
