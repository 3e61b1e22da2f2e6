#include "clients/cli/bench_command.h"

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/exit_status.h"
#include "clients/cli/interrupt_watch.h"

namespace counter::cli {
namespace {

namespace json = boost::json;
using load::LatencyHistogram;
using load::LoadGenerator;
using load::Workload;
using Method = Workload::Method;

// The likes of one call that takes them back, and of how many such calls at once.
constexpr int64_t kTakenBackACall = 1000;
constexpr int kTakingBackCallsMax = 4;
constexpr absl::Duration kTakingBackDeadline = absl::Seconds(10);
constexpr int kTakingBackAttemptsMax = 5;

// A line on the terminal that says how far the time is, while it is there.
class Clock {
 public:
  Clock(absl::Duration all, std::ostream& err)
      : thread_([this, all, &err](const std::stop_token& stop) {
          const absl::Time begin = absl::Now();
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) &&
                 !stop.stop_requested()) {
            err << absl::StrFormat("\r%.0f s of %.0f s\x1b[K",
                                   absl::ToDoubleSeconds(absl::Now() - begin),
                                   absl::ToDoubleSeconds(all))
                << std::flush;
          }
          err << "\r\x1b[K" << std::flush;
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // The last: it ends before the others.
};

int64_t Microseconds(absl::Duration duration) { return absl::ToInt64Microseconds(duration); }

int64_t ASecond(int64_t count, double seconds) {
  return seconds > 0 ? static_cast<int64_t>(static_cast<double>(count) / seconds) : 0;
}

Row MethodRow(const std::string& method, const LatencyHistogram& latency, double seconds) {
  return {{"method", method},
          {"calls", latency.count()},
          {"per_second", ASecond(latency.count(), seconds)},
          {"p50_us", Microseconds(latency.Quantile(0.5))},
          {"p90_us", Microseconds(latency.Quantile(0.9))},
          {"p99_us", Microseconds(latency.Quantile(0.99))},
          {"p999_us", Microseconds(latency.Quantile(0.999))},
          {"max_us", Microseconds(latency.max())}};
}

// What is said once a run: names and numbers.
Row Totals(const BenchSettings& settings, const LoadGenerator::Result& result) {
  Row row = {{"loop", std::string(settings.load.rate > 0 ? "open" : "closed")}};
  if (settings.load.rate > 0) {
    row.emplace_back("rate_offered", static_cast<int64_t>(settings.load.rate));
    row.emplace_back("late", result.late);
    row.emplace_back("dropped", result.dropped);
  } else {
    row.emplace_back("in_flight", int64_t{settings.load.in_flight});
  }
  row.emplace_back("seconds", static_cast<int64_t>(result.seconds));
  row.emplace_back("calls", result.calls);
  row.emplace_back("calls_per_second", ASecond(result.calls, result.seconds));
  row.emplace_back("likes_or_counts_per_second", ASecond(result.units, result.seconds));
  row.emplace_back("changed", result.changed);
  row.emplace_back("wrong", result.wrong);
  for (const auto& [code, count] : result.errors)
    row.emplace_back(absl::StrCat("error_", LoadGenerator::CodeName(code)), count);
  return row;
}

void Print(const BenchSettings& settings, const LoadGenerator::Result& result, Format format,
           std::ostream& out) {
  std::vector<Row> methods;
  for (const auto& [method, latency] : result.latency_by_method)
    methods.push_back(MethodRow(method, latency, result.seconds));
  const Row totals = Totals(settings, result);
  if (format == Format::kTable) {
    PrintRows(methods, format, out);
    std::vector<Row> lines;
    for (const auto& [name, value] : totals) lines.push_back({{"what", name}, {"value", value}});
    if (!methods.empty()) out << '\n';
    return PrintRows(lines, format, out);
  }
  json::object object = ToJson(totals);
  json::array by_method;
  for (const Row& row : methods) by_method.emplace_back(ToJson(row));
  object["methods"] = std::move(by_method);
  out << json::serialize(object) << '\n';
}

// Takes back the likes of the users [first, end). The error that ended it early, if one did.
class TakingBack {
 public:
  TakingBack(const client::Client& client, const Workload& workload, const std::string& item_type,
             int64_t first, int64_t end)
      : client_(client), workload_(workload), item_type_(item_type), next_(first), end_(end) {}

  std::optional<client::Error> Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < kTakingBackCallsMax; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    return error_;
  }

 private:
  void Work() {
    while (true) {
      const int64_t first = next_.fetch_add(kTakenBackACall);
      if (first >= end_) return;
      std::vector<client::Mutation> mutations;
      for (int64_t user = first; user < std::min(end_, first + kTakenBackACall); ++user)
        mutations.push_back({user, {item_type_, workload_.ItemOf(user)}, client::Action::kUnlike});
      std::optional<client::Error> failed = Unlike(mutations);
      if (!failed.has_value()) continue;
      const std::lock_guard lock(mutex_);
      if (!error_.has_value()) error_ = std::move(failed);
      next_ = end_;
    }
  }

  std::optional<client::Error> Unlike(const std::vector<client::Mutation>& mutations) const {
    std::optional<client::Error> failed;
    for (int attempt = 0; attempt < kTakingBackAttemptsMax; ++attempt) {
      if (attempt > 0) absl::SleepFor(failed->retry_after.value_or(absl::Milliseconds(200)));
      const auto written = client_.WriteLikes(mutations, {.deadline = kTakingBackDeadline});
      failed.reset();
      if (!written.ok()) {
        failed = written.error();
        continue;
      }
      for (const auto& result : written->results) {
        if (!result.ok()) failed = result.error();
      }
      if (!failed.has_value()) break;
    }
    return failed;
  }

  const client::Client& client_;
  const Workload& workload_;
  const std::string& item_type_;
  std::atomic<int64_t> next_;
  const int64_t end_;
  std::mutex mutex_;
  std::optional<client::Error> error_;  // Guarded by mutex_.
};

// The status that says what went wrong most.
int ExitStatus(const LoadGenerator::Result& result) {
  const auto most =
      std::max_element(result.errors.begin(), result.errors.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != result.errors.end()) return kExitUsage + most->first;
  if (result.wrong > 0) return kExitUsage + kGrpcInternal;
  if (result.dropped > 0) return kExitUsage + kGrpcResourceExhausted;
  return result.calls > 0 ? 0 : kExitUsage + kGrpcUnavailable;
}

int Complain(const std::string& message, std::ostream& err) {
  err << "counterctl: " << message << '\n';
  return kExitUsage;
}

}  // namespace

int RunBench(const client::Client& client, BenchSettings settings, Format format, bool terminal,
             std::ostream& out, std::ostream& err) {
  Workload::Settings& wanted = settings.workload;
  // By the microsecond: no other run has the same users, wherever it runs.
  wanted.users_first = BenchSettings::kIdsFirst + absl::ToUnixMicros(absl::Now());
  wanted.items_first = BenchSettings::kIdsFirst;
  wanted.item_of_user = true;
  const auto workload = Workload::Make(wanted);
  if (!workload.ok()) return Complain(std::string(workload.status().message()), err);
  if ((*workload)->Makes(Method::kEmpty))
    return Complain("no server that serves others answers Empty; expected a method of likes", err);
  const bool writes = (*workload)->Makes(Method::kLike) || (*workload)->Makes(Method::kUnlike) ||
                      (*workload)->Makes(Method::kWriteLikes);
  if (writes && !settings.yes)
    return Complain(
        absl::StrCat("these calls write to ", settings.load.target, ": likes of ", wanted.item_type,
                     " ids from ", BenchSettings::kIdsFirst, " on by users from there on, ",
                     settings.keep ? "which stay" : "taken back at the end",
                     "; say --yes if that is wanted"),
        err);

  const InterruptWatch watch;
  settings.load.stop = &Interrupted();
  std::optional<Clock> clock;
  if (terminal) clock.emplace(settings.load.warm_up + settings.load.duration, err);
  const auto result = LoadGenerator::Run(settings.load, **workload);
  clock.reset();
  if (!result.ok()) {
    err << "counterctl: " << result.status().message() << '\n';
    return kExitUsage + kGrpcUnavailable;
  }
  const bool interrupted = Interrupted();
  if (!interrupted) Print(settings, *result, format, out);
  if (result->late > 0)
    err << "counterctl: " << result->late
        << " calls started late: this machine is too busy, latencies are upper bounds\n";

  int status = interrupted ? kInterrupted : ExitStatus(*result);
  if (writes && !settings.keep) {
    const int64_t end = wanted.users_first + (*workload)->users_drawn();
    const auto failed =
        TakingBack(client, **workload, wanted.item_type, wanted.users_first, end).Run();
    if (failed.has_value()) {
      err << "counterctl: not all likes of the users from " << wanted.users_first << " to "
          << end - 1 << " could be taken back: " << failed->ToString() << '\n';
      if (status == 0) status = kExitUsage + failed->grpc_code;
    }
  }
  return status;
}

}  // namespace counter::cli
