// REST on the real server: what it takes, what it refuses and how, and the limits it keeps.
#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/http_get.h"
#include "tests/support/process.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

namespace json = boost::json;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string LikeBody(int64_t user, int64_t item, absl::string_view type = "post") {
  return json::serialize(json::object{{"user_id", user},
                                      {"item_id", item},
                                      {"item_type", json::string_view(type.data(), type.size())}});
}

std::string Escaped(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    absl::StrAppend(&escaped, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
  }
  return escaped;
}

// The reason of an error's ErrorInfo, after a look at all that every error has.
std::string ReasonOf(const HttpClient::Answer& answer) {
  CAPTURE(answer.status, answer.body);
  REQUIRE(answer.Header("content-type") == "application/json");
  const json::object body = json::parse(answer.body).as_object();
  const json::object& error = body.at("error").as_object();
  REQUIRE(error.at("code") == answer.status);
  REQUIRE(error.at("message") == body.at("detail"));
  REQUIRE_FALSE(error.at("status").as_string().empty());
  const json::object& info = error.at("details").as_array().at(0).as_object();
  REQUIRE(info.at("domain") == "counter.v1");
  return json::value_to<std::string>(info.at("reason"));
}

// The fields that a 400 names, after a look at whether it is one.
std::set<std::string> FieldsOf(const HttpClient::Answer& answer) {
  CAPTURE(answer.status, answer.body.substr(0, 300));
  REQUIRE(answer.status == 400);
  REQUIRE(ReasonOf(answer) == "INVALID_REQUEST");
  REQUIRE(answer.body.size() < 20'000);
  std::set<std::string> fields;
  const json::value body = json::parse(answer.body);
  for (const json::value& violation :
       body.at("error").at("details").as_array().at(1).at("fieldViolations").as_array()) {
    REQUIRE_FALSE(violation.at("description").as_string().empty());
    fields.insert(json::value_to<std::string>(violation.at("field")));
  }
  return fields;
}

using Fields = std::set<std::string>;

// One mutation of /v1/write_likes.
json::object MutationOf(int64_t user, int64_t item, const char* action) {
  return {{"user_id", user}, {"item_id", item}, {"action", action}};
}

std::string Mutations(const json::array& mutations) {
  return json::serialize(json::object{{"mutations", mutations}});
}

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

TEST_CASE("K30: a hostile item type is refused on every route, and nothing else happens") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  REQUIRE(client.Post("/v1/like", LikeBody(1, 1)).status == 200);
  const std::vector<std::string> types = {"a:b",
                                          "a",
                                          "x y",
                                          "%s%n%b",
                                          "post\r\nFLUSHALL\r\n",
                                          "{a}",
                                          "",
                                          "POST",
                                          "post ",
                                          std::string("post\0", 5),
                                          "p\xc3\xb6st",
                                          "../post",
                                          "post'; DROP TABLE user_likes; --",
                                          std::string(64, 'a'),
                                          std::string(65, 'a')};
  for (const std::string& type : types) {
    CAPTURE(type);
    const std::string in_json = json::serialize(json::value(json::string(type)));
    const std::string in_query = Escaped(type);
    const std::string ids =
        absl::StrCat(R"({"user_id":1,"item_ids":[1],"item_type":)", in_json, "}");
    CHECK(FieldsOf(client.Post("/v1/like", LikeBody(1, 1, type))) == Fields{"item_type"});
    CHECK(FieldsOf(client.Post("/v1/unlike", LikeBody(1, 1, type))) == Fields{"item_type"});
    CHECK(FieldsOf(client.Call("DELETE", "/v1/like", LikeBody(1, 1, type))) == Fields{"item_type"});
    CHECK(FieldsOf(client.Get("/v1/count?item_id=1&item_type=" + in_query)) == Fields{"item_type"});
    CHECK(FieldsOf(client.Get("/v1/counts?item_ids=1&item_type=" + in_query)) ==
          Fields{"item_type"});
    CHECK(FieldsOf(client.Post("/v1/counts", absl::StrCat(R"({"items":[{"item_id":1,"item_type":)",
                                                          in_json, "}]}"))) ==
          Fields{"items[0].item_type"});
    CHECK(FieldsOf(client.Post("/v1/has_liked", ids)) == Fields{"item_type"});
    CHECK(FieldsOf(client.Get("/v1/has_liked?user_id=1&item_ids=1&item_type=" + in_query)) ==
          Fields{"item_type"});
    json::object mutation = MutationOf(1, 1, "like");
    mutation["item_type"] = json::string(type);
    const HttpClient::Answer written = client.Post("/v1/write_likes", Mutations({mutation}));
    CHECK(absl::StrContains(written.body, "mutations[0].item_type"));
  }
  CHECK(StrongCount(ConnectTo(*server), Post(1)) == 1);
  StopServer(*server);
  RequireSoundStore(*server);
}

std::string IdList(int n) {
  std::string list;
  for (int i = 0; i < n; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", i + 1);
  return list;
}

TEST_CASE("K31: batches of 0, 1, the cap, one more and a million ids") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  REQUIRE(client.Post("/v1/like", LikeBody(1, 3)).status == 200);
  const auto liked = [&](const std::string& list) {
    return client.Post("/v1/has_liked", absl::StrCat(R"({"user_id":1,"item_ids":[)", list, "]}"));
  };
  CHECK(liked("").body == "{\"liked\":{}}");
  CHECK(liked("3").body == "{\"liked\":{\"3\":true}}");
  // The answer for an id is under its name, whatever the order and however often it came.
  CHECK(liked("2,3,3,1,2").body == "{\"liked\":{\"2\":false,\"3\":true,\"1\":false}}");
  const HttpClient::Answer cap = liked(IdList(1000));
  CHECK(cap.status == 200);
  CHECK(json::parse(cap.body).at("liked").as_object().size() == 1000);
  const HttpClient::Answer above = liked(IdList(1001));
  CHECK(FieldsOf(above) == Fields{"item_ids"});
  CHECK(absl::StrContains(above.body, "at most 1000"));
  const int64_t before = server->process().ResidentBytes();
  const HttpClient::Answer million = liked(IdList(1'000'000));
  CHECK(million.status == 413);
  CHECK(ReasonOf(million) == "INVALID_REQUEST");
  CHECK(server->process().ResidentBytes() - before < (32 << 20));
  CHECK(FieldsOf(liked("1,2,0,4")) == Fields{"item_ids[2]"});
}

TEST_CASE("write_likes refuses a wrong mutation alone, as the call for it alone would") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "3"}});
  HttpClient client(server->http_port());
  const HttpClient::Answer answer = client.Post(
      "/v1/write_likes",
      Mutations({MutationOf(1, 7, "like"), MutationOf(0, 7, "like"), 5, MutationOf(1, 7, "like"),
                 MutationOf(2, 7, "like"), MutationOf(1, 8, "like"), MutationOf(1, 9, "like"),
                 MutationOf(2, 7, "unlike"), MutationOf(3, 7, "LIKE"),
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
  const HttpClient::Answer fits = client.Post("/v1/write_likes", Mutations(mutations));
  REQUIRE(fits.status == 200);
  CHECK(json::parse(fits.body).at("results").as_array().size() == 1000);
  mutations.push_back(MutationOf(1001, 1, "like"));
  const HttpClient::Answer above = client.Post("/v1/write_likes", Mutations(mutations));
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

TEST_CASE("K27: parallel likes of one pair by gRPC and REST are one like") {
  auto server = StartServer();
  const int calls = Sized(400, 1000);
  constexpr int kThreads = 16;
  std::atomic<int> next = 0;
  std::atomic<int> liked = 0;
  std::atomic<int> failed = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Client grpc = ConnectTo(*server);
      HttpClient rest(server->http_port());
      while (next++ < calls) {
        if (thread % 2 == 0) {
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
  }
  threads.clear();
  CHECK(failed == 0);
  CHECK(liked == 1);
  CHECK(StrongCount(ConnectTo(*server), Post(1)) == 1);
}

TEST_CASE("K32: paths, methods and item types that callers make up make no series") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const auto scrape = [&] { return HttpGet(server->metrics_port(), "/metrics"); };
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  client.Get("/v1/count?item_id=1");
  const auto before = scrape();
  REQUIRE(before.ok());
  for (int i = 0; i < Sized(2'000, 10'000); ++i) {
    client.Get(absl::StrCat("/v1/x", i));
    client.Call(absl::StrCat("M", i), "/v1/like");
    client.Get(absl::StrCat("/v1/count?item_id=1&item_type=t", i));
    client.Post(absl::StrCat("/counter.v1.CounterService/M", i), "{}");
  }
  const absl::Time start = absl::Now();
  const auto after = scrape();
  CHECK(absl::Now() - start < absl::Milliseconds(100) * Slowness());
  REQUIRE(after.ok());
  CHECK(lines(after->body) == lines(before->body));
  CHECK(after->body.size() < (1 << 20));
  CHECK(MetricOf(*server, "counter_http_requests_total", {{"route", "unknown"}, {"code", "404"}}) >=
        Sized(2'000, 10'000));
  // gRPC's own names count gRPC only.
  CHECK(MetricOf(*server, "grpc_server_started_total") == 0);
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
