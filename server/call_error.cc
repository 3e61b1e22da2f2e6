#include "server/call_error.h"

#include "base/error.h"
#include "server/status.h"

namespace counter {

grpc::Status EndWithError(rpc::Call& call, const absl::Status& error) {
  if (IsNotApplied(error)) call.AddTrailingMetadata(kOutcomeKey, kOutcomeNotApplied);
  return ToGrpcStatus(error);
}

}  // namespace counter
