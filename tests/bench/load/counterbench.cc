// counterbench: loads one server and says what it did.
//
//   counterbench --target 127.0.0.1:50051 --calls Like --rate 5000 --duration 10
//   counterbench --target 127.0.0.1:50051 --calls WriteLikes --batch 100 --in_flight 16 --json
//   counterbench --target 127.0.0.1:50051 --calls GetCount=89,BatchGetCounts=10,Like=1
//       --items zipf:1000000 --cold_share 0.02
//
// With --rate it is an open loop, without a closed one: load_generator.h says what that means.
// Standard output is the result only; the exit status is 0 only if calls were made and none failed.

#include <cstdio>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "clients/load/latency_histogram.h"
#include "clients/load/load_generator.h"
#include "clients/load/workload.h"

namespace counter::bench {
namespace {

namespace json = boost::json;
using load::LatencyHistogram;
using load::LoadGenerator;
using load::Workload;

struct Settings {
  Workload::Settings workload;
  LoadGenerator::Options load;
  double warm_up = 1;
  double duration = 5;
  double deadline = 30;
  bool json = false;
};

double Milliseconds(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

json::object ToJson(const LatencyHistogram& latency) {
  return {{"count", latency.count()},
          {"mean", Milliseconds(latency.mean())},
          {"p50", Milliseconds(latency.Quantile(0.5))},
          {"p90", Milliseconds(latency.Quantile(0.9))},
          {"p99", Milliseconds(latency.Quantile(0.99))},
          {"p999", Milliseconds(latency.Quantile(0.999))},
          {"max", Milliseconds(latency.max())}};
}

json::object ToJson(const Settings& settings, const LoadGenerator::Result& result) {
  json::object errors;
  for (const auto& [code, count] : result.errors) errors[LoadGenerator::CodeName(code)] = count;
  json::object by_method;
  for (const auto& [method, latency] : result.latency_by_method)
    by_method[method] = ToJson(latency);
  return {{"calls", settings.workload.calls},
          {"items", settings.workload.items},
          {"users", settings.workload.users},
          {"batch", settings.workload.batch},
          {"loop", settings.load.rate > 0 ? "open" : "closed"},
          {"rate_offered", settings.load.rate},
          {"in_flight_high", result.in_flight_high},
          {"seconds", result.seconds},
          {"calls_ok", result.calls},
          {"calls_per_second", result.calls_per_second()},
          {"units_per_second", result.units_per_second()},
          {"changed", result.changed},
          {"wrong", result.wrong},
          {"late", result.late},
          {"dropped", result.dropped},
          {"errors", errors},
          {"client_cpu_seconds", result.client_cpu_seconds},
          {"latency_ms", ToJson(result.latency)},
          {"latency_ms_by_method", by_method}};
}

void PrintText(const LoadGenerator::Result& result) {
  std::cout << absl::StrFormat("%.0f calls/s, %.0f likes, counts or memberships/s, for %.1f s\n",
                               result.calls_per_second(), result.units_per_second(),
                               result.seconds);
  for (const auto& [method, latency] : result.latency_by_method) {
    std::cout << absl::StrFormat(
        "%-15s %9d calls  p50 %8.2f  p90 %8.2f  p99 %8.2f  p99.9 %8.2f  max %8.2f ms\n", method,
        latency.count(), Milliseconds(latency.Quantile(0.5)), Milliseconds(latency.Quantile(0.9)),
        Milliseconds(latency.Quantile(0.99)), Milliseconds(latency.Quantile(0.999)),
        Milliseconds(latency.max()));
  }
  std::cout << absl::StrFormat("changed %d, wrong %d, late %d, dropped %d, at most %d at a time\n",
                               result.changed, result.wrong, result.late, result.dropped,
                               result.in_flight_high);
  for (const auto& [code, count] : result.errors)
    std::cout << LoadGenerator::CodeName(code) << ": " << count << "\n";
}

int Run(Settings& settings) {
  auto workload = Workload::Make(settings.workload);
  if (!workload.ok()) {
    std::cerr << "counterbench: " << workload.status().message() << "\n";
    return 2;
  }
  settings.load.warm_up = absl::Seconds(settings.warm_up);
  settings.load.duration = absl::Seconds(settings.duration);
  settings.load.deadline = absl::Seconds(settings.deadline);
  const auto result = LoadGenerator::Run(settings.load, **workload);
  if (!result.ok()) {
    std::cerr << "counterbench: " << result.status().message() << "\n";
    return 1;
  }
  if (settings.json) {
    std::cout << json::serialize(ToJson(settings, *result)) << "\n";
  } else {
    PrintText(*result);
  }
  return result->calls > 0 && result->failed() == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Loads one Counter server and says what it did.");
  Workload::Settings& workload = settings.workload;
  LoadGenerator::Options& load = settings.load;
  app.add_option("--target", load.target, "HOST:PORT of the server")->required();
  app.add_option(
         "--calls", workload.calls,
         "Like, Unlike, WriteLikes, GetCount, BatchGetCounts, HasLiked or Empty; several as "
         "METHOD=WEIGHT,...")
      ->capture_default_str();
  app.add_option("--items", workload.items, "hot, new, uniform:N, zipf:N or walk:N")
      ->capture_default_str();
  app.add_option(
         "--users", workload.users,
         "new, item (the item's number), owner (see --own), hot, uniform:N, zipf:N or walk:N")
      ->capture_default_str();
  app.add_option("--users_first", workload.users_first, "Where new users begin")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 62))
      ->capture_default_str();
  app.add_option("--batch", workload.batch, "Mutations or items of a batch call")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--cold_share", workload.cold_share,
                 "Share of read items that nobody ever asked for")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--own", workload.own, "Items that each user owns: HasLiked asks for those")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_flag("--strong", workload.strong, "Reads ask for CONSISTENCY_STRONG");
  app.add_option("--rate", load.rate, "Calls a second, open loop; 0: closed loop")
      ->check(CLI::Range(0.0, 1e7))
      ->capture_default_str();
  app.add_option("--in_flight", load.in_flight, "Closed loop: calls at a time")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--in_flight_max", load.in_flight_max, "Open loop: the most calls at a time")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--calls_max", load.calls_max,
                 "Closed loop: end after so many calls; 0: after --duration")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--channels", load.channels, "Connections")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--threads", load.threads, "Threads that collect answers")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--warm_up", settings.warm_up, "Seconds before the measured ones")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--duration", settings.duration, "Measured seconds")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app.add_option("--deadline", settings.deadline, "Seconds, of each call")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_flag("--json", settings.json, "The result as one line of JSON");
  CLI11_PARSE(app, argc, argv);
  if (load.calls_max > 0 && load.rate > 0) {
    std::cerr << "counterbench: --calls_max is for a closed loop; expected no --rate\n";
    return 2;
  }
  return Run(settings);
}

}  // namespace
}  // namespace counter::bench

// NOLINTNEXTLINE(bugprone-exception-escape): options that contradict each other end the process.
int main(int argc, char** argv) { return counter::bench::Main(argc, argv); }
