#include "tests/torture/open_loop.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "counter/v1/counter.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace counter::testing {
namespace {

using Stub = v1::CounterService::Stub;

std::vector<std::unique_ptr<Stub>> Connect(const OpenLoopOptions& options) {
  std::vector<std::unique_ptr<Stub>> stubs;
  for (int i = 0; i < options.connections; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments);
    channel->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
    stubs.push_back(v1::CounterService::NewStub(channel));
  }
  return stubs;
}

template <class Response>
using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>;

struct Call {
  grpc::ClientContext context;
  grpc::Status status;
  v1::LikeResponse response;
  Reader<v1::LikeResponse> reader;
  // Of WriteLikes instead.
  v1::WriteLikesResponse responses;
  Reader<v1::WriteLikesResponse> reader_of_many;
  absl::Time sent;
  bool is_probe = false;
};

std::unique_ptr<Call> MakeCall(const OpenLoopOptions& options) {
  auto call = std::make_unique<Call>();
  call->sent = absl::Now();
  call->context.set_deadline(absl::ToChronoTime(call->sent + options.deadline));
  return call;
}

void SendLike(Stub& stub, const v1::LikeRequest& request, Call& call,
              grpc::CompletionQueue& queue) {
  call.reader = stub.PrepareAsyncLike(&call.context, request, &queue);
  call.reader->StartCall();
  call.reader->Finish(&call.response, &call.status, &call);
}

void StartProbe(Stub& stub, const OpenLoopOptions& options, grpc::CompletionQueue& queue) {
  Call* const call = MakeCall(options).release();
  call->is_probe = true;
  SendLike(stub, v1::LikeRequest(), *call, queue);
}

template <class Like>
void Fill(const OpenLoopOptions& options, int64_t number, Like& like) {
  like.set_user_id(options.users_first + number);
  like.mutable_item()->set_item_type("post");
  like.mutable_item()->set_item_id(1 + number % options.items);
}

// The call of that number. The queue hands it back.
void Start(Stub& stub, const OpenLoopOptions& options, int64_t number,
           grpc::CompletionQueue& queue) {
  Call* const call = MakeCall(options).release();
  if (options.likes_per_call == 1) {
    v1::LikeRequest request;
    Fill(options, number, request);
    return SendLike(stub, request, *call, queue);
  }
  v1::WriteLikesRequest request;
  for (int i = 0; i < options.likes_per_call; ++i) {
    v1::Mutation& mutation = *request.add_mutations();
    Fill(options, number * options.likes_per_call + i, mutation);
    mutation.set_action(v1::ACTION_LIKE);
  }
  call->reader_of_many = stub.PrepareAsyncWriteLikes(&call->context, request, &queue);
  call->reader_of_many->StartCall();
  call->reader_of_many->Finish(&call->responses, &call->status, call);
}

std::unique_ptr<Call> Next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok)) return nullptr;
  return std::unique_ptr<Call>(static_cast<Call*>(tag));
}

// How the call ended: its own error, or the first one of its likes.
google::rpc::Status ErrorOf(const Call& call) {
  google::rpc::Status error;
  if (!call.status.ok()) {
    error.ParseFromString(call.status.error_details());
    error.set_code(call.status.error_code());
    return error;
  }
  for (const v1::MutationResult& result : call.responses.results())
    if (result.error().code() != 0) return result.error();
  return error;
}

void Note(const Call& call, OpenLoopResult& result) {
  const absl::Duration took = absl::Now() - call.sent;
  if (call.is_probe) return result.probes_took.push_back(took);
  const google::rpc::Status details = ErrorOf(call);
  if (details.code() == 0) {
    ++result.ok;
    result.ok_slowest = std::max(result.ok_slowest, took);
    return;
  }
  google::rpc::ErrorInfo info;
  bool has_hint = false;
  for (const google::protobuf::Any& any : details.details()) {
    if (any.Is<google::rpc::ErrorInfo>()) any.UnpackTo(&info);
    has_hint = has_hint || any.Is<google::rpc::RetryInfo>();
  }
  ++result.errors[absl::StrCat(details.code(), " ", info.reason())];
  if (info.reason() != "OVERLOADED") return;
  result.refused_took.push_back(took);
  if (!has_hint) ++result.refused_without_hint;
}

}  // namespace

absl::Duration OpenLoopResult::Within(const std::vector<absl::Duration>& took, double percent) {
  if (took.empty()) return absl::ZeroDuration();
  const auto place = static_cast<size_t>(static_cast<double>(took.size()) * percent / 100);
  return took[std::min(place, took.size() - 1)];
}

int64_t OpenLoopResult::EndedWith(int code) const {
  const std::string prefix = absl::StrCat(code, " ");
  int64_t calls = 0;
  for (const auto& [error, count] : errors)
    if (error.compare(0, prefix.size(), prefix) == 0) calls += count;
  return calls;
}

std::string OpenLoopResult::ToString() const {
  std::string text = absl::StrCat(sent, " sent, ", ok, " ok (slowest ",
                                  absl::FormatDuration(ok_slowest), "), ", dropped, " dropped");
  for (const auto& [error, count] : errors) absl::StrAppend(&text, ", ", count, " x ", error);
  absl::StrAppend(&text, "; refusals: half within ", absl::FormatDuration(RefusedWithin(50)),
                  ", 95 % within ", absl::FormatDuration(RefusedWithin(95)), ", of probes ",
                  absl::FormatDuration(ProbedWithin(95)), "; sent late by up to ",
                  absl::FormatDuration(late));
  return text;
}

namespace {

struct Sent {
  int64_t calls = 0;
  int64_t probes = 0;
  int64_t dropped = 0;
  absl::Duration late;
  int64_t all() const { return calls + probes; }
};

// Sends until the time is over; `ended` counts those that have ended.
Sent SendInTime(const OpenLoopOptions& options, const std::vector<std::unique_ptr<Stub>>& stubs,
                grpc::CompletionQueue& queue, const std::atomic<int64_t>& ended) {
  Sent sent;
  const absl::Time start = absl::Now();
  for (int64_t i = 0;; ++i) {
    const absl::Time due = start + absl::Seconds(static_cast<double>(i) / options.rate);
    const absl::Time now = absl::Now();
    if (std::max(now, due) >= start + options.duration) return sent;
    if (now < due) absl::SleepFor(due - now);
    sent.late = std::max(sent.late, now - due);
    if (sent.all() - ended >= options.in_flight_max) {
      ++sent.dropped;
      continue;
    }
    Stub& stub = *stubs[static_cast<size_t>(i) % stubs.size()];
    Start(stub, options, i, queue);
    ++sent.calls;
    if (options.calls_per_probe == 0 || i % options.calls_per_probe != 0) continue;
    StartProbe(stub, options, queue);
    ++sent.probes;
  }
}

}  // namespace

OpenLoopResult RunOpenLoop(const OpenLoopOptions& options) {
  const std::vector<std::unique_ptr<Stub>> stubs = Connect(options);
  grpc::CompletionQueue queue;
  OpenLoopResult result;
  std::atomic<int64_t> ended = 0;
  std::thread reader([&] {
    while (const std::unique_ptr<Call> call = Next(queue)) {
      Note(*call, result);
      ++ended;
    }
  });
  const Sent sent = SendInTime(options, stubs, queue, ended);
  // Each has a deadline.
  while (ended < sent.all()) absl::SleepFor(absl::Milliseconds(5));
  queue.Shutdown();
  reader.join();
  result.sent = sent.calls;
  result.dropped = sent.dropped;
  result.late = sent.late;
  std::sort(result.refused_took.begin(), result.refused_took.end());
  std::sort(result.probes_took.begin(), result.probes_took.end());
  return result;
}

double ClosedLoopRate(const OpenLoopOptions& options, int in_flight, absl::Duration duration) {
  const std::vector<std::unique_ptr<Stub>> stubs = Connect(options);
  grpc::CompletionQueue queue;
  int64_t number = 0;
  const auto start = [&] {
    Start(*stubs[static_cast<size_t>(number) % stubs.size()], options, number, queue);
    ++number;
  };
  for (int i = 0; i < in_flight; ++i) start();
  const absl::Time begin = absl::Now();
  int64_t ok = 0;
  int open = in_flight;
  while (open > 0) {
    const std::unique_ptr<Call> call = Next(queue);
    const bool in_time = absl::Now() - begin < duration;
    if (call->status.ok() && in_time) ++ok;
    --open;
    if (in_time) {
      start();
      ++open;
    }
  }
  queue.Shutdown();
  while (Next(queue) != nullptr) {
  }
  return static_cast<double>(ok) / absl::ToDoubleSeconds(duration);
}

}  // namespace counter::testing
