#include "server/call_error.h"

#include <utility>

#include "base/error.h"
#include "server/status.h"

namespace counter {
namespace {

// Sent by gRPC's clients with the second and later attempts of a call.
constexpr char kPreviousAttemptsKey[] = "grpc-previous-rpc-attempts";

}  // namespace

absl::Status ForWholeCall(const rpc::Call& call, absl::Status error) {
  if (call.Metadata(kPreviousAttemptsKey).has_value()) UnmarkNotApplied(error);
  return error;
}

grpc::Status EndWithError(rpc::Call& call, const absl::Status& error) {
  const absl::Status of_call = ForWholeCall(call, error);
  if (IsNotApplied(of_call)) call.AddTrailingMetadata(kOutcomeKey, kOutcomeNotApplied);
  return ToGrpcStatus(of_call);
}

}  // namespace counter
