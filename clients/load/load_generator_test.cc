#include "clients/load/load_generator.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "absl/time/clock.h"
#include "base/task.h"
#include "clients/load/workload.h"
#include "server/rpc/testing/echo_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace counter::load {
namespace {

using rpc::testing::EchoServer;

struct Harness {
  EchoServer server;
  std::unique_ptr<Workload> workload;
  LoadGenerator::Options options;

  Harness() {
    auto made = Workload::Make({.calls = "Empty"});
    REQUIRE(made.ok());
    workload = *std::move(made);
  }
  LoadGenerator::Result Run() {
    REQUIRE(server.Start().ok());
    options.target = "127.0.0.1:" + std::to_string(server.server().port());
    auto result = LoadGenerator::Run(options, *workload);
    REQUIRE(result.ok());
    return *std::move(result);
  }
};

TEST_CASE("a closed loop with a number of calls makes exactly those") {
  Harness harness;
  std::atomic<int> served = 0;
  harness.server.echo = [&served](rpc::Call&, const rpc::testing::EchoRequest&,
                                  rpc::testing::EchoResponse&) -> Task<grpc::Status> {
    ++served;
    co_return grpc::Status::OK;
  };
  harness.options.calls_max = 250;
  harness.options.in_flight = 16;
  harness.options.threads = 2;
  harness.options.channels = 2;
  const auto result = harness.Run();
  CHECK(result.calls == 250);
  CHECK(served == 250);
  CHECK(result.latency.count() == 250);
  CHECK(result.failed() == 0);
}

// Takes connections and never a call.
class SilentServer {
 public:
  SilentServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
  }
  ~SilentServer() {
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
    }
  }
  int port() const { return port_; }

 private:
  int port_ = 0;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_CASE("an open loop offers its rate whatever the server does, and counts what it dropped") {
  const SilentServer server;
  auto workload = Workload::Make({.calls = "Empty"});
  REQUIRE(workload.ok());
  LoadGenerator::Options options;
  options.target = "127.0.0.1:" + std::to_string(server.port());
  options.rate = 1000;
  options.in_flight_max = 50;
  options.warm_up = absl::ZeroDuration();
  options.duration = absl::Milliseconds(300);
  options.deadline = absl::Seconds(1);
  const auto result = LoadGenerator::Run(options, **workload);
  REQUIRE(result.ok());
  CHECK(result->calls == 0);
  CHECK(result->errors.at(grpc::DEADLINE_EXCEEDED) == 50);
  CHECK(result->in_flight_high == 50);
  CHECK(result->dropped == 250);
  CHECK(result->failed() == 300);
}

TEST_CASE("calls that a stalled server holds up are charged from the moments they were meant for") {
  Harness harness;
  std::atomic<bool> stalled = false;
  // The first call stalls the only thread of the server for 200 ms.
  harness.server.echo = [&stalled](rpc::Call&, const rpc::testing::EchoRequest&,
                                   rpc::testing::EchoResponse&) -> Task<grpc::Status> {
    if (!stalled.exchange(true)) absl::SleepFor(absl::Milliseconds(200));
    co_return grpc::Status::OK;
  };
  harness.options.rate = 200;
  harness.options.warm_up = absl::ZeroDuration();
  harness.options.duration = absl::Milliseconds(500);
  const auto result = harness.Run();
  CHECK(result.calls == 100);
  CHECK(result.seconds == Approx(0.5));
  CHECK(result.latency_by_method.at("Empty").count() == 100);
  // 40 calls were meant for the stall; half of them waited for 100 ms or more.
  CHECK(result.latency.Quantile(0.8) >= absl::Milliseconds(90));
}

TEST_CASE("a load that is told to stop ends before its time, open or closed") {
  for (const double rate : {0.0, 100.0}) {
    Harness harness;
    std::atomic<bool> stop = false;
    harness.server.echo = [&stop](rpc::Call&, const rpc::testing::EchoRequest&,
                                  rpc::testing::EchoResponse&) -> Task<grpc::Status> {
      stop = true;
      co_return grpc::Status::OK;
    };
    harness.options.rate = rate;
    harness.options.warm_up = absl::ZeroDuration();
    harness.options.duration = absl::Hours(1);
    harness.options.stop = &stop;
    CHECK(harness.Run().calls > 0);
  }
}

TEST_CASE("a server that nobody can reach is an error and not a result") {
  auto workload = Workload::Make({.calls = "Empty"});
  REQUIRE(workload.ok());
  LoadGenerator::Options options;
  options.target = "127.0.0.1:1";
  options.connect_max = absl::Milliseconds(200);
  const auto result = LoadGenerator::Run(options, **workload);
  CHECK(result.status().code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace counter::load
