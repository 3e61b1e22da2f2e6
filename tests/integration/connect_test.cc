// The Connect protocol on the real server, as a client without a library speaks it.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/fixture.h"
#include "tests/support/http_client.h"

namespace counter::testing {
namespace {

namespace json = boost::json;

const std::string kService = "/counter.v1.CounterService/";
constexpr int64_t kMax = 9223372036854775807;

HttpClient::Answer CallProto(HttpClient& client, const std::string& method,
                             const google::protobuf::MessageLite& message) {
  return client.Call("POST", kService + method, message.SerializeAsString(),
                     {{"Content-Type", "application/proto"}, {"Connect-Protocol-Version", "1"}});
}

std::string CodeOf(const HttpClient::Answer& answer) {
  CAPTURE(answer.status, answer.body);
  REQUIRE(answer.Header("content-type") == "application/json");
  return json::value_to<std::string>(json::parse(answer.body).at("code"));
}

TEST_CASE("every method answers as JSON") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const auto call = [&](const std::string& method, const std::string& body) {
    const HttpClient::Answer answer = client.Post(kService + method, body);
    CAPTURE(method, answer.body);
    REQUIRE(answer.status == 200);
    REQUIRE(answer.Header("content-type") == "application/json");
    REQUIRE(answer.Header("x-request-id").size() == 32);
    return json::parse(answer.body).as_object();
  };
  const std::string item = absl::StrCat(R"({"itemType":"post","itemId":")", kMax, R"("})");
  const json::object liked = call("Like", absl::StrCat(R"({"userId":"1","item":)", item, "}"));
  CHECK(liked.at("status") == "LIKE_STATUS_LIKED");
  CHECK(liked.at("count") == "1");
  const std::string token = json::value_to<std::string>(liked.at("consistencyToken"));
  const json::object count =
      call("GetCount", absl::StrCat(R"({"item":)", item, R"(,"consistencyToken":")", token, "\"}"));
  CHECK(count.at("count") == "1");
  const json::object counts =
      call("BatchGetCounts", absl::StrCat(R"({"items":[)", item, R"(],"consistency":2})"));
  CHECK(json::value_to<std::string>(counts.at("counts").at(0).at("item").at("itemId")) ==
        absl::StrCat(kMax));
  CHECK(call("HasLiked", absl::StrCat(R"({"userId":1,"items":[)", item, "]}")).at("liked") ==
        json::array{true});
  const json::object written =
      call("WriteLikes",
           absl::StrCat(R"({"mutations":[{"userId":2,"action":"ACTION_LIKE","item":)", item,
                        R"(},{"userId":0,"action":"ACTION_LIKE","item":)", item, "}]}"));
  CHECK(written.at("results").at(0).at("outcome") == "OUTCOME_LIKED");
  CHECK(written.at("results").at(1).at("error").at("details").at(0).at("reason") ==
        "INVALID_REQUEST");
  CHECK(call("Unlike", absl::StrCat(R"({"userId":1,"item":)", item, "}")).at("status") ==
        "UNLIKE_STATUS_UNLIKED");
}

TEST_CASE("every method answers as protobuf") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  v1::LikeResponse liked;
  const HttpClient::Answer like = CallProto(client, "Like", LikeRequestOf(kMax, Post(kMax)));
  CHECK(like.Header("content-type") == "application/proto");
  REQUIRE(liked.ParseFromString(like.body));
  CHECK(liked.status() == v1::LIKE_STATUS_LIKED);
  CHECK(liked.count() == 1);
  v1::GetCountRequest count;
  *count.mutable_item() = LikeRequestOf(1, Post(kMax)).item();
  v1::GetCountResponse counted;
  REQUIRE(counted.ParseFromString(CallProto(client, "GetCount", count).body));
  CHECK(counted.count() == 1);
  v1::BatchGetCountsRequest counts;
  for (int i = 0; i < 1000; ++i) *counts.add_items() = count.item();
  v1::BatchGetCountsResponse all;
  REQUIRE(all.ParseFromString(CallProto(client, "BatchGetCounts", counts).body));
  CHECK(all.counts_size() == 1000);
  v1::HasLikedRequest has_liked;
  has_liked.set_user_id(kMax);
  *has_liked.add_items() = count.item();
  v1::HasLikedResponse has;
  REQUIRE(has.ParseFromString(CallProto(client, "HasLiked", has_liked).body));
  CHECK(has.liked(0));
  v1::WriteLikesRequest writes;
  for (int i = 1; i <= 1000; ++i) {
    v1::Mutation& mutation = *writes.add_mutations();
    mutation.set_user_id(i);
    *mutation.mutable_item() = count.item();
    mutation.set_action(v1::ACTION_LIKE);
  }
  v1::WriteLikesResponse written;
  REQUIRE(written.ParseFromString(CallProto(client, "WriteLikes", writes).body));
  CHECK(written.results_size() == 1000);
  v1::UnlikeResponse unliked;
  REQUIRE(
      unliked.ParseFromString(CallProto(client, "Unlike", UnlikeRequestOf(kMax, Post(kMax))).body));
  CHECK(unliked.count() == 1000);
}

TEST_CASE("methods without side effects may be asked by GET, the others not") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const std::string query =
      "?connect=v1&encoding=json&message=%7B%22item%22%3A%7B%22itemType%22%3A"
      "%22post%22%2C%22itemId%22%3A%225%22%7D%7D";
  const HttpClient::Answer answer = client.Get(kService + "GetCount" + query);
  CHECK(answer.status == 200);
  CHECK(json::parse(answer.body).as_object().contains("asOfTime"));
  CHECK(client.Get(kService + "HasLiked?encoding=json&message=%7B%22userId%22%3A1%7D").status ==
        200);
  const HttpClient::Answer like = client.Get(kService + "Like" + query);
  CHECK(like.status == 405);
  CHECK(like.Header("allow") == "POST");
}

TEST_CASE("errors are Connect's, with the details of gRPC") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "1"}});
  HttpClient client(server->http_port());
  const std::string like = R"({"userId":1,"item":{"itemType":"post","itemId":1}})";
  CHECK(CodeOf(client.Post(kService + "Like", "{}")) == "invalid_argument");
  CHECK(CodeOf(client.Post(kService + "Like", "{")) == "invalid_argument");
  CHECK(client.Post(kService + "Nothing", "{}").status == 404);
  CHECK(client.Call("POST", kService + "Like", like, {{"Content-Type", "text/plain"}}).status ==
        415);
  CHECK(CodeOf(client.Call("POST", kService + "Like", like,
                           {{"Content-Type", "application/json"}, {"Content-Encoding", "br"}})) ==
        "unimplemented");
  const HttpClient::Answer late =
      client.Call("POST", kService + "Like", like,
                  {{"Content-Type", "application/json"}, {"Connect-Timeout-Ms", "0"}});
  CHECK(late.status == 504);
  CHECK(CodeOf(late) == "deadline_exceeded");
  CHECK(late.Header("trailer-outcome") == "not-applied");
  CHECK(client.Post(kService + "Like", like).status == 200);
  const HttpClient::Answer limited =
      client.Post(kService + "Like", R"({"userId":1,"item":{"itemType":"post","itemId":2}})");
  CHECK(limited.status == 429);
  CHECK(CodeOf(limited) == "resource_exhausted");
  CHECK_FALSE(limited.Header("retry-after").empty());
  CHECK(json::parse(limited.body).at("details").as_array().size() == 3);
}

TEST_CASE("K30 and K31 by Connect: hostile types are refused, batches keep their places") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  for (const std::string& type : {std::string("a:b"), std::string("x y"), std::string("%s%n%b"),
                                  std::string("post\r\nFLUSHALL\r\n"), std::string("{a}"),
                                  std::string(), std::string(65, 'a')}) {
    for (const char* method : {"Like", "Unlike", "GetCount"}) {
      const std::string body = json::serialize(
          json::object{{"userId", 1}, {"item", json::object{{"itemType", type}, {"itemId", 1}}}});
      CHECK(CodeOf(client.Post(kService + method, body)) == "invalid_argument");
    }
  }
  v1::BatchGetCountsRequest counts;
  CHECK(CallProto(client, "BatchGetCounts", counts).status == 200);
  for (int i = 0; i < 1001; ++i) *counts.add_items() = LikeRequestOf(1, Post(i + 1)).item();
  const HttpClient::Answer above = CallProto(client, "BatchGetCounts", counts);
  CHECK(CodeOf(above) == "invalid_argument");
  for (int i = 0; i < 100'000; ++i) *counts.add_items() = counts.items(0);
  const HttpClient::Answer large = CallProto(client, "BatchGetCounts", counts);
  CHECK(large.status == 413);
  CHECK(CodeOf(large) == "resource_exhausted");
}

}  // namespace
}  // namespace counter::testing
