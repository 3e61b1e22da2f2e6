#include "server/metrics/metrics.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/metrics/disk_readings.h"
#include "server/metrics/histogram.h"

namespace counter {
namespace {

const std::vector<GrpcMethod> kMethods = {
    {"/counter.v1.CounterService/Like"},
    {"/counter.v1.CounterService/GetCount"},
    {"/counter.v1.CounterService/Watch", GrpcMethod::Type::kServerStream}};

// Series by name and labels, as they stand in the text.
using Samples = std::map<std::string, double>;

// The labels that every gRPC series begins with.
std::string LabelsOf(absl::string_view service, absl::string_view method,
                     absl::string_view type = "unary") {
  return absl::StrCat("grpc_type=\"", type, "\",grpc_service=\"", service, "\",grpc_method=\"",
                      method, "\"");
}

// Checks every line against the format's grammar.
Samples Parse(const std::string& text) {
  static const std::regex kSample(
      "([a-zA-Z_:][a-zA-Z0-9_:]*(?:\\{(?:[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\\\\n]|\\\\.)*\",?)*\\})"
      "?) "
      "(\\S+)");
  static const std::regex kComment("# (HELP|TYPE) [a-zA-Z_:][a-zA-Z0-9_:]* .+");
  Samples samples;
  REQUIRE(absl::EndsWith(text, "\n"));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    CAPTURE(line);
    if (line[0] == '#') {
      REQUIRE(std::regex_match(line, kComment));
      continue;
    }
    std::smatch match;
    REQUIRE(std::regex_match(line, match, kSample));
    double value = 0;
    REQUIRE(absl::SimpleAtod(match[2].str(), &value));
    REQUIRE(samples.emplace(match[1].str(), value).second);
  }
  return samples;
}

TEST_CASE("what is counted is exposed under its documented name") {
  Metrics metrics(kMethods, "1.2.3");
  MethodMetrics& like = metrics.ForMethod("/counter.v1.CounterService/Like");
  like.Started();
  like.Started();
  like.Handled(0, absl::Milliseconds(3));
  like.Handled(8, absl::Microseconds(10));
  metrics.calls_in_flight().Set(7);
  metrics.calls_refused(ErrorReason::kOverloaded).Add(2);
  metrics.mutations_dropped(ErrorReason::kDeadlineExceeded).Add(3);
  metrics.reads_dropped(ErrorReason::kOverloaded).Add(9);
  metrics.writes_unknown().Add(10);
  metrics.likes_rate_limited().Add(4);
  metrics.write_batch_rows().Observe(100);
  metrics.write_batch_seconds().Observe(0.004);
  metrics.write_queue_mutations().Add(5);
  metrics.write_queue_mutations().Add(-1);
  metrics.cache_lookups(CacheName::kCounter, CacheResult::kHit).Add(95);
  metrics.cache_lookups(CacheName::kRecentLikes, CacheResult::kMiss).Add(6);
  metrics.log_lines_lost().Add(8);
  metrics.read_queue_reads().Set(11);
  metrics.store_available().Set(1);
  metrics.draining().Set(1);

  Samples samples = Parse(metrics.Expose());
  const std::string labels = LabelsOf("counter.v1.CounterService", "Like");
  CHECK(samples["grpc_server_started_total{" + labels + "}"] == 2);
  CHECK(samples["grpc_server_handled_total{" + labels + ",grpc_code=\"OK\"}"] == 1);
  CHECK(samples["grpc_server_handled_total{" + labels + ",grpc_code=\"ResourceExhausted\"}"] == 1);
  CHECK(samples["grpc_server_handling_seconds_count{" + labels + "}"] == 2);
  CHECK(samples["grpc_server_handling_seconds_sum{" + labels + "}"] == Approx(0.00301));
  CHECK(samples["grpc_server_handling_seconds_bucket{" + labels + ",le=\"0.0001\"}"] == 1);
  CHECK(samples["grpc_server_handling_seconds_bucket{" + labels + ",le=\"0.0025\"}"] == 1);
  CHECK(samples["grpc_server_handling_seconds_bucket{" + labels + ",le=\"0.005\"}"] == 2);
  CHECK(samples["grpc_server_handling_seconds_bucket{" + labels + ",le=\"+Inf\"}"] == 2);
  CHECK(samples["counter_calls_in_flight"] == 7);
  CHECK(samples["counter_calls_refused_total{reason=\"OVERLOADED\"}"] == 2);
  CHECK(samples["counter_mutations_dropped_total{reason=\"DEADLINE_EXCEEDED\"}"] == 3);
  CHECK(samples["counter_reads_dropped_total{reason=\"OVERLOADED\"}"] == 9);
  CHECK(samples["counter_writes_unknown_total"] == 10);
  CHECK(samples["counter_likes_rate_limited_total"] == 4);
  CHECK(samples["counter_read_queue_reads"] == 11);
  CHECK(samples["counter_store_available"] == 1);
  CHECK(samples["counter_draining"] == 1);
  CHECK(samples["counter_write_batch_rows_sum"] == 100);
  CHECK(samples["counter_write_batch_seconds_count"] == 1);
  CHECK(samples["counter_write_queue_mutations"] == 4);
  CHECK(samples["counter_cache_lookups_total{cache=\"counter\",result=\"hit\"}"] == 95);
  CHECK(samples["counter_cache_lookups_total{cache=\"recent_likes\",result=\"miss\"}"] == 6);
  CHECK(samples["counter_log_lines_lost_total"] == 8);
  CHECK(samples["counter_build_info{version=\"1.2.3\"}"] == 1);
}

TEST_CASE("every series is there from the start, each family with help and type") {
  Metrics metrics(kMethods, "1");
  const std::string text = metrics.Expose();
  const Samples samples = Parse(text);
  CHECK(samples.count("grpc_server_handled_total{" +
                      LabelsOf("counter.v1.CounterService", "GetCount") +
                      ",grpc_code=\"InvalidArgument\"}") == 1);
  CHECK(samples.count("grpc_server_started_total{" +
                      LabelsOf("counter.v1.CounterService", "Watch", "server_stream") + "}") == 1);
  CHECK(samples.count("counter_calls_refused_total{reason=\"SHUTTING_DOWN\"}") == 1);
  CHECK(samples.count("counter_calls_refused_total{reason=\"UNSPECIFIED\"}") == 0);
  for (const auto& [name, value] : samples) {
    CAPTURE(name);
    if (!absl::StartsWith(name, "process_") && name != "counter_clock_seconds")
      CHECK(value == (name == "counter_build_info{version=\"1\"}" ? 1 : 0));
    const std::string family =
        std::regex_replace(name, std::regex("(_bucket|_sum|_count)?(\\{.*)?$"), "");
    CHECK(absl::StrContains(text, absl::StrCat("# TYPE ", family, " ")));
    CHECK(absl::StrContains(text, absl::StrCat("# HELP ", family, " ")));
  }
}

TEST_CASE("what others keep is read at every scrape, a family a name") {
  Metrics metrics(kMethods, "1");
  int64_t value = 3;
  metrics.AddReadings([&] {
    return std::vector<MetricReading>{
        {MetricReading::Kind::kCounter, "x_total", "X.", {{"result", "hit"}}, value},
        {MetricReading::Kind::kCounter, "x_total", "X.", {{"result", "miss"}}, 2},
        {MetricReading::Kind::kGauge, "y", "Y.", {}, -1}};
  });
  REQUIRE(Parse(metrics.Expose())["x_total{result=\"hit\"}"] == 3);
  value = 5;
  const std::string text = metrics.Expose();
  Samples samples = Parse(text);
  CHECK(samples["x_total{result=\"hit\"}"] == 5);
  CHECK(samples["x_total{result=\"miss\"}"] == 2);
  CHECK(samples["y"] == -1);
  CHECK(absl::StrContains(text, "# TYPE x_total counter\n"));
  CHECK(absl::StrContains(text, "# TYPE y gauge\n"));
}

TEST_CASE("nothing that a caller sends makes a series") {
  Metrics metrics(kMethods, "1");
  const size_t series = Parse(metrics.Expose()).size();
  for (int i = 0; i < 10'000; ++i) {
    MethodMetrics& unknown = metrics.ForMethod(absl::StrCat("/x.y/Method", i));
    unknown.Started();
    unknown.Handled(12, absl::ZeroDuration());
  }
  metrics.ForMethod("").Started();
  metrics.ForMethod("/counter.v1.CounterService/Like/").Started();
  metrics.ForMethod(kMethods[0].name).Handled(17, absl::ZeroDuration());
  metrics.ForMethod(kMethods[0].name).Handled(-1, absl::ZeroDuration());
  metrics.ForMethod(kMethods[0].name).Handled(1 << 30, absl::ZeroDuration());

  const std::string text = metrics.Expose();
  Samples samples = Parse(text);
  CHECK(samples.size() == series);
  CHECK(text.size() < 100'000);
  CHECK(samples["grpc_server_started_total{" + LabelsOf("unknown", "unknown") + "}"] == 10'002);
  CHECK(samples["grpc_server_handled_total{" + LabelsOf("counter.v1.CounterService", "Like") +
                ",grpc_code=\"Unknown\"}"] == 3);
}

TEST_CASE("codes are spelled as Go spells them") {
  Metrics metrics({{"/s/M"}}, "1");
  for (int code = 0; code < 17; ++code) {
    for (int n = 0; n <= code; ++n) metrics.ForMethod("/s/M").Handled(code, absl::ZeroDuration());
  }
  Samples samples = Parse(metrics.Expose());
  const std::vector<std::string> names = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  for (size_t code = 0; code < names.size(); ++code) {
    CAPTURE(names[code]);
    CHECK(samples[absl::StrCat("grpc_server_handled_total{", LabelsOf("s", "M"), ",grpc_code=\"",
                               names[code], "\"}")] == code + 1);
  }
}

TEST_CASE("a method that is named twice is one") {
  Metrics metrics({{"/s/M"}, {"/s/M"}}, "1");
  metrics.ForMethod("/s/M").Started();
  Samples samples = Parse(metrics.Expose());
  CHECK(samples["grpc_server_started_total{" + LabelsOf("s", "M") + "}"] == 1);
}

TEST_CASE("what is said of the process is this process's") {
  Metrics metrics(kMethods, "1");
  Samples before = Parse(metrics.Expose());
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  CHECK(before["counter_clock_seconds"] == Approx(now).margin(60));
  CHECK(before["process_start_time_seconds"] == Approx(now).margin(3'600));
  CHECK(before["process_start_time_seconds"] <= now + 1);
  CHECK(before["process_max_fds"] > before["process_open_fds"]);
  CHECK(before["process_virtual_memory_bytes"] > before["process_resident_memory_bytes"]);

  // Held and touched: 64 MiB, ten descriptors, and the time that this takes.
  const std::vector<char> held(size_t{64} << 20, 'x');
  std::vector<std::ifstream> files;
  for (int i = 0; i < 10; ++i) files.emplace_back("/proc/self/stat");
  Samples after = Parse(metrics.Expose());
  CHECK(after["process_open_fds"] == before["process_open_fds"] + 10);
  CHECK(after["process_resident_memory_bytes"] >=
        before["process_resident_memory_bytes"] + (32 << 20));
  CHECK(after["process_cpu_seconds_total"] > before["process_cpu_seconds_total"]);
  CHECK(after["process_start_time_seconds"] == before["process_start_time_seconds"]);
  CHECK(held.back() == 'x');
}

TEST_CASE("a folder's disk has room, and one that is not there says nothing") {
  const std::vector<MetricReading> readings = DiskReadings("/tmp");
  REQUIRE(readings.size() == 2);
  CHECK(readings[0].name == "counter_data_disk_free_bytes");
  CHECK(readings[1].name == "counter_data_disk_size_bytes");
  CHECK(readings[0].value > 0);
  CHECK(readings[0].value < readings[1].value);
  CHECK(DiskReadings("/not/there").empty());
}

TEST_CASE("a refresh runs at each scrape, before the numbers are read") {
  Metrics metrics(kMethods, "1");
  int scrapes = 0;
  metrics.OnScrape([&] {
    metrics.calls_in_flight().Set(++scrapes);
    metrics.log_lines_lost().RaiseTo(10 - scrapes);
  });
  CHECK(Parse(metrics.Expose())["counter_calls_in_flight"] == 1);
  Samples samples = Parse(metrics.Expose());
  CHECK(samples["counter_calls_in_flight"] == 2);
  CHECK(samples["counter_log_lines_lost_total"] == 9);
}

TEST_CASE("a bucket counts values up to and including its bound") {
  Histogram histogram({1, 2, 5});
  for (const double value : {0.0, 1.0, 1.0001, 2.0, 5.0, 5.1}) histogram.Observe(value);
  histogram.Observe(-3);
  histogram.Observe(std::numeric_limits<double>::quiet_NaN());
  const prometheus::ClientMetric::Histogram seen = histogram.Collect().histogram;
  REQUIRE(seen.bucket.size() == 4);
  CHECK(seen.bucket[0].cumulative_count == 3);
  CHECK(seen.bucket[1].cumulative_count == 5);
  CHECK(seen.bucket[2].cumulative_count == 6);
  CHECK(seen.bucket[3].cumulative_count == 7);
  CHECK(std::isinf(seen.bucket[3].upper_bound));
  CHECK(seen.sample_count == 7);
  CHECK(seen.sample_sum == Approx(14.1001));
}

TEST_CASE("no count is lost between threads, and a scrape beside them is consistent") {
  Metrics metrics(kMethods, "1");
  constexpr int kThreads = 4;
  constexpr int kCalls = 5'000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        MethodMetrics& like = metrics.ForMethod("/counter.v1.CounterService/Like");
        like.Started();
        like.Handled(0, absl::Microseconds(i));
      }
      --running;
    });
  }
  const std::string labels = LabelsOf("counter.v1.CounterService", "Like");
  bool is_consistent = true;
  do {
    Samples samples = Parse(metrics.Expose());
    is_consistent &= samples["grpc_server_handling_seconds_count{" + labels + "}"] ==
                     samples["grpc_server_handling_seconds_bucket{" + labels + ",le=\"+Inf\"}"];
  } while (running > 0);
  for (std::thread& thread : threads) thread.join();
  CHECK(is_consistent);
  Samples samples = Parse(metrics.Expose());
  CHECK(samples["grpc_server_started_total{" + labels + "}"] == kThreads * kCalls);
  CHECK(samples["grpc_server_handled_total{" + labels + ",grpc_code=\"OK\"}"] == kThreads * kCalls);
  CHECK(samples["grpc_server_handling_seconds_count{" + labels + "}"] == kThreads * kCalls);
}

}  // namespace
}  // namespace counter
