// How a gRPC call of this server ends with an error.
//
// gRPC's own retries send one call of a client several times, and only the last answer reaches the
// client. That this attempt was not applied says nothing about the attempts before it.
#ifndef COUNTER_SERVER_CALL_ERROR_H_
#define COUNTER_SERVER_CALL_ERROR_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "server/rpc/server.h"

namespace counter {

// Whether this is not the first attempt of the call. Threads: any.
bool IsRepeat(const rpc::Call& call);

// Sets the call's trailers (`outcome: not-applied` where that is certain) and returns the status to
// end it with. Requires !error.ok() and that the call has not ended. Threads: as the call.
grpc::Status EndWithError(rpc::Call& call, const absl::Status& error);

}  // namespace counter

#endif  // COUNTER_SERVER_CALL_ERROR_H_
