// EndWithError: the one way in which a call of this server ends with an error.
#ifndef COUNTER_SERVER_CALL_ERROR_H_
#define COUNTER_SERVER_CALL_ERROR_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "server/rpc/server.h"

namespace counter {

// Sets the call's trailers (`outcome: not-applied` where that is certain) and returns the status to
// end it with. Requires !error.ok() and that the call has not ended. Threads: as the call.
grpc::Status EndWithError(rpc::Call& call, const absl::Status& error);

}  // namespace counter

#endif  // COUNTER_SERVER_CALL_ERROR_H_
