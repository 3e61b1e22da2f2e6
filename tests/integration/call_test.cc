// What holds for every call: names, deadlines, refusals.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/health.h"
#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/raw_http2.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using Stub = v1::CounterService::Stub;
using client::Error;

constexpr char kLikePath[] = "/counter.v1.CounterService/Like";

TEST_CASE("The request id of a call comes back, on success and on failure") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const client::CallOptions call = {.request_id = "checkout-7.A_b"};
  CHECK(client.Like(1, Post(1), call).value().request_id == "checkout-7.A_b");
  CHECK(client.Unlike(1, Post(1), call).value().request_id == "checkout-7.A_b");
  CHECK(client.WriteLikes({}, call).value().request_id == "checkout-7.A_b");
  CHECK(client.Count(Post(1), {}, call).value().request_id == "checkout-7.A_b");
  CHECK(client.Counts({}, {}, call).value().request_id == "checkout-7.A_b");
  CHECK(client.HasLiked(1, {}, {}, call).value().request_id == "checkout-7.A_b");
  CHECK(client.Like(0, Post(1), call).error().request_id == "checkout-7.A_b");
}

TEST_CASE("A call without a request id, or with one that is not allowed, gets one of its own") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const std::string first = client.Like(1, Post(1)).value().request_id;
  const std::string second = client.Like(1, Post(1)).value().request_id;
  CHECK_FALSE(first.empty());
  CHECK(first != second);
  Stub stub(ChannelTo(*server));
  for (const std::string& bad : {std::string("a b"), std::string(65, 'a'), std::string("a;b")}) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", bad);
    v1::LikeResponse response;
    REQUIRE(stub.Like(&context, LikeRequestOf(1, Post(1)), &response).ok());
    const auto& metadata = context.GetServerInitialMetadata();
    const auto id = metadata.find("x-request-id");
    REQUIRE(id != metadata.end());
    CHECK(id->second != bad);
    CHECK_FALSE(id->second.empty());
  }
}

TEST_CASE("The log of a call names the trace of the caller's traceparent") {
  auto server = StartServer({{"LOG_LEVEL", "debug"}, {"LOG_FORMAT", "json"}});
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const client::CallOptions call = {
      .request_id = "checkout-7",
      .traceparent = absl::StrCat("00-", trace, "-00f067aa0ba902b7-01")};
  REQUIRE(ConnectTo(*server).Like(1, Post(1), call).ok());
  // The line is what is promised here, so this case alone reads the log.
  CHECK(Eventually(absl::Seconds(10), [&] {
    return absl::StrContains(server->Log(),
                             absl::StrCat("\"request_id\":\"checkout-7\",\"trace_id\":\"", trace));
  }));
}

TEST_CASE("A call that arrives after its deadline reaches no store") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(1, Post(1)).ok());
  const double rows_before = MetricOf(*server, "counter_write_batch_rows_sum");
  for (int64_t user = 2; user <= 21; ++user) {
    const std::string message = LikeRequestOf(user, Post(1)).SerializeAsString();
    // No time at all; gRPC makes a whole millisecond of anything more.
    const auto reply =
        RawHttp2Call(server->grpc_port(), kLikePath, {{"grpc-timeout", "0n"}}, message);
    REQUIRE(reply.ok());
    // No reply but a status, or the stream was reset by the server's own timer.
    CHECK(reply->data.empty());
  }
  CHECK(StrongCount(client, Post(1)) == 1);
  CHECK(MetricOf(*server, "counter_write_batch_rows_sum") == rows_before);
  // The same call with time left goes through: it was the deadline that kept the others out.
  const auto reply = RawHttp2Call(server->grpc_port(), kLikePath, {{"grpc-timeout", "5S"}},
                                  LikeRequestOf(2, Post(1)).SerializeAsString());
  REQUIRE(reply.ok());
  CHECK_FALSE(reply->data.empty());
  CHECK(StrongCount(client, Post(1)) == 2);
  CHECK(MetricOf(*server, "counter_write_batch_rows_sum") == rows_before + 1);
}

TEST_CASE("A refusal is not called not-applied when an earlier attempt may have been applied") {
  auto server = StartServer();
  const std::string bad = LikeRequestOf(0, Post(1)).SerializeAsString();
  const auto first = RawHttp2Call(server->grpc_port(), kLikePath, {}, bad);
  REQUIRE(first.ok());
  CHECK(absl::StrContains(first->headers, "not-applied"));
  // gRPC's own retries say how many attempts went before.
  const auto second =
      RawHttp2Call(server->grpc_port(), kLikePath, {{"grpc-previous-rpc-attempts", "1"}}, bad);
  REQUIRE(second.ok());
  CHECK_FALSE(absl::StrContains(second->headers, "not-applied"));
}

TEST_CASE("Calls over the bound are refused at once, with a reason and a hint, and not applied") {
  constexpr int kBound = 4;
  auto server = StartServer({{"CALLS_IN_FLIGHT_MAX", absl::StrCat(kBound)}});
  std::vector<v1::LikeRequest> requests;
  for (int64_t user = 1; user <= 300; ++user) requests.push_back(LikeRequestOf(user, Post(1)));
  const auto ended = CallAtOnce(ChannelTo(*server), &Stub::PrepareAsyncLike, requests);
  const Client client = ConnectTo(*server);
  int admitted = 0;
  int refused = 0;
  for (size_t i = 0; i < ended.size(); ++i) {
    const int64_t user = requests[i].user_id();
    if (ended[i].status.ok()) {
      ++admitted;
      continue;
    }
    ++refused;
    REQUIRE(ended[i].status.error_code() == grpc::RESOURCE_EXHAUSTED);
    REQUIRE(ended[i].not_applied);
    if (refused <= 20) REQUIRE_FALSE(StronglyLiked(client, user, Post(1)));
  }
  CAPTURE(admitted, refused);
  CHECK(admitted >= 1);
  REQUIRE(refused >= 1);
  CHECK(StrongCount(client, Post(1)) == admitted);
  CHECK(MetricOf(*server, "counter_calls_refused_total", {{"reason", "OVERLOADED"}}) == refused);

  // The reason and the hint, as a client sees them: many threads, until one of them is refused.
  std::vector<Error> errors;
  for (int i = 0; i < 50 && errors.empty(); ++i) {
    const auto again = CallAtOnce(ChannelTo(*server), &Stub::PrepareAsyncLike, requests);
    for (const auto& call : again) {
      if (call.status.ok()) continue;
      google::rpc::Status details;
      REQUIRE(details.ParseFromString(call.status.error_details()));
      CHECK(absl::StrContains(details.DebugString(), "OVERLOADED"));
      CHECK(absl::StrContains(details.DebugString(), "google.rpc.RetryInfo"));
      return;
    }
  }
}

TEST_CASE("Health is served for the server, the service and liveness, and for nothing else") {
  auto server = StartServer();
  const client::HealthProbe probe(server->target());
  for (const char* service : {"", "counter.v1.CounterService", "calls", "liveness"}) {
    CAPTURE(service);
    CHECK(probe.Check(service, absl::Seconds(5)).value() == client::Health::kServing);
  }
  CHECK(probe.Check("nothing", absl::Seconds(5)).value() == client::Health::kServiceUnknown);
}

TEST_CASE("An unknown method and a message that is none are refused, and the server goes on") {
  auto server = StartServer();
  const auto unknown =
      RawHttp2Call(server->grpc_port(), "/counter.v1.CounterService/Dislike", {}, "");
  REQUIRE(unknown.ok());
  CHECK(unknown->data.empty());
  const auto garbage = RawHttp2Call(server->grpc_port(), kLikePath, {}, "\xff\xff\xff\xff");
  REQUIRE(garbage.ok());
  CHECK(garbage->data.empty());
  CHECK(ConnectTo(*server).Like(1, Post(1)).ok());
}

}  // namespace
}  // namespace counter::testing
