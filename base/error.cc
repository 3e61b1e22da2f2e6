#include "base/error.h"

#include <cstdlib>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace counter {
namespace {

constexpr absl::string_view kReasonUrl = "counter/reason";
constexpr absl::string_view kNotAppliedUrl = "counter/not-applied";
constexpr absl::string_view kRetryAfterUrl = "counter/retry-after-ns";
constexpr absl::string_view kFieldViolationsUrl = "counter/field-violations";
constexpr absl::string_view kQuotaViolationUrl = "counter/quota-violation";

absl::StatusCode CodeOf(ErrorReason reason) {
  switch (reason) {
    case ErrorReason::kUnspecified:
      break;
    case ErrorReason::kInvalidRequest:
      return absl::StatusCode::kInvalidArgument;
    case ErrorReason::kRateLimited:
    case ErrorReason::kOverloaded:
      return absl::StatusCode::kResourceExhausted;
    case ErrorReason::kShuttingDown:
    case ErrorReason::kStoreUnavailable:
      return absl::StatusCode::kUnavailable;
    case ErrorReason::kDeadlineExceeded:
      return absl::StatusCode::kDeadlineExceeded;
    case ErrorReason::kCancelled:
      return absl::StatusCode::kCancelled;
    case ErrorReason::kInternal:
      return absl::StatusCode::kInternal;
    case ErrorReason::kUnimplemented:
      return absl::StatusCode::kUnimplemented;
    case ErrorReason::kLikersNotIndexed:
      return absl::StatusCode::kFailedPrecondition;
    case ErrorReason::kResumeOutOfRange:
      return absl::StatusCode::kOutOfRange;
    case ErrorReason::kUnauthenticated:
      return absl::StatusCode::kUnauthenticated;
    case ErrorReason::kCallerNotAllowed:
    case ErrorReason::kUserNotAllowed:
      return absl::StatusCode::kPermissionDenied;
  }
  std::abort();  // An error without a reason is our mistake.
}

// A list of strings, each as "<length>:<bytes>", so that any text survives.
void AppendString(std::string& out, absl::string_view text) {
  absl::StrAppend(&out, text.size(), ":", text);
}

std::vector<std::string> ParseStrings(absl::string_view in) {
  std::vector<std::string> out;
  while (!in.empty()) {
    const size_t colon = in.find(':');
    size_t length = 0;
    if (colon == absl::string_view::npos || !absl::SimpleAtoi(in.substr(0, colon), &length)) break;
    out.emplace_back(in.substr(colon + 1, length));
    in.remove_prefix(std::min(in.size(), colon + 1 + length));
  }
  return out;
}

std::optional<std::string> Payload(const absl::Status& status, absl::string_view url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  if (!payload.has_value()) return std::nullopt;
  return std::string(*payload);
}

}  // namespace

absl::string_view ErrorReasonName(ErrorReason reason) {
  switch (reason) {
    case ErrorReason::kUnspecified:
      return "UNSPECIFIED";
    case ErrorReason::kInvalidRequest:
      return "INVALID_REQUEST";
    case ErrorReason::kRateLimited:
      return "RATE_LIMITED";
    case ErrorReason::kOverloaded:
      return "OVERLOADED";
    case ErrorReason::kShuttingDown:
      return "SHUTTING_DOWN";
    case ErrorReason::kStoreUnavailable:
      return "STORE_UNAVAILABLE";
    case ErrorReason::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case ErrorReason::kCancelled:
      return "CANCELLED";
    case ErrorReason::kInternal:
      return "INTERNAL";
    case ErrorReason::kUnimplemented:
      return "UNIMPLEMENTED";
    case ErrorReason::kLikersNotIndexed:
      return "LIKERS_NOT_INDEXED";
    case ErrorReason::kResumeOutOfRange:
      return "RESUME_OUT_OF_RANGE";
    case ErrorReason::kUnauthenticated:
      return "UNAUTHENTICATED";
    case ErrorReason::kCallerNotAllowed:
      return "CALLER_NOT_ALLOWED";
    case ErrorReason::kUserNotAllowed:
      return "USER_NOT_ALLOWED";
  }
  return "UNSPECIFIED";
}

absl::Status MakeError(ErrorReason reason, absl::string_view message) {
  absl::Status error(CodeOf(reason), message);
  error.SetPayload(kReasonUrl, absl::Cord(absl::StrCat(static_cast<int>(reason))));
  return error;
}

ErrorReason ReasonOf(const absl::Status& status) {
  if (status.ok()) return ErrorReason::kUnspecified;
  const std::optional<std::string> payload = Payload(status, kReasonUrl);
  int reason = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(*payload, &reason)) return ErrorReason::kInternal;
  return static_cast<ErrorReason>(reason);
}

void MarkNotApplied(absl::Status& error) { error.SetPayload(kNotAppliedUrl, absl::Cord("1")); }

void UnmarkNotApplied(absl::Status& error) { error.ErasePayload(kNotAppliedUrl); }

bool IsNotApplied(const absl::Status& error) {
  return error.GetPayload(kNotAppliedUrl).has_value();
}

void SetRetryAfter(absl::Status& error, absl::Duration retry_after) {
  error.SetPayload(kRetryAfterUrl, absl::Cord(absl::StrCat(absl::ToInt64Nanoseconds(retry_after))));
}

std::optional<absl::Duration> RetryAfterOf(const absl::Status& error) {
  const std::optional<std::string> payload = Payload(error, kRetryAfterUrl);
  int64_t nanoseconds = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(*payload, &nanoseconds)) return std::nullopt;
  return absl::Nanoseconds(nanoseconds);
}

absl::Status MakeInvalidRequest(const std::vector<FieldViolation>& violations) {
  std::string message;
  std::string payload;
  for (const FieldViolation& violation : violations) {
    // The message names the first few; the payload has all of them.
    constexpr size_t kMessageBytesMax = 512;
    if (message.size() < kMessageBytesMax) {
      absl::StrAppend(&message, message.empty() ? "" : "; ", violation.field, ": ",
                      violation.description);
    }
    AppendString(payload, violation.field);
    AppendString(payload, violation.description);
  }
  absl::Status error = MakeError(ErrorReason::kInvalidRequest, message);
  error.SetPayload(kFieldViolationsUrl, absl::Cord(payload));
  MarkNotApplied(error);
  return error;
}

std::vector<FieldViolation> FieldViolationsOf(const absl::Status& error) {
  const std::vector<std::string> strings =
      ParseStrings(Payload(error, kFieldViolationsUrl).value_or(""));
  std::vector<FieldViolation> violations;
  for (size_t i = 0; i + 1 < strings.size(); i += 2)
    violations.push_back({strings[i], strings[i + 1]});
  return violations;
}

void SetQuotaViolation(absl::Status& error, const QuotaViolation& violation) {
  std::string payload;
  AppendString(payload, violation.subject);
  AppendString(payload, violation.description);
  error.SetPayload(kQuotaViolationUrl, absl::Cord(payload));
}

std::optional<QuotaViolation> QuotaViolationOf(const absl::Status& error) {
  const std::vector<std::string> strings =
      ParseStrings(Payload(error, kQuotaViolationUrl).value_or(""));
  if (strings.size() != 2) return std::nullopt;
  return QuotaViolation{strings[0], strings[1]};
}

}  // namespace counter
