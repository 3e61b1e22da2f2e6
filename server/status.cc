#include "server/status.h"

#include <google/rpc/error_details.pb.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"

namespace counter {
namespace {

void AddErrorInfo(const absl::Status& error, google::rpc::Status& out) {
  google::rpc::ErrorInfo info;
  const absl::string_view reason = ErrorReasonName(ReasonOf(error));
  info.set_reason(reason.data(), reason.size());
  info.set_domain(kErrorDomain);
  if (IsNotApplied(error)) (*info.mutable_metadata())[kOutcomeKey] = kOutcomeNotApplied;
  out.add_details()->PackFrom(info);
}

void AddBadRequest(const std::vector<FieldViolation>& violations, google::rpc::Status& out) {
  if (violations.empty()) return;
  google::rpc::BadRequest bad_request;
  size_t bytes = 0;
  size_t shown = 0;
  for (const FieldViolation& violation : violations) {
    bytes += violation.field.size() + violation.description.size();
    if (shown > 0 && bytes > kFieldViolationBytesMax) break;
    google::rpc::BadRequest::FieldViolation* added = bad_request.add_field_violations();
    added->set_field(violation.field);
    added->set_description(violation.description);
    ++shown;
  }
  if (shown < violations.size()) {
    bad_request.add_field_violations()->set_description(
        absl::StrCat("and ", violations.size() - shown, " more that are not shown"));
  }
  out.add_details()->PackFrom(bad_request);
}

void AddRetryInfo(std::optional<absl::Duration> retry_after, google::rpc::Status& out) {
  if (!retry_after.has_value()) return;
  google::rpc::RetryInfo retry_info;
  absl::Duration rest;
  const int64_t seconds = absl::IDivDuration(*retry_after, absl::Seconds(1), &rest);
  retry_info.mutable_retry_delay()->set_seconds(seconds);
  retry_info.mutable_retry_delay()->set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
  out.add_details()->PackFrom(retry_info);
}

void AddQuotaFailure(const std::optional<QuotaViolation>& violation, google::rpc::Status& out) {
  if (!violation.has_value()) return;
  google::rpc::QuotaFailure quota_failure;
  google::rpc::QuotaFailure::Violation* added = quota_failure.add_violations();
  added->set_subject(violation->subject);
  added->set_description(violation->description);
  out.add_details()->PackFrom(quota_failure);
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& error) {
  google::rpc::Status out;
  const bool is_ours = ReasonOf(error) != ErrorReason::kInternal;
  out.set_code(static_cast<int>(is_ours ? error.code() : absl::StatusCode::kInternal));
  out.set_message(is_ours ? std::string(error.message())
                          : "internal error; report it with the x-request-id of this call");
  AddErrorInfo(error, out);
  AddBadRequest(FieldViolationsOf(error), out);
  AddRetryInfo(RetryAfterOf(error), out);
  AddQuotaFailure(QuotaViolationOf(error), out);
  return out;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status rpc_status = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(rpc_status.code()), rpc_status.message(),
                      rpc_status.SerializeAsString());
}

}  // namespace counter
