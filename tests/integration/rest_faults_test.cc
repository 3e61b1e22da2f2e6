// Known faults through the gateway: K27, K30, K31 and K32 of the fault list, by REST and Connect.
// K06 is in ports_test, K27 and K30 with everything in full_stack_rest_test.
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/fixture.h"
#include "tests/integration/hostile_types.h"
#include "tests/integration/rest_calls.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

namespace json = boost::json;

TEST_CASE("K27: parallel likes of one pair by gRPC and REST are one like") {
  auto server = StartServer();
  const int calls = Sized(400, 1000);
  std::atomic<int> next = 0;
  std::atomic<int> liked = 0;
  std::atomic<int> failed = 0;
  RunWorkers(Sized(16, 64), [&](int worker) {
    const Client grpc = ConnectTo(*server);
    HttpClient rest(server->http_port());
    while (next++ < calls) {
      if (worker % 2 == 0) {
        const auto reply = grpc.Like(1, Post(1));
        if (!reply.ok()) ++failed;
        if (reply.ok() && reply->changed) ++liked;
      } else {
        const HttpClient::Answer answer = rest.Post("/v1/like", LikeBody(1, 1));
        if (answer.status != 200) ++failed;
        if (absl::StrContains(answer.body, "\"liked\"")) ++liked;
      }
    }
  });
  CHECK(failed == 0);
  CHECK(liked == 1);
  CHECK(StrongCount(ConnectTo(*server), Post(1)) == 1);
}

TEST_CASE("K30: a hostile item type is refused on every route, and nothing else happens") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  REQUIRE(client.Post("/v1/like", LikeBody(1, 1)).status == 200);
  for (const std::string& type : HostileTypes()) RequireRefusedEverywhere(client, type);
  CHECK(StrongCount(ConnectTo(*server), Post(1)) == 1);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("K31: a batch of ids of 0, 1, the cap, one more and a million") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  REQUIRE(client.Post("/v1/like", LikeBody(1, 3)).status == 200);
  const auto liked = [&](const std::string& list) {
    return client.Post("/v1/has_liked", absl::StrCat(R"({"user_id":1,"item_ids":[)", list, "]}"));
  };
  const auto by_query = [&](const std::string& list) {
    return client.Get("/v1/counts?item_ids=" + list);
  };
  CHECK(liked("").body == "{\"liked\":{}}");
  CHECK(absl::StartsWith(by_query("").body, "{\"counts\":{},"));
  CHECK(liked("3").body == "{\"liked\":{\"3\":true}}");
  CHECK(absl::StartsWith(by_query("3").body, "{\"counts\":{\"post:3\":1},"));
  // The answer for an id is under its name, whatever the order and however often it came.
  CHECK(liked("2,3,3,1,2").body == "{\"liked\":{\"2\":false,\"3\":true,\"1\":false}}");
  std::string equal = "3";
  for (int i = 1; i < 1000; ++i) equal += ",3";
  CHECK(liked(equal).body == "{\"liked\":{\"3\":true}}");
  for (const auto& [answer, name] :
       {std::pair<HttpClient::Answer, const char*>{liked(IdList(1000)), "liked"},
        {by_query(IdList(1000)), "counts"}}) {
    REQUIRE(answer.status == 200);
    CHECK(json::parse(answer.body).at(name).as_object().size() == 1000);
  }
  for (const HttpClient::Answer& above : {liked(IdList(1001)), by_query(IdList(1001))}) {
    CHECK(FieldsOf(above) == Fields{"item_ids"});
    CHECK(absl::StrContains(above.body, "at most 1000"));
  }
  CHECK(FieldsOf(liked("1,2,0,4")) == Fields{"item_ids[2]"});
  server->process().ResetPeak();
  const int64_t before = server->process().ResidentBytes();
  const HttpClient::Answer million = liked(IdList(1'000'000));
  CHECK(million.status == 413);
  CHECK(ReasonOf(million) == "INVALID_REQUEST");
  CHECK(by_query(IdList(1'000'000)).status == 431);
  // By size alone: what it holds is no JSON.
  CHECK(client.Post("/v1/like", std::string(5 << 20, 'x')).status == 413);
  CHECK(server->process().PeakResidentBytes() - before < (32 << 20));
}

// The likes of 1 to `n` by one user, as /v1/write_likes wants them.
json::array LikesOfOne(int n) {
  json::array mutations;
  for (int64_t item = 1; item <= n; ++item) mutations.push_back(MutationOf(1, item, "like"));
  return mutations;
}

TEST_CASE("K31: a batch of writes of 0, 1, the cap, one more and a million") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const auto write = [&](const json::array& mutations) {
    return client.Post("/v1/write_likes", MutationsBody(mutations));
  };
  CHECK(write({}).body == "{\"results\":[]}");
  CHECK(json::parse(write(LikesOfOne(1)).body).at("results").as_array().size() == 1);
  const json::value cap = json::parse(write(LikesOfOne(1000)).body);
  REQUIRE(cap.at("results").as_array().size() == 1000);
  CHECK(cap.at("results").at(0).at("status") == "already_liked");
  CHECK(cap.at("results").at(999).at("status") == "liked");
  const HttpClient::Answer above = write(LikesOfOne(1001));
  CHECK(FieldsOf(above) == Fields{"mutations"});
  CHECK(absl::StrContains(above.body, "at most 1000"));
  // By text, since making so much JSON takes longer than refusing it.
  const std::string one = json::serialize(MutationOf(1, 1, "like"));
  std::string million = "{\"mutations\":[" + one;
  for (int i = 1; i < 1'000'000; ++i) absl::StrAppend(&million, ",", one);
  CHECK(client.Post("/v1/write_likes", million + "]}").status == 413);
  CHECK(StrongCount(ConnectTo(*server), Post(1001)) == 0);
}

constexpr int kTypesACall = 50;

std::string CountsOfTypes(int first) {
  json::array items;
  for (int i = first; i < first + kTypesACall; ++i)
    items.push_back({{"item_id", 1}, {"item_type", absl::StrCat("t", i)}});
  return json::serialize(json::object{{"items", items}});
}

// Calls a method that does not exist.
grpc::StatusCode CallUnknown(grpc::GenericStub& stub, const std::string& method) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/counter.v1.CounterService/" + method, {}, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status.error_code();
}

TEST_CASE("K32: paths, methods and item types that callers make up make no series") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  HttpClient metrics(server->metrics_port());
  grpc::GenericStub grpc(ChannelTo(*server));
  const auto lines = [](const HttpClient::Answer& scrape) {
    REQUIRE(scrape.status == 200);
    return std::count(scrape.body.begin(), scrape.body.end(), '\n');
  };
  // What there is once, is there now.
  client.Get("/v1/count?item_id=1");
  client.Get("/v1/nothing");
  REQUIRE(CallUnknown(grpc, "Nothing") == grpc::UNIMPLEMENTED);
  const auto before = lines(metrics.Get("/metrics"));
  const int names = Sized(1'000, 10'000);
  int unexpected = 0;
  for (int i = 0; i < names; ++i) {
    if (client.Get(absl::StrCat("/v1/x", i)).status != 404) ++unexpected;
    if (client.Call(absl::StrCat("M", i), "/v1/like").status != 405) ++unexpected;
    const std::string method = absl::StrCat("M", i);
    if (client.Post("/counter.v1.CounterService/" + method, "{}").status != 404) ++unexpected;
    if (CallUnknown(grpc, method) != grpc::UNIMPLEMENTED) ++unexpected;
  }
  // 50,000 types in the long form.
  for (int type = 0; type < 5 * names; type += kTypesACall) {
    if (client.Post("/v1/counts", CountsOfTypes(type)).status != 400) ++unexpected;
  }
  CHECK(unexpected == 0);
  const absl::Time start = absl::Now();
  const HttpClient::Answer after = metrics.Get("/metrics");
  CHECK(absl::Now() - start < absl::Milliseconds(100) * Slowness());
  CHECK(lines(after) == before);
  CHECK(after.body.size() < (1 << 20));
  CHECK(MetricOf(*server, "counter_http_requests_total", {{"route", "unknown"}, {"code", "404"}}) >=
        2 * names);
}

}  // namespace
}  // namespace counter::testing
