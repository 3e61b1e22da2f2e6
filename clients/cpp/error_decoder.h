// How a failed call becomes an Error. Internal to the client; pure functions, thread-safe.
#ifndef COUNTER_CLIENTS_CPP_ERROR_DECODER_H_
#define COUNTER_CLIENTS_CPP_ERROR_DECODER_H_

#include <grpcpp/support/status.h>

#include "clients/cpp/error.h"
#include "google/rpc/status.pb.h"

namespace counter::client {

// The error of a whole call. `not_applied` is what the trailer said. Requires !status.ok().
Error DecodeError(const grpc::Status& status, bool not_applied, std::string request_id);

// The error of one mutation of WriteLikes. Requires status.code() != 0.
Error DecodeError(const google::rpc::Status& status, std::string request_id);

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_ERROR_DECODER_H_
