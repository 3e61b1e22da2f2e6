#include "tests/integration/rest_calls.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"

namespace counter::testing {

namespace json = boost::json;

std::string LikeBody(int64_t user, int64_t item, absl::string_view type) {
  return json::serialize(json::object{{"user_id", user},
                                      {"item_id", item},
                                      {"item_type", json::string_view(type.data(), type.size())}});
}

json::object MutationOf(int64_t user, int64_t item, const char* action) {
  return {{"user_id", user}, {"item_id", item}, {"action", action}};
}

std::string MutationsBody(const json::array& mutations) {
  return json::serialize(json::object{{"mutations", mutations}});
}

std::string Escaped(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    absl::StrAppend(&escaped, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
  }
  return escaped;
}

std::string IdList(int n) {
  std::string list;
  for (int i = 0; i < n; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", i + 1);
  return list;
}

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

Fields FieldsOf(const HttpClient::Answer& answer) {
  CAPTURE(answer.status, answer.body.substr(0, 300));
  REQUIRE(answer.status == 400);
  REQUIRE(ReasonOf(answer) == "INVALID_REQUEST");
  REQUIRE(answer.body.size() < 20'000);
  Fields fields;
  const json::value body = json::parse(answer.body);
  for (const json::value& violation :
       body.at("error").at("details").as_array().at(1).at("fieldViolations").as_array()) {
    REQUIRE_FALSE(violation.at("description").as_string().empty());
    fields.insert(json::value_to<std::string>(violation.at("field")));
  }
  return fields;
}

void RequireRefusedEverywhere(HttpClient& client, const std::string& type) {
  CAPTURE(type);
  const json::string text(type);
  const json::object like = {{"user_id", 1}, {"item_id", 1}, {"item_type", text}};
  const json::array ids = {1};
  const auto in_body = [&](const char* method, const char* path, const json::object& body) {
    return FieldsOf(client.Call(method, path, json::serialize(body)));
  };
  const Fields item_type = {"item_type"};
  CHECK(in_body("POST", "/v1/like", like) == item_type);
  CHECK(in_body("POST", "/v1/unlike", like) == item_type);
  CHECK(in_body("DELETE", "/v1/like", like) == item_type);
  CHECK(in_body("POST", "/v1/counts", {{"items", {like}}}) == Fields{"items[0].item_type"});
  CHECK(in_body("POST", "/v1/has_liked",
                {{"user_id", 1}, {"item_ids", ids}, {"item_type", text}}) == item_type);
  for (const char* query :
       {"/v1/count?item_id=1", "/v1/counts?item_ids=1", "/v1/has_liked?user_id=1&item_ids=1"}) {
    CHECK(FieldsOf(client.Get(absl::StrCat(query, "&item_type=", Escaped(type)))) == item_type);
  }
  json::object mutation = MutationOf(1, 1, "like");
  mutation["item_type"] = text;
  const HttpClient::Answer written = client.Post("/v1/write_likes", MutationsBody({mutation}));
  CHECK(written.body.find("mutations[0].item_type") != std::string::npos);

  const json::object item = {{"itemType", text}, {"itemId", 1}};
  const auto code = [&](const char* method, const json::object& message) {
    const HttpClient::Answer answer =
        client.Post(absl::StrCat("/counter.v1.CounterService/", method), json::serialize(message));
    return json::parse(answer.body).at("code");
  };
  for (const char* method : {"Like", "Unlike"}) {
    CHECK(code(method, {{"userId", 1}, {"item", item}}) == "invalid_argument");
  }
  CHECK(code("GetCount", {{"item", item}}) == "invalid_argument");
  CHECK(code("BatchGetCounts", {{"items", {item}}}) == "invalid_argument");
  CHECK(code("HasLiked", {{"userId", 1}, {"items", {item}}}) == "invalid_argument");
}

}  // namespace counter::testing
