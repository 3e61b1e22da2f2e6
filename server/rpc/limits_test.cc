// What bounds a call: the gate, deadlines, cancellation.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "server/rpc/server.h"
#include "server/rpc/testing/counting_gate.h"
#include "server/rpc/testing/echo_server.h"
#include "server/rpc/testing/foreign_threads.h"
#include "server/rpc/testing/seed.h"

#include <catch2/catch.hpp>

namespace counter::rpc {
namespace {

using testing::ChatRequest;
using testing::ChatResponse;
using testing::CountingGate;
using testing::CountRequest;
using testing::CountResponse;
using testing::EchoRequest;
using testing::EchoResponse;
using testing::EchoServer;
using testing::EchoService;
using testing::ForeignThreads;
using testing::LoopbackOptions;

Server::Options OptionsWith(CallGate& gate) {
  Server::Options options = LoopbackOptions();
  options.gate = &gate;
  return options;
}

std::chrono::system_clock::time_point In(absl::Duration duration) {
  return std::chrono::system_clock::now() + absl::ToChronoNanoseconds(duration);
}

TEST_CASE("a call that the gate refuses gets the gate's status and no handler") {
  CountingGate gate;
  gate.refuse = [](Call& call) {
    call.AddInitialMetadata("x-gate", "shut");
    return std::optional(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full"));
  };
  std::atomic<bool> handled = false;
  EchoServer server(OptionsWith(gate));
  server.echo = [&](Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    handled = true;
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  {
    grpc::ClientContext context;
    EchoResponse response;
    const grpc::Status status = stub->Echo(&context, {}, &response);
    CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
    CHECK(status.error_message() == "full");
    CHECK(context.GetServerInitialMetadata().count("x-gate") == 1);
    CHECK(context.GetServerTrailingMetadata().count("x-end") == 1);
  }
  {
    grpc::ClientContext context;
    auto reader = stub->Count(&context, {});
    CHECK(reader->Finish().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  {
    grpc::ClientContext context;
    auto stream = stub->Chat(&context);
    CHECK(stream->Finish().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  CHECK_FALSE(handled);
  CHECK(server.NoCallIsLeftWithin(absl::Seconds(30)));
  CHECK(gate.asked() == 3);
  CHECK(gate.ended() == 3);
  CHECK(gate.failed() == 3);
}

TEST_CASE("the gate is told of each call's end once and with its status") {
  CountingGate gate;
  EchoServer server(OptionsWith(gate));
  server.echo = [](Call&, const EchoRequest& request, EchoResponse&) -> Task<grpc::Status> {
    if (request.text() == "fail") co_return grpc::Status(grpc::StatusCode::ABORTED, "as asked");
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    EchoRequest request;
    request.set_text(i % 4 == 0 ? "fail" : "");
    EchoResponse response;
    stub->Echo(&context, request, &response);
    CHECK(context.GetServerTrailingMetadata().count("x-end") == 1);
  }
  CHECK(gate.asked() == 100);
  CHECK(gate.ended() == 100);
  CHECK(gate.failed() == 25);
  CHECK(gate.ended_twice() == 0);
}

TEST_CASE("the caller's deadline reaches the handler, and the default without one") {
  Server::Options options = LoopbackOptions();
  options.default_deadline = absl::Seconds(7);
  EchoServer server(options);
  server.echo = [](Call& call, const EchoRequest&, EchoResponse& response) -> Task<grpc::Status> {
    const absl::Duration left = Between(call.arrived(), call.limits().deadline);
    response.set_text(absl::StrCat(absl::ToInt64Milliseconds(left), " ",
                                   call.has_caller_deadline() ? "caller" : "default"));
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  EchoResponse response;
  grpc::ClientContext without;
  REQUIRE(stub->Echo(&without, {}, &response).ok());
  CHECK(response.text() == "7000 default");

  grpc::ClientContext with;
  with.set_deadline(In(absl::Seconds(1000)));
  REQUIRE(stub->Echo(&with, {}, &response).ok());
  CHECK_THAT(response.text(), Catch::EndsWith(" caller"));
  const int left = std::stoi(response.text());
  CHECK(left > 900'000);
  CHECK(left <= 1'020'000);  // gRPC rounds long timeouts up to three digits.
}

TEST_CASE("a call that has waited past its deadline comes to the gate expired") {
  CountingGate gate;
  EchoServer server(OptionsWith(gate));
  // Holds up the queue's only thread longer than the calls behind it can wait.
  server.echo = [](Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    absl::SleepFor(absl::Milliseconds(40));
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  // Whether the calls of one burst are read from the socket together is the kernel's affair: a few
  // bursts may be needed.
  const absl::Time give_up = absl::Now() + absl::Seconds(30);
  while (gate.expired() == 0 && absl::Now() < give_up) {
    grpc::CompletionQueue completions;
    constexpr int kBurst = 4;
    grpc::ClientContext contexts[kBurst];
    EchoResponse responses[kBurst];
    grpc::Status statuses[kBurst];
    std::vector<std::unique_ptr<grpc::ClientAsyncResponseReader<EchoResponse>>> calls;
    for (int i = 0; i < kBurst; ++i) {
      contexts[i].set_deadline(In(absl::Milliseconds(20)));
      calls.push_back(stub->AsyncEcho(&contexts[i], {}, &completions));
      calls.back()->Finish(&responses[i], &statuses[i], nullptr);
    }
    void* tag = nullptr;
    bool ok = false;
    for (int i = 0; i < kBurst; ++i) completions.Next(&tag, &ok);
  }
  CHECK(gate.expired() > 0);
}

TEST_CASE("a caller that goes away sets the flag and wakes the handler") {
  EchoServer server;
  Notification waiting;
  std::atomic<bool> before = true;
  std::atomic<bool> after = false;
  Cancellation kept;
  server.echo = [&](Call& call, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    auto wakeup = std::make_shared<Wakeup>();
    kept = call.limits().cancellation;
    before = call.cancelled();
    call.WakeWhenCancelled(wakeup);
    waiting.Notify();
    co_await wakeup->Wait();
    after = call.cancelled();
    co_return grpc::Status::CANCELLED;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  std::thread canceller([&] {
    waiting.Wait();
    context.TryCancel();
  });
  EchoResponse response;
  const grpc::Status status = stub->Echo(&context, {}, &response);
  canceller.join();
  CHECK(status.error_code() == grpc::StatusCode::CANCELLED);
  REQUIRE(server.NoCallIsLeftWithin(absl::Seconds(30)));
  CHECK_FALSE(before);
  CHECK(after);
  CHECK(kept.cancelled());
}

TEST_CASE("a deadline that passes while the handler waits counts as a caller that has gone") {
  EchoServer server;
  std::atomic<bool> handled = false;
  std::atomic<bool> cancelled = false;
  server.echo = [&](Call& call, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    handled = true;
    auto wakeup = std::make_shared<Wakeup>();
    call.WakeWhenCancelled(wakeup);
    co_await wakeup->Wait();
    cancelled = call.cancelled();
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  // On a busy machine a short deadline may pass before the call has reached the server.
  for (absl::Duration timeout = absl::Milliseconds(50); !handled && timeout < absl::Seconds(20);
       timeout *= 2) {
    grpc::ClientContext context;
    context.set_deadline(In(timeout));
    EchoResponse response;
    REQUIRE(stub->Echo(&context, {}, &response).error_code() ==
            grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  CHECK(server.NoCallIsLeftWithin(absl::Seconds(30)));
  CHECK(cancelled);
}

TEST_CASE("a call that ends well is not called cancelled") {
  EchoServer server;
  Cancellation kept;
  server.echo = [&](Call& call, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    kept = call.limits().cancellation;
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  EchoResponse response;
  REQUIRE(stub->Echo(&context, {}, &response).ok());
  REQUIRE(server.NoCallIsLeftWithin(absl::Seconds(30)));
  CHECK_FALSE(kept.cancelled());
}

TEST_CASE("a writer that nobody reads from any more says so") {
  EchoServer server;
  std::atomic<bool> stopped = false;
  server.chat = [&](Call&, StreamReader<ChatRequest>&,
                    StreamWriter<ChatResponse>& writer) -> Task<grpc::Status> {
    ChatResponse response;
    response.set_text(std::string(20'000, 'x'));
    while (co_await writer.Write(response)) {
    }
    stopped = true;
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  auto stream = stub->Chat(&context);
  ChatResponse response;
  REQUIRE(stream->Read(&response));
  context.TryCancel();
  CHECK(stream->Finish().error_code() == grpc::StatusCode::CANCELLED);
  CHECK(server.NoCallIsLeftWithin(absl::Seconds(30)));
  CHECK(stopped);
}

// One client that starts calls of all kinds and cancels each after a random while.
class CancellingClient {
 public:
  CancellingClient(const std::shared_ptr<grpc::Channel>& channel, uint32_t seed)
      : stub_(channel), random_(seed) {}

  void Run(int calls) {
    for (int i = 0; i < calls; ++i) {
      switch (random_() % 3) {
        case 0:
          Unary();
          break;
        case 1:
          ServerStream();
          break;
        default:
          Bidi();
      }
    }
  }
  int unexpected() const { return unexpected_; }

 private:
  void Unary() {
    grpc::ClientContext context;
    EchoResponse response;
    grpc::Status status;
    auto call = stub_.AsyncEcho(&context, {}, &completions_);
    call->Finish(&response, &status, nullptr);
    Pause();
    context.TryCancel();
    void* tag = nullptr;
    bool ok = false;
    completions_.Next(&tag, &ok);
    Note(status);
  }
  void ServerStream() {
    grpc::ClientContext context;
    CountRequest request;
    request.set_to(static_cast<int>(random_() % 5));
    auto reader = stub_.Count(&context, request);
    CountResponse response;
    if (random_() % 2 == 0) reader->Read(&response);
    Pause();
    context.TryCancel();
    Note(reader->Finish());
  }
  void Bidi() {
    grpc::ClientContext context;
    auto stream = stub_.Chat(&context);
    if (random_() % 2 == 0) stream->Write({});
    Pause();
    context.TryCancel();
    Note(stream->Finish());
  }
  void Pause() { absl::SleepFor(absl::Microseconds(random_() % 1000)); }
  void Note(const grpc::Status& status) {
    if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED) ++unexpected_;
  }

  EchoService::Stub stub_;
  std::mt19937 random_;
  grpc::CompletionQueue completions_;
  int unexpected_ = 0;
};

// K02, short form. COUNTER_LONG_TESTS=1 makes it 10,000 calls.
TEST_CASE("calls cancelled at any moment leave nothing behind") {
  const int clients = 16;
  const int calls = (std::getenv("COUNTER_LONG_TESTS") != nullptr ? 10'000 : 2'000) / clients;
  std::mt19937 random(testing::Seed());
  CountingGate gate;
  ForeignThreads store(4);
  Server::Options options = OptionsWith(gate);
  options.queues = GENERATE(1, 2);
  options.waiting_calls = 4;
  EchoServer server(options);
  std::atomic<uint32_t> delay = 0;
  auto next_delay = [&] { return absl::Microseconds((delay += 37) % 500); };
  server.echo = [&](Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    co_await store.Hop(next_delay());
    co_return grpc::Status::OK;
  };
  server.count = [&](Call&, const CountRequest& request,
                     StreamWriter<CountResponse>& writer) -> Task<grpc::Status> {
    CountResponse response;
    for (int i = 0; i < request.to(); ++i) {
      co_await store.Hop(next_delay());
      if (!co_await writer.Write(response)) break;
    }
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());

  std::vector<std::unique_ptr<CancellingClient>> runs;
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    runs.push_back(std::make_unique<CancellingClient>(server.Connect(), random()));
    threads.emplace_back([&run = *runs.back(), calls] { run.Run(calls); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& run : runs) CHECK(run->unexpected() == 0);
  CHECK(server.NoCallIsLeftWithin(absl::Seconds(30)));
  CHECK(gate.asked() > 0);
  CHECK(gate.ended() == gate.asked());
  CHECK(gate.ended_twice() == 0);

  auto stub = server.NewStub();
  grpc::ClientContext context;
  EchoResponse response;
  CHECK(stub->Echo(&context, {}, &response).ok());
}

}  // namespace
}  // namespace counter::rpc
