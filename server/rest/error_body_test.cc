#include "server/rest/error_body.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/error.h"

namespace counter::rest {
namespace {

namespace json = boost::json;

std::string HeaderOf(const http::Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST_CASE("every reason has its HTTP status, and what is not ours is 500 without its text") {
  const auto status_of = [](ErrorReason reason) {
    return ErrorResponse(MakeError(reason, "why")).status;
  };
  CHECK(status_of(ErrorReason::kInvalidRequest) == 400);
  CHECK(status_of(ErrorReason::kRateLimited) == 429);
  CHECK(status_of(ErrorReason::kOverloaded) == 503);
  CHECK(status_of(ErrorReason::kShuttingDown) == 503);
  CHECK(status_of(ErrorReason::kStoreUnavailable) == 503);
  CHECK(status_of(ErrorReason::kDeadlineExceeded) == 504);
  CHECK(status_of(ErrorReason::kCancelled) == 499);
  CHECK(status_of(ErrorReason::kUnimplemented) == 501);
  CHECK(status_of(ErrorReason::kInternal) == 500);
  const http::Response foreign = ErrorResponse(absl::NotFoundError("SELECT secret"));
  CHECK(foreign.status == 500);
  CHECK(foreign.body.find("secret") == std::string::npos);
}

TEST_CASE("an error's details are those of gRPC, its message stands where FastAPI has it") {
  absl::Status error = MakeError(ErrorReason::kRateLimited, "100 likes are used \"up\"");
  SetRetryAfter(error, absl::Milliseconds(12'500));
  SetQuotaViolation(error, {"user:1", "100 likes in 60 s"});
  MarkNotApplied(error);
  const http::Response response = ErrorResponse(error);
  CHECK(HeaderOf(response, "Retry-After") == "13");
  const json::object body = json::parse(response.body).as_object();
  CHECK(body.at("detail") == "100 likes are used \"up\"");
  const json::object& inner = body.at("error").as_object();
  CHECK(inner.at("code") == 429);
  CHECK(inner.at("status") == "RESOURCE_EXHAUSTED");
  const json::array& details = inner.at("details").as_array();
  REQUIRE(details.size() == 3);
  CHECK(details[0] == json::parse(R"({"@type":"type.googleapis.com/google.rpc.ErrorInfo",
      "reason":"RATE_LIMITED","domain":"counter.v1","metadata":{"outcome":"not-applied"}})"));
  CHECK(details[1] == json::parse(R"({"@type":"type.googleapis.com/google.rpc.RetryInfo",
      "retryDelay":"12.5s"})"));
  CHECK(details[2] == json::parse(R"({"@type":"type.googleapis.com/google.rpc.QuotaFailure",
      "violations":[{"subject":"user:1","description":"100 likes in 60 s"}]})"));
}

TEST_CASE("of very many violations the answer shows the first, and how many there are") {
  std::vector<FieldViolation> violations;
  for (int i = 0; i < 1000; ++i) violations.push_back({"field", std::string(100, 'x')});
  const http::Response response = ErrorResponse(MakeInvalidRequest(violations));
  CHECK(response.body.size() < 10'000);
  CHECK(response.body.find("and 950 more") != std::string::npos);
}

TEST_CASE("a refusal of the server has the form of every error") {
  const json::value body = json::parse(RefusalResponse(404, "nothing here").body);
  CHECK(body.at("error").at("code") == 404);
  CHECK(body.at("error").at("status") == "NOT_FOUND");
  CHECK(body.at("detail") == "nothing here");
}

}  // namespace
}  // namespace counter::rest
