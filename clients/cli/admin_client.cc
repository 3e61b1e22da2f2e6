#include "clients/cli/admin_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

namespace counter::cli {

AdminClient::AdminClient(const std::string& server,
                         const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                         absl::Duration deadline, absl::Duration patience)
    : stub_(admin::v1::AdminService::NewStub(grpc::CreateChannel(
          server, credentials != nullptr ? credentials : grpc::InsecureChannelCredentials()))),
      deadline_(deadline),
      patience_(patience) {}

std::string AdminClient::RequestIdOf(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerInitialMetadata();
  const auto id = metadata.find("x-request-id");
  return id == metadata.end() ? "" : std::string(id->second.data(), id->second.size());
}

}  // namespace counter::cli
