// Nanoseconds a call of the instruments, beside those of prometheus-cpp, on one and two threads:
//   bazel run --config=opt //server/metrics:metrics_bench
#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "server/metrics/histogram.h"
#include "server/metrics/metrics.h"

namespace {

template <class Function>
double NanosecondsACall(int threads, const Function& function) {
  constexpr int kCalls = 2'000'000;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&function] {
      for (int i = 0; i < kCalls; ++i) function(i);
    });
  }
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / kCalls;
}

}  // namespace

int main() {
  const std::vector<double> bounds = {0.0001, 0.001, 0.01, 0.1, 1, 10};
  prometheus::Histogram theirs(bounds);
  counter::Histogram ours(bounds);
  prometheus::Counter their_counter;
  counter::Counter our_counter;
  const std::vector<counter::GrpcMethod> methods = {
      counter::GrpcMethod("/counter.v1.CounterService/Like"),
      counter::GrpcMethod("/counter.v1.CounterService/Unlike")};
  counter::Metrics metrics(methods, "bench");
  for (int round = 0; round < 3; ++round) {
    for (const int threads : {1, 2}) {
      const double their_ns =
          NanosecondsACall(threads, [&](int i) { theirs.Observe((i % 100) * 0.0002); });
      const double our_ns =
          NanosecondsACall(threads, [&](int i) { ours.Observe((i % 100) * 0.0002); });
      const double their_counter_ns =
          NanosecondsACall(threads, [&](int) { their_counter.Increment(); });
      const double our_counter_ns = NanosecondsACall(threads, [&](int) { our_counter.Add(); });
      const double call_ns = NanosecondsACall(threads, [&](int i) {
        metrics.ForMethod("/counter.v1.CounterService/Like").Started();
        metrics.ForMethod("/counter.v1.CounterService/Like")
            .Handled(0, absl::Microseconds(i % 1000));
      });
      std::printf(
          "%d threads: histogram theirs %.1f ours %.1f, counter theirs %.1f ours %.1f, "
          "a whole call %.1f ns\n",
          threads, their_ns, our_ns, their_counter_ns, our_counter_ns, call_ns);
    }
  }
}
