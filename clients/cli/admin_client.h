// AdminClient: calls of AdminService that wait until the server can take them.
//
// Use it in the commands of operators. A server works on one such call at a time and on so much a
// second; what it refuses for that, and what fails and may pass, is tried again for as long as
// `patience`. That is safe: all of these calls may be repeated.
//
// Threads: one. Ownership: owns its channel.
#ifndef COUNTER_CLIENTS_CLI_ADMIN_CLIENT_H_
#define COUNTER_CLIENTS_CLI_ADMIN_CLIENT_H_

#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/patience.h"
#include "clients/cpp/error.h"
#include "clients/cpp/error_decoder.h"
#include "counter/admin/v1/admin.grpc.pb.h"

namespace counter::cli {

class AdminClient {
 public:
  using Stub = admin::v1::AdminService::Stub;

  // Null credentials: plaintext.
  AdminClient(const std::string& server,
              const std::shared_ptr<grpc::ChannelCredentials>& credentials, absl::Duration deadline,
              absl::Duration patience);

  template <class Request, class Response>
  client::Result<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) const {
    Pauses pauses(patience_);
    while (true) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + deadline_));
      Response response;
      const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
      if (status.ok()) return response;
      client::Error error = client::DecodeError(status, false, RequestIdOf(context));
      if (!MayPass(error.kind) || !pauses.Wait(error)) return error;
    }
  }

 private:
  static std::string RequestIdOf(const grpc::ClientContext& context);

  const std::unique_ptr<Stub> stub_;
  const absl::Duration deadline_;
  const absl::Duration patience_;
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_ADMIN_CLIENT_H_
