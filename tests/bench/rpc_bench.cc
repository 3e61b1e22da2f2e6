// rpc_bench: what the engine costs, and whether handlers as coroutines cost more than call objects.
//
//   bazel run --config=opt //tests/bench:rpc_bench -- --rounds=9 --seconds=2
//
// Serves an empty unary method in two forms and calls each in turn from this same process, with
// `--in_flight` calls at a time from one thread over one connection:
//   coroutine    the engine of server/rpc
//   call_object  rpc_bench_call_object.h, the same duties without a coroutine
// Prints one line a round and form, then medians. Only the ratios mean anything on another machine;
// "server CPU" is the CPU time of the whole process less that of the calling thread, and is less
// disturbed by neighbours than the rate.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/rpc/testing/echo_server.h"
#include "tests/bench/rpc_bench_call_object.h"

#include <grpcpp/completion_queue.h>
#include <CLI/CLI.hpp>

namespace counter::bench {
namespace {

using rpc::testing::EchoRequest;
using rpc::testing::EchoResponse;
using rpc::testing::EchoServer;
using rpc::testing::EchoService;

struct Settings {
  int rounds = 5;
  double seconds = 1;
  int in_flight = 64;
  int queues = 1;
};

struct Figures {
  double calls_per_second = 0;
  double cpu_us_per_call = 0;
  double server_cpu_us_per_call = 0;
};

double CpuSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Flight {
  std::unique_ptr<grpc::ClientContext> context;
  EchoResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<EchoResponse>> call;

  void Start(EchoService::Stub& stub, grpc::CompletionQueue& completions) {
    context = std::make_unique<grpc::ClientContext>();
    call = stub.AsyncEcho(context.get(), {}, &completions);
    call->Finish(&response, &status, this);
  }
};

// Keeps `in_flight` calls going for that long. Exits on a failed call: a wrong figure is worse.
Figures Measure(EchoService::Stub& stub, const Settings& settings, absl::Duration duration) {
  grpc::CompletionQueue completions;
  std::vector<Flight> flights(static_cast<size_t>(settings.in_flight));
  const absl::Time begin = absl::Now();
  const double process_begin = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  const double thread_begin = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  for (Flight& flight : flights) flight.Start(stub, completions);
  int64_t calls = 0;
  size_t out = flights.size();
  void* tag = nullptr;
  bool ok = false;
  while (out > 0 && completions.Next(&tag, &ok)) {
    auto& flight = *static_cast<Flight*>(tag);
    if (!flight.status.ok()) {
      std::fprintf(stderr, "a call failed: %s\n", flight.status.error_message().c_str());
      std::exit(1);
    }
    ++calls;
    if (absl::Now() - begin < duration) {
      flight.Start(stub, completions);
    } else {
      --out;
    }
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  const double process = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - process_begin;
  const double thread = CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - thread_begin;
  completions.Shutdown();
  while (completions.Next(&tag, &ok)) {
  }
  const double count = static_cast<double>(calls);
  return {count / seconds, 1e6 * process / count, 1e6 * (process - thread) / count};
}

Figures MeasureChannel(std::shared_ptr<grpc::Channel> channel, const Settings& settings) {
  EchoService::Stub stub(std::move(channel));
  const absl::Duration duration = absl::Seconds(settings.seconds);
  Measure(stub, settings, duration / 10);  // Connects and warms up.
  return Measure(stub, settings, duration);
}

Figures MeasureCoroutine(const Settings& settings) {
  rpc::Server::Options options = rpc::testing::LoopbackOptions();
  options.queues = settings.queues;
  EchoServer server(options);
  server.echo = [](rpc::Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    co_return grpc::Status::OK;
  };
  if (!server.Start().ok()) std::exit(1);
  return MeasureChannel(server.Connect(), settings);
}

Figures MeasureCallObject(const Settings& settings) {
  CallObjectServer server(settings.queues, 64,
                          [](CallObject& call) { call.Finish(grpc::Status::OK); });
  return MeasureChannel(server.Connect(), settings);
}

struct Form {
  const char* name;
  std::function<Figures(const Settings&)> measure;
  std::vector<Figures> rounds;

  double Median(double Figures::*figure) const {
    std::vector<double> values;
    for (const Figures& round : rounds) values.push_back(round.*figure);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
};

void Print(const char* when, const Form& form, const Figures& figures) {
  std::printf("%-8s %-12s %9.0f calls/s  %6.2f us CPU a call  %6.2f us server CPU a call\n", when,
              form.name, figures.calls_per_second, figures.cpu_us_per_call,
              figures.server_cpu_us_per_call);
  std::fflush(stdout);
}

void Run(const Settings& settings) {
  Form forms[] = {{"coroutine", MeasureCoroutine, {}}, {"call_object", MeasureCallObject, {}}};
  for (int round = 0; round < settings.rounds; ++round) {
    for (int i = 0; i < 2; ++i) {
      // Who is first changes with the round.
      Form& form = forms[(round + i) % 2];
      form.rounds.push_back(form.measure(settings));
      Print(std::to_string(round + 1).c_str(), form, form.rounds.back());
    }
  }
  for (const Form& form : forms) {
    Print("median", form,
          {form.Median(&Figures::calls_per_second), form.Median(&Figures::cpu_us_per_call),
           form.Median(&Figures::server_cpu_us_per_call)});
  }
  auto ratio = [&](double Figures::*figure) {
    std::vector<double> ratios;
    for (int round = 0; round < settings.rounds; ++round) {
      const auto at = static_cast<size_t>(round);
      ratios.push_back(forms[0].rounds[at].*figure / (forms[1].rounds[at].*figure));
    }
    std::sort(ratios.begin(), ratios.end());
    return ratios[ratios.size() / 2];
  };
  std::printf(
      "coroutine / call_object, median of the rounds' ratios: rate %.3f, CPU %.3f, "
      "server CPU %.3f\n",
      ratio(&Figures::calls_per_second), ratio(&Figures::cpu_us_per_call),
      ratio(&Figures::server_cpu_us_per_call));
}

}  // namespace
}  // namespace counter::bench

int main(int argc, char** argv) {
  counter::bench::Settings settings;
  CLI::App app("What the engine of server/rpc costs");
  app.add_option("--rounds", settings.rounds, "Pairs of measurements")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", settings.seconds, "Seconds a measurement")
      ->check(CLI::Range(0.01, 600.0));
  app.add_option("--in_flight", settings.in_flight, "Calls at a time")->check(CLI::Range(1, 10000));
  app.add_option("--queues", settings.queues, "Completion queues of the server")
      ->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  counter::bench::Run(settings);
  return 0;
}
