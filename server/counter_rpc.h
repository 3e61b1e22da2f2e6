// CounterRpc: counter.v1.CounterService over the rpc engine: proto <-> vocabulary and nothing else.
// WHAT a like means is in counter_service.
//
// Threads: handlers run on the engine's queue threads and go on where the service's tasks do.
// Ownership: borrows the service; both must outlive the server they are registered with.
#ifndef COUNTER_SERVER_COUNTER_RPC_H_
#define COUNTER_SERVER_COUNTER_RPC_H_

#include <grpcpp/support/status.h>

#include "base/task.h"
#include "proto/counter/v1/counter.grpc.pb.h"
#include "server/counter_service.h"
#include "server/rpc/server.h"

namespace counter {

class CounterRpc {
 public:
  explicit CounterRpc(CounterService& service) : service_(service) {}

  // Adds the six methods. Call it once, before server.Start().
  void Register(rpc::Server& server);

 private:
  Task<grpc::Status> Like(rpc::Call& call, const v1::LikeRequest& request,
                          v1::LikeResponse& response);
  Task<grpc::Status> Unlike(rpc::Call& call, const v1::UnlikeRequest& request,
                            v1::UnlikeResponse& response);
  Task<grpc::Status> WriteLikes(rpc::Call& call, const v1::WriteLikesRequest& request,
                                v1::WriteLikesResponse& response);
  Task<grpc::Status> GetCount(rpc::Call& call, const v1::GetCountRequest& request,
                              v1::GetCountResponse& response);
  Task<grpc::Status> BatchGetCounts(rpc::Call& call, const v1::BatchGetCountsRequest& request,
                                    v1::BatchGetCountsResponse& response);
  Task<grpc::Status> HasLiked(rpc::Call& call, const v1::HasLikedRequest& request,
                              v1::HasLikedResponse& response);

  CounterService& service_;
  v1::CounterService::AsyncService async_service_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_COUNTER_RPC_H_
