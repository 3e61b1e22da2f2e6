// OwnError: a fault of this machine (a file that cannot be written) as the error of a command.
#ifndef COUNTER_CLIENTS_CLI_OWN_ERROR_H_
#define COUNTER_CLIENTS_CLI_OWN_ERROR_H_

#include <string>

#include "clients/cpp/error.h"

namespace counter::cli {

inline client::Error OwnError(const std::string& message) {
  client::Error error;
  error.kind = client::ErrorKind::kFailedPrecondition;
  error.grpc_code = 9;
  error.message = message;
  return error;
}

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_OWN_ERROR_H_
