// The card's REST examples, replayed: the same status and the same body, as_of and took_ms aside.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tests/integration/fixture.h"
#include "tests/support/http_client.h"

namespace counter::testing {
namespace {

struct Exchange {
  std::string method;
  std::string target;
  std::string body;
  int status;
  std::string answer;
};

// In this order, on a new service. What is between the two marks is any text.
std::vector<Exchange> Transcript() {
  const std::string like = R"({"user_id": 123, "item_id": 456, "item_type": "post"})";
  const std::string reel = R"({"user_id": 123, "item_id": 456, "item_type": "reel"})";
  return {
      {"GET", "/health", "", 200, R"({"status":"ok","database":"healthy","redis":"not used"})"},
      {"POST", "/v1/like", like, 200, R"({"status":"liked","count":1,"user_liked":true})"},
      {"POST", "/v1/like", like, 200, R"({"status":"already_liked","count":1,"user_liked":true})"},
      {"POST", "/v1/like", R"({"user_id": 7, "item_id": 456})", 200,
       R"({"status":"liked","count":2,"user_liked":true})"},
      {"GET", "/v1/count?item_id=456&item_type=post", "", 200,
       R"({"item_id":456,"item_type":"post","count":2,"cached":false,"as_of":"*"})"},
      {"GET", "/v1/count?item_id=456", "", 200,
       R"({"item_id":456,"item_type":"post","count":2,"cached":true,"as_of":"*"})"},
      {"GET", "/v1/count?item_id=789&item_type=comment", "", 200,
       R"({"item_id":789,"item_type":"comment","count":0,"cached":false,"as_of":"*"})"},
      {"POST", "/v1/like", reel, 200, R"({"status":"liked","count":1,"user_liked":true})"},
      {"POST", "/v1/counts",
       R"({"items": [{"item_id": 456, "item_type": "post"}, {"item_id": 456, "item_type": "reel"},)"
       R"( {"item_id": 5}]})",
       200, R"({"counts":{"post:456":2,"reel:456":1,"post:5":0},"took_ms":*})"},
      {"GET", "/v1/counts?item_ids=456,5&item_type=post", "", 200,
       R"({"counts":{"post:456":2,"post:5":0},"took_ms":*})"},
      {"POST", "/v1/has_liked", R"({"user_id": 123, "item_ids": [456, 457], "item_type": "post"})",
       200, R"({"liked":{"456":true,"457":false}})"},
      {"GET", "/v1/has_liked?user_id=123&item_ids=457,456", "", 200,
       R"({"liked":{"457":false,"456":true}})"},
      {"DELETE", "/v1/like", like, 200, R"({"status":"unliked","count":1,"user_liked":false})"},
      {"DELETE", "/v1/like", like, 200, R"({"status":"not_liked","count":1,"user_liked":false})"},
      {"POST", "/v1/unlike", reel, 200, R"({"status":"unliked","count":0,"user_liked":false})"},
      {"POST", "/v1/has_liked", R"({"user_id": 123, "item_ids": [456]})", 200,
       R"({"liked":{"456":false}})"},
      {"POST", "/v1/counts", R"({"items": []})", 200, R"({"counts":{},"took_ms":*})"},
      {"POST", "/v1/has_liked", R"({"user_id": 123, "item_ids": []})", 200, R"({"liked":{}})"},
  };
}

// Whether `text` is `pattern`, a '*' of which stands for any text without a comma or a brace.
bool Matches(absl::string_view text, absl::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return text == pattern;
  if (!absl::StartsWith(text, pattern.substr(0, star))) return false;
  const absl::string_view rest = pattern.substr(star + 1);
  if (!absl::EndsWith(text, rest) || text.size() < pattern.size()) return false;
  const absl::string_view any = text.substr(star, text.size() - star - rest.size());
  return any.find_first_of(",{}") == absl::string_view::npos;
}

TEST_CASE("the card's REST examples have the card's answers") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  for (const Exchange& exchange : Transcript()) {
    const HttpClient::Answer answer = client.Call(exchange.method, exchange.target, exchange.body);
    CAPTURE(exchange.method, exchange.target, exchange.body, exchange.answer, answer.body);
    CHECK(answer.status == exchange.status);
    CHECK(answer.Header("content-type") == "application/json");
    CHECK(Matches(answer.body, exchange.answer));
  }
}

TEST_CASE("as_of is a time as RFC 3339 writes it") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const std::string body = client.Get("/v1/count?item_id=1").body;
  const size_t at = body.find("\"as_of\":\"");
  REQUIRE(at != std::string::npos);
  std::string text = body.substr(at + 9, body.size() - at - 11);
  absl::Time time;
  std::string error;
  CHECK(absl::ParseTime(absl::RFC3339_full, text, &time, &error));
  CHECK(absl::Now() - time < absl::Minutes(5));
}

}  // namespace
}  // namespace counter::testing
