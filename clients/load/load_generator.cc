#include "clients/load/load_generator.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

namespace counter::load {
namespace {

using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;
using Options = LoadGenerator::Options;
using Result = LoadGenerator::Result;

double ProcessCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One call under way.
struct Flight {
  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call;
  grpc::ByteBuffer reply;
  grpc::Status status;
  Workload::Method method = Workload::Method::kEmpty;
  TimePoint begin;  // When it started, or was meant to.
};

// What one thread saw.
struct Tally {
  Result result;
  std::vector<LatencyHistogram> latency_by_method =
      std::vector<LatencyHistogram>(static_cast<size_t>(Workload::Method::kHasLiked) + 1);
};

class Generation {
 public:
  Generation(const Options& options, Workload& workload)
      : options_(options), workload_(workload), queues_(static_cast<size_t>(options.threads)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(64 << 20);
    if (options.round_robin) arguments.SetLoadBalancingPolicyName("round_robin");
    arguments.SetUserAgentPrefix(options.user_agent);
    const auto credentials =
        options.credentials != nullptr ? options.credentials : grpc::InsecureChannelCredentials();
    for (int i = 0; i < options.channels; ++i) {
      channels_.push_back(grpc::CreateCustomChannel(options.target, credentials, arguments));
      stubs_.push_back(std::make_unique<grpc::GenericStub>(channels_.back()));
    }
  }

  absl::Status Connect() const {
    const auto deadline = absl::ToChronoTime(absl::Now() + options_.connect_max);
    for (const auto& channel : channels_) {
      if (!channel->WaitForConnected(deadline)) {
        return absl::UnavailableError(absl::StrCat("no connection to ", options_.target, " within ",
                                                   absl::FormatDuration(options_.connect_max)));
      }
    }
    return absl::OkStatus();
  }

  Result Run();

 private:
  void Start(Flight& flight, TimePoint begin, size_t queue, std::mt19937_64& random);
  // Collects answers until all calls have ended; in a closed loop it starts the next ones.
  void Collect(size_t queue, Tally& tally);
  void Judge(const Flight& flight, Tally& tally) const;
  // Starts calls at their moments, until the end.
  void SendOpenLoop();
  bool MayStartAnother();
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }
  void Free(Flight* flight);
  Flight* TakeFree();

  const Options& options_;
  Workload& workload_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<grpc::CompletionQueue> queues_;
  std::atomic<size_t> next_stub_ = 0;
  TimePoint begin_;
  TimePoint measure_begin_;
  TimePoint end_;

  std::atomic<int64_t> started_ = 0;
  std::atomic<int> in_flight_ = 0;
  std::mutex free_mutex_;
  std::vector<Flight*> free_;  // Open loop: flights to use again. Guarded by free_mutex_.
  int64_t late_ = 0;           // Of the sending thread.
  int64_t dropped_ = 0;
  int in_flight_high_ = 0;
};

void Generation::Start(Flight& flight, TimePoint begin, size_t queue, std::mt19937_64& random) {
  Workload::Call call = workload_.Next(random);
  flight.method = call.method;
  flight.begin = begin;
  flight.context = std::make_unique<grpc::ClientContext>();
  flight.context->set_deadline(absl::ToChronoTime(absl::Now() + options_.deadline));
  flight.reply.Clear();
  const size_t stub = next_stub_++ % stubs_.size();
  flight.call = stubs_[stub]->PrepareUnaryCall(flight.context.get(), Workload::Path(call.method),
                                               call.request, &queues_[queue]);
  flight.call->StartCall();
  flight.call->Finish(&flight.reply, &flight.status, &flight);
}

void Generation::Judge(const Flight& flight, Tally& tally) const {
  if (flight.begin < measure_begin_ || flight.begin >= end_) return;
  const absl::Duration latency = absl::FromChrono(steady_clock::now() - flight.begin);
  Result& result = tally.result;
  if (!flight.status.ok()) {
    ++result.errors[flight.status.error_code()];
    return;
  }
  const Workload::Verdict verdict = workload_.Judge(flight.method, flight.reply);
  ++result.calls;
  result.units += verdict.units;
  result.changed += verdict.changed;
  result.wrong += verdict.wrong ? 1 : 0;
  result.latency.Record(latency);
  tally.latency_by_method[static_cast<size_t>(flight.method)].Record(latency);
}

bool Generation::MayStartAnother() {
  if (options_.rate > 0 || stopped()) return false;
  if (options_.calls_max > 0) return started_.fetch_add(1) < options_.calls_max;
  return steady_clock::now() < end_;
}

void Generation::Free(Flight* flight) {
  const std::lock_guard lock(free_mutex_);
  free_.push_back(flight);
}

Flight* Generation::TakeFree() {
  const std::lock_guard lock(free_mutex_);
  if (free_.empty()) return nullptr;
  Flight* flight = free_.back();
  free_.pop_back();
  return flight;
}

void Generation::Collect(size_t queue, Tally& tally) {
  std::mt19937_64 random(queue + 1);
  std::vector<Flight> own;  // Closed loop.
  int out = 0;
  if (options_.rate == 0) {
    const int share =
        (options_.in_flight + options_.threads - 1 - static_cast<int>(queue)) / options_.threads;
    own.resize(static_cast<size_t>(share));
    for (Flight& flight : own) {
      if (!MayStartAnother()) break;
      Start(flight, steady_clock::now(), queue, random);
      ++out;
    }
  }
  void* tag = nullptr;
  bool ok = false;
  while ((options_.rate > 0 || out > 0) && queues_[queue].Next(&tag, &ok)) {
    Flight& flight = *static_cast<Flight*>(tag);
    Judge(flight, tally);
    if (options_.rate > 0) {
      flight.call.reset();
      flight.context.reset();
      Free(&flight);
      --in_flight_;
    } else if (MayStartAnother()) {
      Start(flight, steady_clock::now(), queue, random);
    } else {
      --out;
    }
  }
  if (options_.rate == 0) queues_[queue].Shutdown();
  while (queues_[queue].Next(&tag, &ok)) {
  }
}

void Generation::SendOpenLoop() {
  prctl(PR_SET_TIMERSLACK, 1000);  // Nanoseconds; the default of 50 us would show.
  std::mt19937_64 random(0);
  const auto interval = std::chrono::duration<double>(1 / options_.rate);
  std::vector<std::unique_ptr<Flight>> flights;
  size_t queue = 0;
  for (int64_t i = 0;; ++i) {
    const TimePoint due = begin_ + std::chrono::duration_cast<steady_clock::duration>(interval * i);
    if (due >= end_ || stopped()) break;
    std::this_thread::sleep_until(due);
    const bool measured = due >= measure_begin_;
    if (in_flight_ >= options_.in_flight_max) {
      dropped_ += measured ? 1 : 0;
      continue;
    }
    if (measured && absl::FromChrono(steady_clock::now() - due) > LoadGenerator::kLate) ++late_;
    Flight* flight = TakeFree();
    if (flight == nullptr) {
      flights.push_back(std::make_unique<Flight>());
      flight = flights.back().get();
    }
    in_flight_high_ = std::max(in_flight_high_, ++in_flight_);
    Start(*flight, due, queue, random);
    queue = (queue + 1) % queues_.size();
  }
  // Each call has a deadline, so this ends.
  while (in_flight_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (grpc::CompletionQueue& each : queues_) each.Shutdown();
}

Result Generation::Run() {
  const double cpu_begin = ProcessCpuSeconds();
  begin_ = steady_clock::now();
  measure_begin_ = begin_ + (options_.calls_max > 0 ? steady_clock::duration::zero()
                                                    : absl::ToChronoNanoseconds(options_.warm_up));
  end_ = options_.calls_max > 0 ? TimePoint::max()
                                : measure_begin_ + absl::ToChronoNanoseconds(options_.duration);
  std::vector<Tally> tallies(queues_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < queues_.size(); ++i) {
    threads.emplace_back([this, i, &tallies] { Collect(i, tallies[i]); });
  }
  if (options_.rate > 0) SendOpenLoop();
  for (std::thread& thread : threads) thread.join();

  Tally all;
  for (const Tally& tally : tallies) {
    all.result.calls += tally.result.calls;
    all.result.units += tally.result.units;
    all.result.changed += tally.result.changed;
    all.result.wrong += tally.result.wrong;
    all.result.latency.Add(tally.result.latency);
    for (const auto& [code, count] : tally.result.errors) all.result.errors[code] += count;
    for (size_t i = 0; i < all.latency_by_method.size(); ++i) {
      all.latency_by_method[i].Add(tally.latency_by_method[i]);
    }
  }
  for (size_t i = 0; i < all.latency_by_method.size(); ++i) {
    if (all.latency_by_method[i].count() == 0) continue;
    all.result.latency_by_method.emplace(Workload::Name(static_cast<Workload::Method>(i)),
                                         all.latency_by_method[i]);
  }
  all.result.seconds = options_.calls_max > 0
                           ? std::chrono::duration<double>(steady_clock::now() - begin_).count()
                           : absl::ToDoubleSeconds(options_.duration);
  all.result.late = late_;
  all.result.dropped = dropped_;
  all.result.in_flight_high = options_.rate > 0 ? in_flight_high_ : options_.in_flight;
  all.result.client_cpu_seconds = ProcessCpuSeconds() - cpu_begin;
  return std::move(all.result);
}

}  // namespace

int64_t LoadGenerator::Result::failed() const {
  int64_t sum = wrong + dropped;
  for (const auto& [code, count] : errors) sum += count;
  return sum;
}

const char* LoadGenerator::CodeName(int code) {
  static const char* const kNames[] = {"OK",
                                       "CANCELLED",
                                       "UNKNOWN",
                                       "INVALID_ARGUMENT",
                                       "DEADLINE_EXCEEDED",
                                       "NOT_FOUND",
                                       "ALREADY_EXISTS",
                                       "PERMISSION_DENIED",
                                       "RESOURCE_EXHAUSTED",
                                       "FAILED_PRECONDITION",
                                       "ABORTED",
                                       "OUT_OF_RANGE",
                                       "UNIMPLEMENTED",
                                       "INTERNAL",
                                       "UNAVAILABLE",
                                       "DATA_LOSS",
                                       "UNAUTHENTICATED"};
  return code >= 0 && code <= 16 ? kNames[code] : "UNKNOWN";
}

absl::StatusOr<LoadGenerator::Result> LoadGenerator::Run(const Options& options,
                                                         Workload& workload) {
  Generation generation(options, workload);
  if (absl::Status connected = generation.Connect(); !connected.ok()) return connected;
  return generation.Run();
}

}  // namespace counter::load
