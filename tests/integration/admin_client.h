// What tests of AdminService on a real server share: its stub, and the commands of counterctl for
// it.
//
// Threads: any. Values.
#ifndef COUNTER_TESTS_INTEGRATION_ADMIN_CLIENT_H_
#define COUNTER_TESTS_INTEGRATION_ADMIN_CLIENT_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/command_runner.h"
#include "counter/admin/v1/admin.grpc.pb.h"
#include "tests/support/counter_server.h"

namespace counter::testing {

inline std::string AdminTarget(const CounterServer& server) {
  return absl::StrCat("127.0.0.1:", server.admin_port());
}

inline std::unique_ptr<admin::v1::AdminService::Stub> AdminStub(const CounterServer& server) {
  return admin::v1::AdminService::NewStub(
      grpc::CreateChannel(AdminTarget(server), grpc::InsecureChannelCredentials()));
}

// One call within half a minute.
template <class Request, class Response>
grpc::Status CallAdmin(admin::v1::AdminService::Stub& stub,
                       grpc::Status (admin::v1::AdminService::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                       const Request& request, Response& response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
  return (stub.*method)(&context, request, &response);
}

// `counterctl admin ...` against the server.
inline cli::Ran RunAdmin(const CounterServer& server, std::vector<std::string> args) {
  args.insert(args.begin(), {"admin", "--admin-server", AdminTarget(server), "--patience", "20s"});
  return cli::RunWith(args);
}

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_ADMIN_CLIENT_H_
