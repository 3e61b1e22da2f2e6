// LoadGenerator: makes calls to one server, open loop or closed loop, and measures their latencies.
//
// Open loop: calls start at fixed moments whatever the server does, and a latency counts from the
// moment at which its call was meant to start, so that a server which stalls is charged for the
// calls that it held up (no coordinated omission). A call that finds `in_flight_max` others under
// way is dropped and counted; one that starts more than kLate after its moment is late: then the
// generator, or the machine, is too slow, and the latencies are upper bounds.
// Closed loop: `in_flight` calls, the next when one ends; latency from the start of each.
//
// Only calls that begin after the warm-up and before the end are measured; all are waited for.
//
// Threads: Run from one thread at a time; it makes its own.
#ifndef COUNTER_CLIENTS_LOAD_LOAD_GENERATOR_H_
#define COUNTER_CLIENTS_LOAD_LOAD_GENERATOR_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/load/latency_histogram.h"
#include "clients/load/workload.h"

namespace grpc {
class ChannelCredentials;
}

namespace counter::load {

class LoadGenerator {
 public:
  static constexpr absl::Duration kLate = absl::Milliseconds(2);

  struct Options {
    std::string target = {};  // HOST:PORT, dns:///NAME:PORT and what else gRPC takes.
    std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;  // Null: plaintext.
    bool round_robin = false;     // Over all addresses of the target; otherwise the first one.
    std::string user_agent = {};  // Put before gRPC's own.
    int channels = 1;             // Connections, used in turn.
    int threads = 1;              // That collect answers.
    double rate = 0;              // Calls a second, open loop. 0: closed loop.
    int in_flight = 64;           // Closed loop: calls at a time.
    int in_flight_max = 10'000;   // Open loop: the most calls at a time.
    int64_t calls_max = 0;        // Closed loop: ends after so many. 0: after `duration`.
    absl::Duration warm_up = absl::Seconds(1);
    absl::Duration duration = absl::Seconds(5);
    absl::Duration deadline = absl::Seconds(30);  // Of each call.
    absl::Duration connect_max = absl::Seconds(10);
    // Null, or set by somebody: then no call is started any more. Borrowed.
    const std::atomic<bool>* stop = nullptr;
  };

  struct Result {
    double seconds = 0;             // Measured.
    int64_t calls = 0;              // Answered OK.
    int64_t units = 0;              // Likes, counts or memberships in those answers.
    int64_t changed = 0;            // Likes and unlikes that changed something.
    int64_t wrong = 0;              // OK, but not an answer to what was asked.
    int64_t late = 0;               // Open loop.
    int64_t dropped = 0;            // Open loop.
    int in_flight_high = 0;         // The most calls at a time.
    std::map<int, int64_t> errors;  // By gRPC's code.
    LatencyHistogram latency;       // Of the calls that were OK.
    std::map<std::string, LatencyHistogram> latency_by_method;
    double client_cpu_seconds = 0;  // Of this process, warm-up and end included.

    double calls_per_second() const { return static_cast<double>(calls) / seconds; }
    double units_per_second() const { return static_cast<double>(units) / seconds; }
    int64_t failed() const;
  };

  // "UNAVAILABLE".
  static const char* CodeName(int code);

  // Connects first; an error if that takes longer than `connect_max`.
  static absl::StatusOr<Result> Run(const Options& options, Workload& workload);
};

}  // namespace counter::load

#endif  // COUNTER_CLIENTS_LOAD_LOAD_GENERATOR_H_
