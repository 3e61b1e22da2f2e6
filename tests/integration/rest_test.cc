// REST on the real server: what it takes, what it refuses and how, and the limits it keeps.
#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/fixture.h"
#include "tests/integration/rest_calls.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

namespace json = boost::json;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST_CASE("numbers are exact to 2^63-1 in both directions, and ids may be strings") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  CHECK(client.Post("/v1/like", LikeBody(kMax, kMax)).status == 200);
  CHECK(client.Post("/v1/like", LikeBody(kMax, kMax - 1)).status == 200);
  const std::string by_string =
      absl::StrCat(R"({"user_id":")", kMax, R"(","item_id":")", kMax, R"(","item_type":"post"})");
  CHECK(absl::StrContains(client.Post("/v1/like", by_string).body, "already_liked"));
  CHECK(absl::StrContains(client.Get(absl::StrCat("/v1/count?item_id=", kMax)).body,
                          absl::StrCat("{\"item_id\":", kMax, ",")));
  CHECK(client
            .Get(absl::StrCat("/v1/has_liked?user_id=", kMax, "&item_ids=", kMax, ",", kMax - 1,
                              ",", kMax - 2))
            .body == absl::StrCat("{\"liked\":{\"", kMax, "\":true,\"", kMax - 1, "\":true,\"",
                                  kMax - 2, "\":false}}"));
  CHECK(StrongCount(ConnectTo(*server), Post(kMax)) == 1);
}

TEST_CASE("gRPC and REST see the same likes") {
  auto server = StartServer();
  HttpClient rest(server->http_port());
  const Client grpc = ConnectTo(*server);
  REQUIRE(grpc.Like(1, Post(5)).ok());
  CHECK(absl::StrContains(rest.Post("/v1/like", LikeBody(1, 5)).body, "already_liked"));
  CHECK(absl::StrContains(rest.Post("/v1/like", LikeBody(2, 5)).body, "\"count\":2"));
  CHECK(StrongCount(grpc, Post(5)) == 2);
}

TEST_CASE("all wrong fields of a request are named at once, by the names that REST has for them") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const std::string bad = R"({"user_id": 0, "item_id": "x", "item_type": "nothing"})";
  const Fields three = {"user_id", "item_id", "item_type"};
  CHECK(FieldsOf(client.Post("/v1/like", bad)) == three);
  CHECK(FieldsOf(client.Call("DELETE", "/v1/like", bad)) == three);
  CHECK(FieldsOf(client.Post("/v1/unlike", bad)) == three);
  CHECK(FieldsOf(client.Post("/v1/like", "{}")) == Fields{"user_id", "item_id"});
  CHECK(FieldsOf(client.Get("/v1/count?item_id=-1&item_type=")) == Fields{"item_id", "item_type"});
  CHECK(FieldsOf(client.Get("/v1/count")) == Fields{"item_id"});
  CHECK(FieldsOf(client.Post("/v1/counts", R"({"items": [{"item_id": 1},
            {"item_id": 0, "item_type": "x y"}]})")) ==
        Fields{"items[1].item_id", "items[1].item_type"});
  CHECK(FieldsOf(client.Post("/v1/has_liked", R"({"item_ids": [1, 0], "item_type": "x"})")) ==
        Fields{"user_id", "item_ids[1]", "item_type"});
  CHECK(FieldsOf(client.Get("/v1/has_liked?user_id=1&item_ids=1,b")) == Fields{"item_ids[1]"});
  CHECK(FieldsOf(client.Get("/v1/counts?item_type=post")) == Fields{"item_ids"});
}

TEST_CASE("write_likes refuses a wrong mutation alone, as the call for it alone would") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "3"}});
  HttpClient client(server->http_port());
  const HttpClient::Answer answer = client.Post(
      "/v1/write_likes",
      MutationsBody({MutationOf(1, 7, "like"), MutationOf(0, 7, "like"), 5,
                     MutationOf(1, 7, "like"), MutationOf(2, 7, "like"), MutationOf(1, 8, "like"),
                     MutationOf(1, 9, "like"), MutationOf(2, 7, "unlike"), MutationOf(3, 7, "LIKE"),
                     json::object{{"user_id", 3}, {"item_id", 7}, {"item_type", "video"}}}));
  CAPTURE(answer.body);
  REQUIRE(answer.status == 200);
  CHECK(answer.Header("ratelimit-policy") == "\"likes\";q=3;w=60");
  const json::value body = json::parse(answer.body);
  const json::array& results = body.at("results").as_array();
  REQUIRE(results.size() == 10);
  const auto status = [&](int i) { return json::value_to<std::string>(results[i].at("status")); };
  CHECK(status(0) == "liked");
  CHECK(status(3) == "already_liked");
  CHECK(status(4) == "liked");
  CHECK(status(5) == "liked");
  CHECK(status(7) == "unliked");
  CHECK(results[7].at("user_liked") == false);
  const auto fields = [&](int i) {
    return FieldsOf({static_cast<int>(results[i].at("error").at("code").as_int64()),
                     {{"content-type", "application/json"}},
                     json::serialize(results[i])});
  };
  CHECK(fields(1) == Fields{"mutations[1].user_id"});
  CHECK(fields(2) == Fields{"mutations[2]"});
  CHECK(fields(8) == Fields{"mutations[8].action"});
  CHECK(fields(9) == Fields{"mutations[9].action", "mutations[9].item_type"});
  CHECK(results[6].at("error").at("code") == 429);
  CHECK(results[6].at("error").at("details").as_array().size() == 3);
  const Client grpc = ConnectTo(*server);
  CHECK(StrongCount(grpc, Post(7)) == 1);
  CHECK(StrongCount(grpc, Post(9)) == 0);
}

TEST_CASE("write_likes takes 1000 mutations, and one more is refused whole") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "0"}});
  HttpClient client(server->http_port());
  json::array mutations;
  for (int64_t user = 1; user <= 1000; ++user) mutations.push_back(MutationOf(user, 1, "like"));
  const HttpClient::Answer fits = client.Post("/v1/write_likes", MutationsBody(mutations));
  REQUIRE(fits.status == 200);
  CHECK(json::parse(fits.body).at("results").as_array().size() == 1000);
  mutations.push_back(MutationOf(1001, 1, "like"));
  const HttpClient::Answer above = client.Post("/v1/write_likes", MutationsBody(mutations));
  CHECK(FieldsOf(above) == Fields{"mutations"});
  CHECK(absl::StrContains(above.body, "at most 1000"));
  CHECK(StrongCount(ConnectTo(*server), Post(1)) == 1000);
}

TEST_CASE("a body must be JSON, say so, fit, and not be deep") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  for (const char* type :
       {"text/plain", "application/x-www-form-urlencoded", "application/jsonx"}) {
    const HttpClient::Answer refused =
        client.Call("POST", "/v1/like", LikeBody(1, 1), {{"Content-Type", type}});
    CHECK(refused.status == 415);
    CHECK(ReasonOf(refused) == "INVALID_REQUEST");
  }
  CHECK(client
            .Call("POST", "/v1/like", LikeBody(1, 1),
                  {{"Content-Type", "Application/JSON; charset=utf-8"}})
            .status == 200);
  for (const std::string& body :
       {std::string("{"), std::string("[]"), std::string("\"\""), std::string("\xff\xfe"),
        absl::StrCat("{\"a\":", std::string(20, '['), std::string(20, ']'), "}"),
        std::string(200'000, '[')}) {
    CHECK(FieldsOf(client.Post("/v1/like", body)) == Fields{"body"});
  }
  CHECK(client.Post("/v1/like", std::string(256 << 10, ' ')).status == 400);
  CHECK(client.Post("/v1/like", std::string((256 << 10) + 1, ' ')).status == 413);
  const HttpClient::Answer header =
      client.Call("GET", "/v1/count?item_id=1", "", {{"A", std::string(9000, 'x')}});
  CHECK(header.status == 431);
  CHECK(ReasonOf(header) == "INVALID_REQUEST");
}

TEST_CASE("what is not there is 404, a wrong method 405, in the form of every error") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const HttpClient::Answer nothing = client.Get("/v1/nothing");
  CHECK(nothing.status == 404);
  CHECK(ReasonOf(nothing) == "UNIMPLEMENTED");
  const HttpClient::Answer method = client.Get("/v1/like");
  CHECK(method.status == 405);
  CHECK(method.Header("allow") == "DELETE, POST");
}

TEST_CASE("the sixth like of five is refused with 429, its reason and when to come again") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "5"}, {"RATE_LIMIT_WINDOW_SECONDS", "60"}});
  HttpClient client(server->http_port());
  for (int64_t id = 1; id <= 5; ++id) {
    const HttpClient::Answer liked = client.Post("/v1/like", LikeBody(1, id));
    REQUIRE(liked.status == 200);
    CHECK(liked.Header("ratelimit-policy") == "\"likes\";q=5;w=60");
    CHECK(liked.Header("ratelimit").empty());
  }
  const HttpClient::Answer refused = client.Post("/v1/like", LikeBody(1, 6));
  CHECK(refused.status == 429);
  CHECK(ReasonOf(refused) == "RATE_LIMITED");
  int seconds = 0;
  REQUIRE(absl::SimpleAtoi(refused.Header("retry-after"), &seconds));
  CHECK(seconds >= 1);
  CHECK(seconds <= 60);
  CHECK(refused.Header("ratelimit") == absl::StrCat("\"likes\";r=0;t=", seconds));
  CHECK(absl::StrContains(refused.body, "not-applied"));
  CHECK(StrongCount(ConnectTo(*server), Post(6)) == 0);
}

TEST_CASE("an id goes back to its caller, and one is made for who has none") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  CHECK(client.Call("GET", "/v1/count?item_id=1", "", {{"X-Request-Id", "order-7"}})
            .Header("x-request-id") == "order-7");
  CHECK(client.Get("/v1/count?item_id=1").Header("x-request-id").size() == 32);
  CHECK(client.Call("GET", "/v1/count?item_id=0", "", {{"X-Request-Id", "a b"}})
            .Header("x-request-id")
            .size() == 32);
}

TEST_CASE("a call that comes after its time has passed is 504 and reaches no store") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const HttpClient::Answer late =
      client.Call("POST", "/v1/like", LikeBody(1, 1), {{"X-Timeout-Ms", "0"}});
  CHECK(late.status == 504);
  CHECK(ReasonOf(late) == "DEADLINE_EXCEEDED");
  CHECK(absl::StrContains(late.body, "not-applied"));
  CHECK(StrongCount(ConnectTo(*server), Post(1)) == 0);
  CHECK(client.Call("POST", "/v1/like", LikeBody(1, 1), {{"X-Timeout-Ms", "5000"}}).status == 200);
  for (const char* wrong : {"", "-1", "1.5", "1s", "99999999999"}) {
    CHECK(FieldsOf(client.Call("GET", "/v1/count?item_id=1", "", {{"X-Timeout-Ms", wrong}})) ==
          Fields{"x-timeout-ms"});
  }
}

TEST_CASE("REST and gRPC share the calls in flight: over the limit it is 503 with a retry hint") {
  auto server = StartServer({{"CALLS_IN_FLIGHT_MAX", "1"}});
  std::atomic<bool> done = false;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] {
      const Client client = ConnectTo(*server);
      for (int64_t id = 1; !done; ++id) (void)client.Like(i + 1, Post(id));
    });
  }
  HttpClient client(server->http_port());
  HttpClient::Answer refused;
  CHECK(Eventually(absl::Seconds(10) * Slowness(), [&] {
    refused = client.Post("/v1/like", LikeBody(99, 1));
    return refused.status == 503;
  }));
  done = true;
  callers.clear();
  CHECK(ReasonOf(refused) == "OVERLOADED");
  CHECK(refused.Header("retry-after") == "1");
  CHECK(client.Post("/v1/like", LikeBody(99, 1)).status == 200);
  CHECK(MetricOf(*server, "counter_calls_refused_total", {{"reason", "OVERLOADED"}}) >= 1);
}

TEST_CASE("a server that shuts down answers what is under way and sends the rest away") {
  auto server = StartServer();
  HttpClient halfway(server->http_port());
  const std::string body = LikeBody(1, 1);
  REQUIRE(
      halfway.SendRaw(absl::StrCat("POST /v1/like HTTP/1.1\r\nHost: x\r\nContent-Type: "
                                   "application/json\r\nContent-Length: ",
                                   body.size(), "\r\n\r\n")));
  HttpClient idle(server->http_port());
  REQUIRE(idle.Get("/health").status == 200);
  server->Terminate();
  // The server has begun to drain when it closes who is idle.
  CHECK(idle.Receive().body == "closed");
  REQUIRE(halfway.SendRaw(body));
  const HttpClient::Answer answer = halfway.Receive();
  CHECK(answer.status == 503);
  CHECK(ReasonOf(answer) == "SHUTTING_DOWN");
  CHECK(absl::EqualsIgnoreCase(answer.Header("connection"), "close"));
  const auto exit = server->WaitExit(absl::Seconds(10) * Slowness());
  REQUIRE(exit.has_value());
  CHECK(exit->code == 0);
}

}  // namespace
}  // namespace counter::testing
