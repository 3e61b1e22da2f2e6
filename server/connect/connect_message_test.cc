#include "server/connect/connect_message.h"

#include <google/rpc/error_details.pb.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/escaping.h"
#include "base/error.h"
#include "proto/counter/v1/counter.pb.h"

namespace counter {
namespace {

namespace json = boost::json;

http::Request PostOf(const std::string& type, const std::string& body,
                     const http::Headers& headers = {}) {
  http::Request request;
  request.method = "POST";
  request.headers = headers;
  if (!type.empty()) request.headers.emplace_back("Content-Type", type);
  request.body = body;
  return request;
}

http::Request GetOf(const std::string& query) {
  http::Request request;
  request.method = "GET";
  request.query = query;
  return request;
}

std::string HeaderOf(const http::Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

v1::LikeRequest LikeOf(int64_t user, int64_t item) {
  v1::LikeRequest request;
  request.set_user_id(user);
  request.mutable_item()->set_item_type("post");
  request.mutable_item()->set_item_id(item);
  return request;
}

TEST_CASE("a message comes as JSON or as protobuf, and goes back the same way") {
  const v1::LikeRequest like = LikeOf(9223372036854775807, 456);
  for (
      const auto& [type, body] :
      {std::pair<std::string, std::string>{"application/proto", like.SerializeAsString()},
       {"application/json; charset=utf-8",
        R"({"userId":"9223372036854775807","item":{"itemType":"post","itemId":456},"more":[1]})"}}) {
    CAPTURE(type);
    const auto message =
        ReadConnectMessage(PostOf(type, body, {{"Connect-Protocol-Version", "1"}}));
    REQUIRE(message.ok());
    v1::LikeRequest parsed;
    REQUIRE(ParseConnectMessage(*message, parsed).ok());
    CHECK(parsed.SerializeAsString() == like.SerializeAsString());
    const http::Response response = ConnectResponse(message->codec, parsed);
    CHECK(response.status == 200);
    CHECK(response.content_type == type.substr(0, type.find(';')));
  }
}

TEST_CASE("a GET carries its message in the query, plain or as base64") {
  const auto plain = ReadConnectMessage(GetOf("connect=v1&encoding=json&message=%7B%7D"));
  REQUIRE(plain.ok());
  CHECK(plain->codec == ConnectCodec::kJson);
  CHECK(plain->bytes == "{}");
  const std::string bytes = LikeOf(255, 1023).SerializeAsString();
  std::string unpadded = absl::WebSafeBase64Escape(bytes);
  for (const std::string& text : {absl::Base64Escape(bytes), unpadded}) {
    std::string escaped;
    for (const char c : text) escaped += c == '+' ? "%2B" : std::string(1, c);
    const auto coded =
        ReadConnectMessage(GetOf("connect=v1&encoding=proto&base64=1&message=" + escaped));
    REQUIRE(coded.ok());
    CHECK(coded->bytes == bytes);
  }
  CHECK(ReasonOf(ReadConnectMessage(GetOf("encoding=proto&base64=1&message=!!")).status()) ==
        ErrorReason::kInvalidRequest);
}

TEST_CASE("what is no message of Connect is refused as the protocol says") {
  for (const char* type : {"", "text/plain", "application/grpc", "application/connect+json"}) {
    const http::Response response = ConnectRefusal(ReadConnectMessage(PostOf(type, "{}")).status());
    CHECK(response.status == 415);
    CHECK(HeaderOf(response, "Accept-Post") == "application/json, application/proto");
  }
  CHECK(ConnectRefusal(ReadConnectMessage(GetOf("message={}")).status()).status == 415);
  const auto code_of = [](const http::Request& request) {
    const http::Response response = ConnectRefusal(ReadConnectMessage(request).status());
    return json::value_to<std::string>(json::parse(response.body).at("code"));
  };
  CHECK(code_of(PostOf("application/json", "x", {{"Content-Encoding", "gzip"}})) ==
        "unimplemented");
  CHECK(code_of(GetOf("encoding=json&compression=gzip&message={}")) == "unimplemented");
  CHECK(code_of(PostOf("application/json", "{}", {{"Connect-Protocol-Version", "2"}})) ==
        "invalid_argument");
  CHECK(code_of(GetOf("connect=v2&encoding=json&message={}")) == "invalid_argument");
  CHECK(ReadConnectMessage(PostOf("application/json", "{}", {{"Content-Encoding", "identity"}}))
            .ok());
}

TEST_CASE("bytes that are no message of the method are an invalid argument") {
  v1::LikeRequest into;
  for (const char* bytes : {"", "{", "[]", "{\"userId\":\"x\"}", "{\"userId\":9223372036854775808}",
                            "{\"userId\":1.5}", "\xff"}) {
    CAPTURE(bytes);
    const absl::Status error = ParseConnectMessage({ConnectCodec::kJson, bytes}, into);
    CHECK(ReasonOf(error) == ErrorReason::kInvalidRequest);
    CHECK(IsNotApplied(error));
  }
  CHECK_FALSE(ParseConnectMessage({ConnectCodec::kJson, std::string(200'000, '[')}, into).ok());
  CHECK_FALSE(ParseConnectMessage({ConnectCodec::kProto, "\xff\xff"}, into).ok());
}

TEST_CASE("an error has Connect's code, the details of gRPC, and its trailer as a header") {
  absl::Status error = MakeError(ErrorReason::kRateLimited, "too many");
  SetRetryAfter(error, absl::Seconds(7));
  MarkNotApplied(error);
  const http::Response response = ConnectError(error);
  CHECK(response.status == 429);
  CHECK(response.content_type == "application/json");
  CHECK(HeaderOf(response, "Retry-After") == "7");
  CHECK(HeaderOf(response, "Trailer-Outcome") == "not-applied");
  const json::value body = json::parse(response.body);
  CHECK(body.at("code") == "resource_exhausted");
  CHECK(body.at("message") == "too many");
  const json::value& detail = body.at("details").at(0);
  CHECK(detail.at("type") == "google.rpc.ErrorInfo");
  const std::string value = json::value_to<std::string>(detail.at("value"));
  CHECK(value.find('=') == std::string::npos);
  std::string bytes;
  REQUIRE(absl::Base64Unescape(value, &bytes));
  google::rpc::ErrorInfo info;
  REQUIRE(info.ParseFromString(bytes));
  CHECK(info.reason() == "RATE_LIMITED");
  CHECK(ConnectError(MakeError(ErrorReason::kCancelled, "x")).status == 499);
  CHECK(json::parse(ConnectError(MakeError(ErrorReason::kCancelled, "x")).body).at("code") ==
        "canceled");
  CHECK(ConnectError(absl::InternalError("SELECT secret")).body.find("secret") ==
        std::string::npos);
}

}  // namespace
}  // namespace counter
