#include "server/status.h"

#include <google/rpc/error_details.pb.h>

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "proto/counter/v1/error_reason.pb.h"

namespace counter {
namespace {

template <class Detail>
std::optional<Detail> DetailOf(const google::rpc::Status& status) {
  for (const google::protobuf::Any& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

TEST_CASE("the reasons of the product and of the protocol are the same, name for name") {
  const google::protobuf::EnumDescriptor* reasons = v1::ErrorReason_descriptor();
  for (int i = 0; i < reasons->value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* value = reasons->value(i);
    const ErrorReason reason = static_cast<ErrorReason>(value->number());
    CHECK("ERROR_REASON_" + std::string(ErrorReasonName(reason)) == value->name());
  }
  // One past the last has no name of its own.
  CHECK(ErrorReasonName(static_cast<ErrorReason>(reasons->value_count())) == "UNSPECIFIED");
}

TEST_CASE("every error carries its reason in the domain of the protocol") {
  const absl::Status error = MakeError(ErrorReason::kStoreUnavailable, "try again");
  const google::rpc::Status status = ToRpcStatus(error);
  CHECK(status.code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.message() == "try again");
  const auto info = DetailOf<google::rpc::ErrorInfo>(status);
  REQUIRE(info.has_value());
  CHECK(info->reason() == "STORE_UNAVAILABLE");
  CHECK(info->domain() == "counter.v1");
  CHECK(info->metadata().empty());
}

TEST_CASE("an error that no room of ours made goes out as INTERNAL without its text") {
  const google::rpc::Status status =
      ToRpcStatus(absl::NotFoundError("/var/lib/secret.db is not there"));
  CHECK(status.code() == grpc::StatusCode::INTERNAL);
  CHECK(status.message().find("secret") == std::string::npos);
  CHECK(DetailOf<google::rpc::ErrorInfo>(status)->reason() == "INTERNAL");
}

TEST_CASE("an error that was certainly not applied says so") {
  absl::Status error = MakeError(ErrorReason::kOverloaded, "x");
  MarkNotApplied(error);
  const auto info = DetailOf<google::rpc::ErrorInfo>(ToRpcStatus(error));
  CHECK(info->metadata().at("outcome") == "not-applied");
}

TEST_CASE("field violations, retry hint and quota go out as their details") {
  const google::rpc::Status invalid =
      ToRpcStatus(MakeInvalidRequest({{"user_id", "a"}, {"item.item_id", "b"}}));
  const auto bad_request = DetailOf<google::rpc::BadRequest>(invalid);
  REQUIRE(bad_request.has_value());
  REQUIRE(bad_request->field_violations_size() == 2);
  CHECK(bad_request->field_violations(1).field() == "item.item_id");
  CHECK(bad_request->field_violations(1).description() == "b");

  absl::Status limited = MakeError(ErrorReason::kRateLimited, "x");
  SetRetryAfter(limited, absl::Milliseconds(2500));
  SetQuotaViolation(limited, {"user:1", "100 likes a window"});
  const auto retry = DetailOf<google::rpc::RetryInfo>(ToRpcStatus(limited));
  REQUIRE(retry.has_value());
  CHECK(retry->retry_delay().seconds() == 2);
  CHECK(retry->retry_delay().nanos() == 500'000'000);
  const auto quota = DetailOf<google::rpc::QuotaFailure>(ToRpcStatus(limited));
  REQUIRE(quota.has_value());
  CHECK(quota->violations(0).subject() == "user:1");
}

TEST_CASE("a thousand field violations still fit the metadata that clients accept") {
  std::vector<FieldViolation> violations;
  for (int i = 0; i < 1000; ++i) {
    violations.push_back({"items[" + std::to_string(i) + "].item_id", std::string(60, 'x')});
  }
  const grpc::Status status = ToGrpcStatus(MakeInvalidRequest(violations));
  // Base64 makes four bytes of three.
  CHECK(status.error_details().size() * 4 / 3 + status.error_message().size() < 8192);
  google::rpc::Status rpc_status;
  REQUIRE(rpc_status.ParseFromString(status.error_details()));
  const auto bad_request = DetailOf<google::rpc::BadRequest>(rpc_status);
  REQUIRE(bad_request->field_violations_size() > 10);
  const auto& last = bad_request->field_violations(bad_request->field_violations_size() - 1);
  CHECK(last.description() ==
        "and " + std::to_string(1000 - (bad_request->field_violations_size() - 1)) +
            " more that are not shown");
}

TEST_CASE("OK stays OK") { CHECK(ToGrpcStatus(absl::OkStatus()).ok()); }

}  // namespace
}  // namespace counter
