// ListLikes and ListLikers on the real server: over gRPC, REST and Connect, the same pages.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/fixture.h"
#include "tests/support/http_client.h"

namespace counter::testing {
namespace {

namespace json = boost::json;

struct Served {
  explicit Served(const Settings& settings = {}) : server(StartServer(settings)) {}

  std::unique_ptr<CounterServer> server;
  Client client = ConnectTo(*server);
  HttpClient http{server->http_port()};
  std::unique_ptr<v1::CounterService::Stub> stub = v1::CounterService::NewStub(ChannelTo(*server));
};

v1::ListLikesRequest LikesRequest(int64_t user, int page_size, const std::string& token = "",
                                  const std::vector<std::string>& types = {}) {
  v1::ListLikesRequest request;
  request.set_user_id(user);
  for (const std::string& type : types) request.add_item_types(type);
  request.set_page_size(page_size);
  request.set_page_token(token);
  return request;
}

std::vector<std::string> PagedLikes(v1::CounterService::Stub& stub, int64_t user, int page_size,
                                    const std::vector<std::string>& types = {}) {
  std::vector<std::string> items;
  std::string token;
  do {
    grpc::ClientContext context;
    v1::ListLikesResponse response;
    const grpc::Status status =
        stub.ListLikes(&context, LikesRequest(user, page_size, token, types), &response);
    INFO(status.error_message());
    REQUIRE(status.ok());
    for (const v1::LikedItem& like : response.likes()) {
      CHECK(like.liked_at().seconds() > 1'700'000'000);
      items.push_back(absl::StrCat(like.item().item_type(), ":", like.item().item_id()));
    }
    token = response.next_page_token();
  } while (!token.empty());
  return items;
}

std::string ReasonOf(const HttpClient::Answer& answer) {
  const json::value body = json::parse(answer.body);
  return json::value_to<std::string>(body.at("error").at("details").as_array().at(0).at("reason"));
}

TEST_CASE("the pages of a list hold each of 250 likes once, newest second first") {
  Served served;
  std::vector<client::Mutation> mutations;
  std::set<std::string> expected;
  for (int64_t id = 1; id <= 250; ++id) {
    const std::string type = id % 2 == 0 ? "post" : "reel";
    mutations.push_back({7, {type, id}, client::Action::kLike});
    expected.insert(absl::StrCat(type, ":", id));
  }
  REQUIRE(served.client.WriteLikes(mutations).ok());
  const std::vector<std::string> all = PagedLikes(*served.stub, 7, 0);
  CHECK(all.size() == expected.size());
  CHECK(std::set<std::string>(all.begin(), all.end()) == expected);
  CHECK(PagedLikes(*served.stub, 7, 7) == all);
  CHECK(PagedLikes(*served.stub, 7, 7, {"post"}).size() == 125);
  CHECK(PagedLikes(*served.stub, 8, 7).empty());
}

TEST_CASE("a like shows in the list as soon as it is acknowledged, an unlike takes it out") {
  Served served;
  for (int round = 0; round < 20; ++round) {
    REQUIRE(served.client.Like(1, Post(1)).ok());
    CHECK(PagedLikes(*served.stub, 1, 10) == std::vector<std::string>{"post:1"});
    REQUIRE(served.client.Unlike(1, Post(1)).ok());
    CHECK(PagedLikes(*served.stub, 1, 10).empty());
  }
}

TEST_CASE("a wrong list over gRPC is INVALID_ARGUMENT with every field, and no call to the store") {
  Served served;
  grpc::ClientContext context;
  v1::ListLikesResponse response;
  const grpc::Status status =
      served.stub->ListLikes(&context, LikesRequest(0, 1001, "x", {"nothing"}), &response);
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
  for (const char* field : {"user_id", "item_types[0]", "page_size"}) {
    CHECK(status.error_details().find(field) != std::string::npos);
  }
  CHECK(MetricOf(*served.server, "grpc_server_handled_total",
                 {{"grpc_method", "ListLikes"}, {"grpc_code", "InvalidArgument"}}) == 1);
}

TEST_CASE("without LIKERS_INDEX likers are refused as FAILED_PRECONDITION on every way in") {
  Served served;
  REQUIRE(served.client.Like(1, Post(456)).ok());
  grpc::ClientContext context;
  v1::ListLikersRequest request;
  request.mutable_item()->set_item_type("post");
  request.mutable_item()->set_item_id(456);
  v1::ListLikersResponse response;
  const grpc::Status status = served.stub->ListLikers(&context, request, &response);
  CHECK(status.error_code() == grpc::FAILED_PRECONDITION);
  CHECK(status.error_details().find("LIKERS_NOT_INDEXED") != std::string::npos);

  const auto rest = served.http.Get("/v1/likers?item_id=456");
  CHECK(rest.status == 400);
  CHECK(ReasonOf(rest) == "LIKERS_NOT_INDEXED");
  const auto connect = served.http.Post("/counter.v1.CounterService/ListLikers",
                                        R"({"item": {"itemType": "post", "itemId": "456"}})");
  CHECK(connect.status == 400);
  CHECK(json::parse(connect.body).at("code") == "failed_precondition");
}

TEST_CASE("with LIKERS_INDEX the likers of an item are listed, page by page") {
  Served indexed(Settings{{"LIKERS_INDEX", "true"}});
  REQUIRE(indexed.client.Like(1, Post(456)).ok());
  REQUIRE(indexed.client.Like(2, Post(456)).ok());
  const auto page = indexed.http.Get("/v1/likers?item_id=456&page_size=1");
  REQUIRE(page.status == 200);
  const json::object first = json::parse(page.body).as_object();
  CHECK(first.at("likers").as_array().size() == 1);
  const std::string token = json::value_to<std::string>(first.at("next_page_token"));
  const auto last =
      indexed.http.Get(absl::StrCat("/v1/likers?item_id=456&page_size=1&page_token=", token));
  REQUIRE(last.status == 200);
  const json::object second = json::parse(last.body).as_object();
  CHECK(second.at("next_page_token") == "");
  CHECK(first.at("likers").at(0).at("user_id") != second.at("likers").at(0).at("user_id"));
}

TEST_CASE(
    "REST lists items of the types that were asked for, with a token that REST and gRPC share") {
  Served served;
  REQUIRE(served.client.Like(1, {"post", 1}).ok());
  REQUIRE(served.client.Like(1, {"reel", 2}).ok());
  REQUIRE(served.client.Like(1, {"comment", 3}).ok());
  const auto page = served.http.Get("/v1/likes?user_id=1&item_types=reel,comment&page_size=1");
  REQUIRE(page.status == 200);
  const json::object body = json::parse(page.body).as_object();
  REQUIRE(body.at("likes").as_array().size() == 1);
  const std::string token = json::value_to<std::string>(body.at("next_page_token"));
  grpc::ClientContext context;
  v1::ListLikesResponse rest_of_it;
  REQUIRE(
      served.stub->ListLikes(&context, LikesRequest(1, 10, token, {"comment", "reel"}), &rest_of_it)
          .ok());
  CHECK(rest_of_it.likes_size() == 1);
  CHECK(rest_of_it.next_page_token().empty());

  const auto connect =
      served.http.Post("/counter.v1.CounterService/ListLikes", R"({"userId": "1", "pageSize": 2})");
  REQUIRE(connect.status == 200);
  CHECK(json::parse(connect.body).at("likes").as_array().size() == 2);
}

TEST_CASE("a wrong list over REST names all its fields") {
  Served served;
  const auto answer =
      served.http.Get("/v1/likes?user_id=0&item_types=post,nothing&page_size=many&page_token=x");
  CHECK(answer.status == 400);
  for (const char* field : {"\"user_id\"", "\"item_types[1]\"", "\"page_size\""}) {
    CHECK(answer.body.find(field) != std::string::npos);
  }
  CHECK(served.http.Get("/v1/likes?user_id=1&page_size=1001").status == 400);
  CHECK(served.http.Get("/v1/likes?user_id=1&page_token=garbage").status == 400);
  CHECK(served.http.Get("/v1/likes?user_id=1&page_size=1000").status == 200);
}

}  // namespace
}  // namespace counter::testing
