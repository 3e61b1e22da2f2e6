// ConnectMessage: a message of the Connect protocol as it comes and goes over HTTP, and its errors.
// Pure functions; any thread.
#ifndef COUNTER_SERVER_CONNECT_CONNECT_MESSAGE_H_
#define COUNTER_SERVER_CONNECT_CONNECT_MESSAGE_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/http/http.h"

namespace counter {

enum class ConnectCodec : uint8_t { kProto, kJson };

struct ConnectMessage {
  ConnectCodec codec = ConnectCodec::kJson;
  std::string bytes;
};

// The message of a POST (its body) or a GET (its query). Errors: absl::StatusCode::kUnknown for a
// type that is none of Connect's, which is no call; else made by MakeError().
absl::StatusOr<ConnectMessage> ReadConnectMessage(const http::Request& request);

// kInvalidRequest for bytes that are no such message. Fields that the message has not are ignored.
absl::Status ParseConnectMessage(const ConnectMessage& message, google::protobuf::Message& into);

http::Response ConnectResponse(ConnectCodec codec, const google::protobuf::Message& message);

// Requires !error.ok().
http::Response ConnectError(const absl::Status& error);

// What answers an error of ReadConnectMessage: 415 for what is no call, else as ConnectError.
http::Response ConnectRefusal(const absl::Status& error);

// A request to a method that was too large to be read: gRPC's resource_exhausted, as Connect says
// it.
http::Response ConnectTooLarge(const std::string& why);

}  // namespace counter

#endif  // COUNTER_SERVER_CONNECT_CONNECT_MESSAGE_H_
