#include "server/call_error.h"

#include "base/error.h"
#include "server/status.h"

namespace counter {
namespace {

// Sent by gRPC's clients with the second and later attempts of a call.
constexpr char kPreviousAttemptsKey[] = "grpc-previous-rpc-attempts";

}  // namespace

bool IsRepeat(const rpc::Call& call) { return call.Metadata(kPreviousAttemptsKey).has_value(); }

grpc::Status EndWithError(rpc::Call& call, const absl::Status& error) {
  absl::Status of_call = error;
  if (IsRepeat(call)) UnmarkNotApplied(of_call);
  if (IsNotApplied(of_call)) call.AddTrailingMetadata(kOutcomeKey, kOutcomeNotApplied);
  return ToGrpcStatus(of_call);
}

}  // namespace counter
