#include "base/error.h"

#include <catch2/catch.hpp>

namespace counter {
namespace {

TEST_CASE("an error has the canonical code of its reason") {
  const absl::Status error = MakeError(ErrorReason::kStoreUnavailable, "try again");
  CHECK(error.code() == absl::StatusCode::kUnavailable);
  CHECK(ReasonOf(error) == ErrorReason::kStoreUnavailable);
  CHECK(error.message() == "try again");
}

TEST_CASE("a status that no room of ours made counts as internal") {
  CHECK(ReasonOf(absl::NotFoundError("x")) == ErrorReason::kInternal);
  CHECK(ReasonOf(absl::OkStatus()) == ErrorReason::kUnspecified);
}

TEST_CASE("an error is of unknown outcome until it is marked as not applied") {
  absl::Status error = MakeError(ErrorReason::kInternal, "x");
  CHECK_FALSE(IsNotApplied(error));
  MarkNotApplied(error);
  CHECK(IsNotApplied(error));
  UnmarkNotApplied(error);
  CHECK_FALSE(IsNotApplied(error));
  CHECK(ReasonOf(error) == ErrorReason::kInternal);
}

TEST_CASE("field violations survive any text") {
  const std::vector<FieldViolation> violations = {
      {"items[0].item_type", "got \"3:a\r\n%s\""}, {"", ""}, {"user_id", "12:34"}};
  const absl::Status error = MakeInvalidRequest(violations);
  CHECK(FieldViolationsOf(error) == violations);
  CHECK(IsNotApplied(error));
}

TEST_CASE("a quota violation and a retry hint come back as they were set") {
  absl::Status error = MakeError(ErrorReason::kRateLimited, "x");
  CHECK_FALSE(RetryAfterOf(error).has_value());
  CHECK_FALSE(QuotaViolationOf(error).has_value());
  SetRetryAfter(error, absl::Milliseconds(1500));
  SetQuotaViolation(error, {"user:1", "100 likes in 60 s"});
  CHECK(RetryAfterOf(error) == absl::Milliseconds(1500));
  CHECK(QuotaViolationOf(error) == QuotaViolation{"user:1", "100 likes in 60 s"});
}

}  // namespace
}  // namespace counter
