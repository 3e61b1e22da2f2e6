#include "clients/cpp/error_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"

namespace counter::client {
namespace {

constexpr char kDomain[] = "counter.v1";

ErrorKind KindOfCode(int code) {
  switch (code) {
    case grpc::INVALID_ARGUMENT:
      return ErrorKind::kInvalidArgument;
    case grpc::RESOURCE_EXHAUSTED:
      return ErrorKind::kResourceExhausted;
    case grpc::UNAVAILABLE:
      return ErrorKind::kUnavailable;
    case grpc::DEADLINE_EXCEEDED:
      return ErrorKind::kDeadlineExceeded;
    case grpc::CANCELLED:
      return ErrorKind::kCancelled;
    case grpc::UNIMPLEMENTED:
      return ErrorKind::kUnimplemented;
    case grpc::FAILED_PRECONDITION:
      return ErrorKind::kFailedPrecondition;
    case grpc::OUT_OF_RANGE:
      return ErrorKind::kOutOfRange;
    case grpc::NOT_FOUND:
      return ErrorKind::kNotFound;
    case grpc::UNAUTHENTICATED:
      return ErrorKind::kUnauthenticated;
    case grpc::PERMISSION_DENIED:
      return ErrorKind::kPermissionDenied;
    default:
      return ErrorKind::kInternal;
  }
}

// The reason tells apart what shares a code.
ErrorKind KindOf(int code, const std::string& reason) {
  if (reason == "RATE_LIMITED") return ErrorKind::kRateLimited;
  if (reason == "OVERLOADED") return ErrorKind::kOverloaded;
  return KindOfCode(code);
}

void TakeDetail(const google::protobuf::Any& any, Error& error) {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  google::rpc::RetryInfo retry;
  google::rpc::QuotaFailure quota;
  if (any.UnpackTo(&info)) {
    if (info.domain() != kDomain) return;
    error.reason = info.reason();
    const auto outcome = info.metadata().find("outcome");
    if (outcome != info.metadata().end() && outcome->second == "not-applied")
      error.not_applied = true;
  } else if (any.UnpackTo(&bad_request)) {
    for (const auto& violation : bad_request.field_violations())
      error.violations.push_back({violation.field(), violation.description()});
  } else if (any.UnpackTo(&retry)) {
    error.retry_after = absl::Seconds(retry.retry_delay().seconds()) +
                        absl::Nanoseconds(retry.retry_delay().nanos());
  } else if (any.UnpackTo(&quota) && quota.violations_size() > 0) {
    error.quota = QuotaViolation{quota.violations(0).subject(), quota.violations(0).description()};
  }
}

}  // namespace

Error DecodeError(const google::rpc::Status& status, std::string request_id) {
  Error error;
  error.grpc_code = status.code();
  error.message = status.message();
  error.request_id = std::move(request_id);
  for (const google::protobuf::Any& any : status.details()) TakeDetail(any, error);
  error.kind = KindOf(error.grpc_code, error.reason);
  return error;
}

Error DecodeError(const grpc::Status& status, bool not_applied, std::string request_id) {
  google::rpc::Status decoded;
  // Details that cannot be read are as good as none; code and message are always the call's own.
  if (!decoded.ParseFromString(status.error_details())) decoded.Clear();
  decoded.set_code(status.error_code());
  decoded.set_message(status.error_message());
  Error error = DecodeError(decoded, std::move(request_id));
  error.not_applied = not_applied;
  return error;
}

const char* ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case ErrorKind::kRateLimited:
      return "RATE_LIMITED";
    case ErrorKind::kOverloaded:
      return "OVERLOADED";
    case ErrorKind::kUnavailable:
      return "UNAVAILABLE";
    case ErrorKind::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case ErrorKind::kCancelled:
      return "CANCELLED";
    case ErrorKind::kUnimplemented:
      return "UNIMPLEMENTED";
    case ErrorKind::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case ErrorKind::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case ErrorKind::kOutOfRange:
      return "OUT_OF_RANGE";
    case ErrorKind::kNotFound:
      return "NOT_FOUND";
    case ErrorKind::kUnauthenticated:
      return "UNAUTHENTICATED";
    case ErrorKind::kPermissionDenied:
      return "PERMISSION_DENIED";
    case ErrorKind::kInternal:
      return "INTERNAL";
  }
  return "INTERNAL";
}

std::string Error::ToString() const {
  std::string text = absl::StrCat(ErrorKindName(kind), ": ", message);
  if (retry_after.has_value())
    absl::StrAppend(&text, "; retry after ", absl::FormatDuration(*retry_after));
  if (not_applied) absl::StrAppend(&text, "; not applied");
  if (!request_id.empty()) absl::StrAppend(&text, " (request ", request_id, ")");
  return text;
}

}  // namespace counter::client
