#include "server/rpc_gate.h"

#include <google/rpc/error_details.pb.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/error.h"
#include "server/admission.h"
#include "server/callers/callers.h"
#include "server/rpc/testing/echo_server.h"
#include "server/status.h"

namespace counter {
namespace {

using rpc::testing::EchoRequest;
using rpc::testing::EchoResponse;
using rpc::testing::EchoServer;

struct CountingCalls final : RpcObserver, AdmissionObserver {
  void CallStarted(absl::string_view) override { ++started; }
  void CallEnded(absl::string_view, grpc::StatusCode, absl::Duration) override { ++ended; }
  void CallRefused(ErrorReason reason) override { refused = reason; }

  std::atomic<int> started = 0;
  std::atomic<int> ended = 0;
  std::atomic<ErrorReason> refused = ErrorReason::kUnspecified;
};

std::string ReasonIn(const grpc::Status& status) {
  google::rpc::Status rpc_status;
  google::rpc::ErrorInfo info;
  if (!rpc_status.ParseFromString(status.error_details()) || rpc_status.details_size() == 0 ||
      !rpc_status.details(0).UnpackTo(&info)) {
    return "no ErrorInfo";
  }
  return info.reason();
}

std::string Header(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
                   const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

struct Setup {
  explicit Setup(Admission::Options options = {})
      : admission(options, Clock::System(), calls),
        gate(callers, admission, Clock::System(), calls, calls) {
    rpc::Server::Options server_options = rpc::testing::LoopbackOptions();
    server_options.gate = &gate;
    server = std::make_unique<EchoServer>(server_options);
  }

  void Start() {
    REQUIRE(server->Start().ok());
    stub = server->NewStub();
  }

  grpc::Status Echo(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    EchoResponse response;
    return stub->Echo(&context, EchoRequest(), &response);
  }
  grpc::Status Echo() {
    grpc::ClientContext context;
    return Echo(context);
  }

  CountingCalls calls;
  Callers callers{{}};
  Admission admission;
  RpcGate gate;
  std::unique_ptr<EchoServer> server;
  std::unique_ptr<rpc::testing::EchoService::Stub> stub;
};

TEST_CASE("a usable request id is kept, any other replaced by a random one") {
  CHECK(RequestIdOf("order-7_a.B") == "order-7_a.B");
  CHECK(RequestIdOf(std::string(64, 'x')) == std::string(64, 'x'));
  for (const std::string& unusable :
       {std::string(), std::string(65, 'x'), std::string("a b"), std::string("a\nb"),
        std::string("\xc3\xa4"), std::string("\0", 1)}) {
    CHECK(RequestIdOf(unusable).size() == 32);
  }
  CHECK(RequestIdOf(std::nullopt) != RequestIdOf(std::nullopt));
}

TEST_CASE("the trace of a well-formed traceparent is known, and of no other") {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string tail = "-00f067aa0ba902b7-01";
  CHECK(TraceIdOf("00-" + trace + tail) == trace);
  CHECK(TraceIdOf("01-" + trace + tail) == trace);
  CHECK(TraceIdOf("01-" + trace + tail + "-more") == trace);
  for (const std::string& bad :
       {std::string(), absl::StrCat("00-", trace), absl::StrCat("00-", trace, tail, "-more"),
        absl::StrCat("ff-", trace, tail), absl::StrCat("01-", trace, tail, "more"),
        absl::StrCat("0x-", trace, tail), absl::StrCat("00-", std::string(32, '0'), tail),
        absl::StrCat("00-", trace, "-0000000000000000-01"), absl::StrCat("00_", trace, tail),
        absl::StrCat("00-4BF92F3577B34DA6A3CE929D0E0E4736", tail),
        absl::StrCat("00-", trace, "-00f067aa0ba902b7-0\n")}) {
    CAPTURE(bad);
    CHECK(TraceIdOf(bad).empty());
  }
  CHECK(TraceIdOf(std::nullopt).empty());
}

TEST_CASE("a caller gets its request id back") {
  Setup setup;
  setup.Start();
  grpc::ClientContext context;
  context.AddMetadata(kRequestIdKey, "my-id");
  CHECK(setup.Echo(context).ok());
  CHECK(Header(context.GetServerInitialMetadata(), kRequestIdKey) == "my-id");
}

TEST_CASE("a call over the limit is refused with OVERLOADED and a retry hint, the others go on") {
  Setup setup({.calls_in_flight_max = 1});
  absl::Notification arrived;
  absl::Notification go_on;
  std::vector<std::thread> threads;
  setup.server->echo = [&](rpc::Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    auto start = [&](Resumer<bool> resume) {
      threads.emplace_back([&, resume]() mutable {
        arrived.Notify();
        go_on.WaitForNotification();
        resume(true);
      });
    };
    CallbackAwaitable<bool, decltype(start)> waited(start);
    co_await waited;
    co_return grpc::Status::OK;
  };
  setup.Start();

  grpc::Status first;
  std::thread caller([&] { first = setup.Echo(); });
  arrived.WaitForNotification();
  CHECK(setup.admission.calls_in_flight() == 1);

  grpc::ClientContext context;
  const grpc::Status refused = setup.Echo(context);
  CHECK(refused.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(ReasonIn(refused) == "OVERLOADED");
  CHECK(Header(context.GetServerTrailingMetadata(), kOutcomeKey) == kOutcomeNotApplied);
  google::rpc::Status rpc_status;
  REQUIRE(rpc_status.ParseFromString(refused.error_details()));
  google::rpc::RetryInfo retry;
  CHECK(rpc_status.details(1).UnpackTo(&retry));
  CHECK(setup.calls.refused == ErrorReason::kOverloaded);

  go_on.Notify();
  caller.join();
  CHECK(first.ok());
  for (std::thread& thread : threads) thread.join();
  setup.server->server().Drain(absl::Seconds(10));
  CHECK(setup.admission.calls_in_flight() == 0);
  CHECK(setup.calls.started == 2);
  CHECK(setup.calls.ended == 2);
}

TEST_CASE("a caller over its own limit is refused, and other callers go on") {
  CountingCalls calls;
  Admission admission({.calls_in_flight_max = 10}, Clock::System(), calls);
  Caller feed;
  feed.name = "feed";
  feed.calls_max = 1;
  feed.load = std::make_shared<CallerLoad>();
  CallLimits limits;
  limits.deadline = Clock::System().MonotonicNow() + absl::Seconds(10);
  REQUIRE(admission.Enter(limits, feed).ok());
  const absl::Status refused = admission.Enter(limits, feed);
  CHECK(ReasonOf(refused) == ErrorReason::kOverloaded);
  CHECK(IsNotApplied(refused));
  CHECK(QuotaViolationOf(refused)->subject == "caller:feed");
  CHECK(admission.Enter(limits, *UnknownCaller()).ok());
  admission.Leave(feed);
  CHECK(admission.Enter(limits, feed).ok());
  CHECK(feed.load->calls_in_flight == 1);
  CHECK(admission.calls_in_flight() == 2);
}

TEST_CASE("after admission has stopped, calls are refused with SHUTTING_DOWN") {
  Setup setup;
  setup.Start();
  CHECK(setup.Echo().ok());
  setup.admission.StopAdmitting();
  const grpc::Status refused = setup.Echo();
  CHECK(refused.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(ReasonIn(refused) == "SHUTTING_DOWN");
}

TEST_CASE("watches have a limit of their own, and are no calls in flight") {
  CountingCalls calls;
  Admission admission({.calls_in_flight_max = 1, .watches_max = 2}, Clock::System(), calls);
  CHECK(admission.EnterWatch({}, *UnknownCaller()).ok());
  CHECK(admission.EnterWatch({}, *UnknownCaller()).ok());
  const absl::Status refused = admission.EnterWatch({}, *UnknownCaller());
  CHECK(ReasonOf(refused) == ErrorReason::kOverloaded);
  CHECK(RetryAfterOf(refused).has_value());
  CHECK(admission.watches() == 2);
  CHECK(admission.calls_in_flight() == 0);
  CHECK(admission.Enter({}, *UnknownCaller()).ok());
  admission.LeaveWatch(*UnknownCaller());
  CHECK(admission.EnterWatch({}, *UnknownCaller()).ok());
  admission.StopAdmitting();
  CHECK(ReasonOf(admission.EnterWatch({}, *UnknownCaller())) == ErrorReason::kShuttingDown);
  CHECK(admission.watches() == 2);
}

TEST_CASE("a caller has a limit of watches, the server's or its own, and leaves room for others") {
  CountingCalls calls;
  Admission admission({.watches_max = 5, .caller_watches_max = 2}, Clock::System(), calls);
  Caller feed;
  feed.name = "feed";
  feed.load = std::make_shared<CallerLoad>();
  Caller wall = feed;
  wall.name = "wall";
  wall.watches_max = 3;
  wall.load = std::make_shared<CallerLoad>();
  for (int i = 0; i < 2; ++i) CHECK(admission.EnterWatch({}, feed).ok());
  const absl::Status refused = admission.EnterWatch({}, feed);
  CHECK(ReasonOf(refused) == ErrorReason::kOverloaded);
  CHECK(QuotaViolationOf(refused) == QuotaViolation{"caller:feed", "2 watches"});
  CHECK(RetryAfterOf(refused).has_value());
  CHECK(IsNotApplied(refused));
  for (int i = 0; i < 3; ++i) CHECK(admission.EnterWatch({}, wall).ok());
  CHECK(wall.load->watches == 3);
  admission.LeaveWatch(wall);
  admission.LeaveWatch(wall);
  // Those that nobody counts are bounded together only.
  CHECK(admission.EnterWatch({}, *UnknownCaller()).ok());
  CHECK(admission.EnterWatch({}, wall).ok());
  const absl::Status full = admission.EnterWatch({}, wall);
  CHECK(QuotaViolationOf(full) == QuotaViolation{"server", "5 watches"});
  admission.LeaveWatch(feed);
  CHECK(feed.load->watches == 1);
  CHECK(admission.watches() == 4);
  CHECK(admission.EnterWatch({}, feed).ok());
}

}  // namespace
}  // namespace counter
