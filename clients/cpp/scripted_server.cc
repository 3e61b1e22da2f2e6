#include "clients/cpp/scripted_server.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"

namespace counter::client {

ScriptedServer::ScriptedServer() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) std::abort();
  target_ = absl::StrCat("127.0.0.1:", port);
  for (const char* name : {"counter.v1.CounterService", "calls"})
    server_->GetHealthCheckService()->SetServingStatus(name, true);
}

ScriptedServer::~ScriptedServer() { server_->Shutdown(std::chrono::system_clock::now()); }

void ScriptedServer::SetServing(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(serving);
}

template <class Request, class Response>
grpc::Status ScriptedServer::Run(const Handler<Request, Response>& handler,
                                 grpc::ServerContext* context, const Request* request,
                                 Response* response) {
  ++calls_;
  if (!handler) return grpc::Status(grpc::UNIMPLEMENTED, "not scripted");
  return handler(*context, *request, *response);
}

grpc::Status ScriptedServer::Like(grpc::ServerContext* context, const v1::LikeRequest* request,
                                  v1::LikeResponse* response) {
  return Run(on_like, context, request, response);
}

grpc::Status ScriptedServer::Unlike(grpc::ServerContext* context, const v1::UnlikeRequest* request,
                                    v1::UnlikeResponse* response) {
  return Run(on_unlike, context, request, response);
}

grpc::Status ScriptedServer::WriteLikes(grpc::ServerContext* context,
                                        const v1::WriteLikesRequest* request,
                                        v1::WriteLikesResponse* response) {
  return Run(on_write_likes, context, request, response);
}

grpc::Status ScriptedServer::GetCount(grpc::ServerContext* context,
                                      const v1::GetCountRequest* request,
                                      v1::GetCountResponse* response) {
  return Run(on_get_count, context, request, response);
}

grpc::Status ScriptedServer::BatchGetCounts(grpc::ServerContext* context,
                                            const v1::BatchGetCountsRequest* request,
                                            v1::BatchGetCountsResponse* response) {
  return Run(on_batch_get_counts, context, request, response);
}

grpc::Status ScriptedServer::HasLiked(grpc::ServerContext* context,
                                      const v1::HasLikedRequest* request,
                                      v1::HasLikedResponse* response) {
  return Run(on_has_liked, context, request, response);
}

grpc::Status ScriptedServer::WatchCounts(grpc::ServerContext* context,
                                         const v1::WatchCountsRequest* request,
                                         grpc::ServerWriter<v1::WatchCountsResponse>* writer) {
  ++calls_;
  if (!on_watch_counts) return grpc::Status(grpc::UNIMPLEMENTED, "the test has no handler for it");
  return on_watch_counts(*context, *request, *writer);
}

grpc::Status ScriptedServer::ListLikes(grpc::ServerContext* context,
                                       const v1::ListLikesRequest* request,
                                       v1::ListLikesResponse* response) {
  return Run(on_list_likes, context, request, response);
}

grpc::Status MakeStatus(grpc::StatusCode code, const std::string& message,
                        const std::string& reason,
                        const std::vector<const google::protobuf::Message*>& details) {
  google::rpc::Status status = MakeRpcStatus(code, message, reason, /*not_applied=*/false);
  for (const google::protobuf::Message* detail : details) status.add_details()->PackFrom(*detail);
  return grpc::Status(code, message, status.SerializeAsString());
}

google::rpc::Status MakeRpcStatus(grpc::StatusCode code, const std::string& message,
                                  const std::string& reason, bool not_applied) {
  google::rpc::ErrorInfo info;
  info.set_domain("counter.v1");
  info.set_reason(reason);
  if (not_applied) (*info.mutable_metadata())["outcome"] = "not-applied";
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  status.add_details()->PackFrom(info);
  return status;
}

}  // namespace counter::client
