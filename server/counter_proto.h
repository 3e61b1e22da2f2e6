// CounterProto: the methods of counter.v1.CounterService as messages in and messages out: proto <->
// vocabulary and nothing else. WHAT a like means is in counter_service; how a message came and how
// an error goes out is the business of the transport (gRPC: counter_rpc, Connect: connect/).
//
// Errors are those of CounterService; a transport turns them into its own by status.h.
//
// Threads: as CounterService. Ownership: borrows the service, and request and response until the
// task has ended.
#ifndef COUNTER_SERVER_COUNTER_PROTO_H_
#define COUNTER_SERVER_COUNTER_PROTO_H_

#include "absl/status/status.h"
#include "base/call_limits.h"
#include "base/task.h"
#include "proto/counter/v1/counter.pb.h"
#include "server/callers/caller.h"
#include "server/counter_service.h"

namespace counter {

// What a transport says about a call.
struct ProtoCall {
  CallLimits limits;
  const Caller& caller;  // Lives as long as the call.
  // Whether an earlier attempt of the same call may have reached a server: then nothing is said to
  // be certainly not applied.
  bool is_repeat = false;
};

// Between the mutations of a message and the service's, and back.
using MutationMessages = google::protobuf::RepeatedPtrField<v1::Mutation>;
std::vector<MutationRef> ToMutationRefs(const MutationMessages& mutations);
// Requires as many answers as mutations.
void AddMutationResults(const ProtoCall& call, const MutationMessages& mutations,
                        std::vector<absl::StatusOr<WriteAnswer>> answers,
                        google::protobuf::RepeatedPtrField<v1::MutationResult>& out);

// The count of an item whose name is in `out` already.
void SetItemCount(CountAnswer answer, v1::ItemCount& out);

class CounterProto {
 public:
  explicit CounterProto(CounterService& service) : service_(service) {}

  Task<absl::Status> Like(const ProtoCall& call, const v1::LikeRequest& request,
                          v1::LikeResponse& response);
  Task<absl::Status> Unlike(const ProtoCall& call, const v1::UnlikeRequest& request,
                            v1::UnlikeResponse& response);
  Task<absl::Status> WriteLikes(const ProtoCall& call, const v1::WriteLikesRequest& request,
                                v1::WriteLikesResponse& response);
  Task<absl::Status> GetCount(const ProtoCall& call, const v1::GetCountRequest& request,
                              v1::GetCountResponse& response);
  Task<absl::Status> BatchGetCounts(const ProtoCall& call, const v1::BatchGetCountsRequest& request,
                                    v1::BatchGetCountsResponse& response);
  Task<absl::Status> HasLiked(const ProtoCall& call, const v1::HasLikedRequest& request,
                              v1::HasLikedResponse& response);
  Task<absl::Status> ListLikes(const ProtoCall& call, const v1::ListLikesRequest& request,
                               v1::ListLikesResponse& response);
  Task<absl::Status> ListLikers(const ProtoCall& call, const v1::ListLikersRequest& request,
                                v1::ListLikersResponse& response);

 private:
  CounterService& service_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_COUNTER_PROTO_H_
