// ScriptedServer: a CounterService in the test's own process that answers what the test says.
//
// Use it for failures that the real server does not show on request (details, lost servers, retry
// counts). It counts nothing and keeps nothing: what likes mean is tested on the real server.
//
// Threads: handlers are set before the first call; the rest from any thread.
#ifndef COUNTER_CLIENTS_CPP_SCRIPTED_SERVER_H_
#define COUNTER_CLIENTS_CPP_SCRIPTED_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_context.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "counter/v1/counter.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace counter::client {

class ScriptedServer final : public v1::CounterService::Service {
 public:
  template <class Request, class Response>
  using Handler = std::function<grpc::Status(grpc::ServerContext&, const Request&, Response&)>;

  // Listens on a free port of 127.0.0.1.
  ScriptedServer();
  ~ScriptedServer() override;

  const std::string& target() const { return target_; }
  // How many calls have arrived, attempts counted one by one.
  int calls() const { return calls_.load(); }
  // Whether the standard health service says SERVING (at the start it does), of everything.
  void SetServing(bool serving);

  // A method without a handler ends with UNIMPLEMENTED.
  Handler<v1::LikeRequest, v1::LikeResponse> on_like;
  Handler<v1::UnlikeRequest, v1::UnlikeResponse> on_unlike;
  Handler<v1::WriteLikesRequest, v1::WriteLikesResponse> on_write_likes;
  Handler<v1::GetCountRequest, v1::GetCountResponse> on_get_count;
  Handler<v1::BatchGetCountsRequest, v1::BatchGetCountsResponse> on_batch_get_counts;
  Handler<v1::HasLikedRequest, v1::HasLikedResponse> on_has_liked;
  Handler<v1::ListLikesRequest, v1::ListLikesResponse> on_list_likes;
  // Writes as many messages as it likes.
  std::function<grpc::Status(grpc::ServerContext&, const v1::WatchCountsRequest&,
                             grpc::ServerWriter<v1::WatchCountsResponse>&)>
      on_watch_counts;

 private:
  grpc::Status Like(grpc::ServerContext* context, const v1::LikeRequest* request,
                    v1::LikeResponse* response) override;
  grpc::Status Unlike(grpc::ServerContext* context, const v1::UnlikeRequest* request,
                      v1::UnlikeResponse* response) override;
  grpc::Status WriteLikes(grpc::ServerContext* context, const v1::WriteLikesRequest* request,
                          v1::WriteLikesResponse* response) override;
  grpc::Status GetCount(grpc::ServerContext* context, const v1::GetCountRequest* request,
                        v1::GetCountResponse* response) override;
  grpc::Status BatchGetCounts(grpc::ServerContext* context,
                              const v1::BatchGetCountsRequest* request,
                              v1::BatchGetCountsResponse* response) override;
  grpc::Status HasLiked(grpc::ServerContext* context, const v1::HasLikedRequest* request,
                        v1::HasLikedResponse* response) override;
  grpc::Status ListLikes(grpc::ServerContext* context, const v1::ListLikesRequest* request,
                         v1::ListLikesResponse* response) override;

  grpc::Status WatchCounts(grpc::ServerContext* context, const v1::WatchCountsRequest* request,
                           grpc::ServerWriter<v1::WatchCountsResponse>* writer) override;

  template <class Request, class Response>
  grpc::Status Run(const Handler<Request, Response>& handler, grpc::ServerContext* context,
                   const Request* request, Response* response);

  std::atomic<int> calls_ = 0;
  std::string target_;
  std::unique_ptr<grpc::Server> server_;
};

// A failure as the real server writes it: an ErrorInfo with the reason, and `details` beside it.
grpc::Status MakeStatus(grpc::StatusCode code, const std::string& message,
                        const std::string& reason,
                        const std::vector<const google::protobuf::Message*>& details = {});
// The same as the error of one mutation.
google::rpc::Status MakeRpcStatus(grpc::StatusCode code, const std::string& message,
                                  const std::string& reason, bool not_applied);

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_SCRIPTED_SERVER_H_
