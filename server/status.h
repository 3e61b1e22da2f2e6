// How an error of the product goes over the wire: canonical code, text, and google.rpc details
// (ErrorInfo always; BadRequest, RetryInfo, QuotaFailure where they apply).
// Pure functions; any thread.
#ifndef COUNTER_SERVER_STATUS_H_
#define COUNTER_SERVER_STATUS_H_

#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace counter {

// The domain of every ErrorInfo.
inline constexpr char kErrorDomain[] = "counter.v1";

// The trailer, and the entry of an ErrorInfo's metadata, that says that a write was certainly not
// applied.
inline constexpr char kOutcomeKey[] = "outcome";
inline constexpr char kOutcomeNotApplied[] = "not-applied";

// Details are cut so that they fit the 8 KiB of metadata that clients accept by default: of many
// field violations the first come, then one that says how many were left out.
inline constexpr size_t kFieldViolationBytesMax = 3072;

// Requires !error.ok(). An error that was not made by MakeError() (base/error.h) goes out as
// INTERNAL without its text.
google::rpc::Status ToRpcStatus(const absl::Status& error);

// The same for the end of a call; OK for OK.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace counter

#endif  // COUNTER_SERVER_STATUS_H_
