#include "server/rest/error_body.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"

namespace counter::rest {
namespace {

namespace json = boost::json;

constexpr char kTypePrefix[] = "type.googleapis.com/google.rpc.";
constexpr char kErrorDomain[] = "counter.v1";
// So that an answer stays small whatever came.
constexpr size_t kFieldViolationsMax = 50;

json::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

json::object Detail(const char* type) {
  json::object detail;
  detail["@type"] = absl::StrCat(kTypePrefix, type);
  return detail;
}

json::object ErrorInfo(const absl::Status& error) {
  json::object info = Detail("ErrorInfo");
  info["reason"] = View(ErrorReasonName(ReasonOf(error)));
  info["domain"] = kErrorDomain;
  if (IsNotApplied(error)) info["metadata"] = json::object{{"outcome", "not-applied"}};
  return info;
}

json::object BadRequest(const std::vector<FieldViolation>& violations) {
  json::array shown;
  for (size_t i = 0; i < std::min(violations.size(), kFieldViolationsMax); ++i) {
    shown.push_back(
        json::object{{"field", violations[i].field}, {"description", violations[i].description}});
  }
  if (violations.size() > kFieldViolationsMax) {
    shown.push_back(
        json::object{{"field", ""},
                     {"description", absl::StrCat("and ", violations.size() - kFieldViolationsMax,
                                                  " more that are not shown")}});
  }
  json::object detail = Detail("BadRequest");
  detail["fieldViolations"] = std::move(shown);
  return detail;
}

json::object RetryInfo(absl::Duration retry_after) {
  json::object detail = Detail("RetryInfo");
  detail["retryDelay"] = absl::StrCat(absl::ToDoubleSeconds(retry_after), "s");
  return detail;
}

json::object QuotaFailure(const QuotaViolation& violation) {
  json::object detail = Detail("QuotaFailure");
  detail["violations"] = json::array{
      json::object{{"subject", violation.subject}, {"description", violation.description}}};
  return detail;
}

json::array Details(const absl::Status& error) {
  json::array details;
  details.push_back(ErrorInfo(error));
  const std::vector<FieldViolation> violations = FieldViolationsOf(error);
  if (!violations.empty()) details.push_back(BadRequest(violations));
  if (const auto after = RetryAfterOf(error)) details.push_back(RetryInfo(*after));
  if (const auto quota = QuotaViolationOf(error)) details.push_back(QuotaFailure(*quota));
  return details;
}

std::string Body(int code, absl::string_view status, absl::string_view message,
                 json::array details) {
  json::object error;
  error["code"] = code;
  error["status"] = View(status);
  error["message"] = View(message);
  error["details"] = std::move(details);
  json::object body;
  body["error"] = std::move(error);
  body["detail"] = View(message);
  return json::serialize(body);
}

http::Response JsonResponse(int status, std::string body) {
  http::Response response;
  response.status = status;
  response.content_type = kJsonType;
  response.body = std::move(body);
  return response;
}

}  // namespace

int HttpStatusOf(const absl::Status& error) {
  switch (ReasonOf(error)) {
    case ErrorReason::kInvalidRequest:
    case ErrorReason::kLikersNotIndexed:
    case ErrorReason::kResumeOutOfRange:
      return 400;
    case ErrorReason::kUnauthenticated:
      return 401;
    case ErrorReason::kCallerNotAllowed:
    case ErrorReason::kUserNotAllowed:
      return 403;
    case ErrorReason::kRateLimited:
      return 429;
    case ErrorReason::kOverloaded:
    case ErrorReason::kShuttingDown:
    case ErrorReason::kStoreUnavailable:
      return 503;
    case ErrorReason::kDeadlineExceeded:
      return 504;
    case ErrorReason::kCancelled:
      return 499;
    case ErrorReason::kUnimplemented:
      return 501;
    case ErrorReason::kUnspecified:
    case ErrorReason::kInternal:
      return 500;
  }
  return 500;
}

void AddRetryAfter(const absl::Status& error, http::Response& response) {
  const std::optional<absl::Duration> after = RetryAfterOf(error);
  if (!after.has_value()) return;
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(*after, absl::Seconds(1)));
  response.headers.emplace_back("Retry-After", absl::StrCat(std::max<int64_t>(seconds, 1)));
}

void AddChallenge(const absl::Status& error, http::Response& response) {
  if (ReasonOf(error) != ErrorReason::kUnauthenticated) return;
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"counter\"");
}

std::string ErrorBody(const absl::Status& error) {
  const bool is_ours = ReasonOf(error) != ErrorReason::kInternal;
  return Body(
      HttpStatusOf(error),
      absl::StatusCodeToString(is_ours ? error.code() : absl::StatusCode::kInternal),
      is_ours ? error.message() : "internal error; report it with the x-request-id of this call",
      Details(error));
}

http::Response ErrorResponse(const absl::Status& error) {
  http::Response response = JsonResponse(HttpStatusOf(error), ErrorBody(error));
  AddRetryAfter(error, response);
  AddChallenge(error, response);
  return response;
}

http::Response RefusalResponse(int status, const std::string& why) {
  ErrorReason reason = ErrorReason::kInvalidRequest;
  if (status == 404 || status == 405) reason = ErrorReason::kUnimplemented;
  if (status == 503) reason = ErrorReason::kOverloaded;
  absl::Status error = MakeError(reason, why);
  MarkNotApplied(error);
  const absl::StatusCode code = status == 404 ? absl::StatusCode::kNotFound : error.code();
  return JsonResponse(status, Body(status, absl::StatusCodeToString(code), why, Details(error)));
}

}  // namespace counter::rest
