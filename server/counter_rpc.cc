#include "server/counter_rpc.h"

#include <string>

#include "absl/status/status.h"
#include "server/call_error.h"
#include "server/rpc_gate.h"

namespace counter {
namespace {

using AsyncService = v1::CounterService::AsyncService;

// Kept apart from Register: a coroutine's frame must not hold a lambda of its caller.
template <class Request, class Response>
Task<grpc::Status> Handle(CounterProto& proto,
                          Task<absl::Status> (CounterProto::*method)(const ProtoCall&,
                                                                     const Request&, Response&),
                          rpc::Call& call, const Request& request, Response& response) {
  const ProtoCall proto_call = {call.limits(), CallerOf(call), IsRepeat(call)};
  Task<absl::Status> task = (proto.*method)(proto_call, request, response);
  const absl::Status status = co_await std::move(task);
  co_return status.ok() ? grpc::Status::OK : EndWithError(call, status);
}

}  // namespace

void CounterRpc::Register(rpc::Server& server) {
  const auto add = [&](const char* name, auto request_call, auto method) {
    server.AddUnary(async_service_, request_call, std::string("/counter.v1.CounterService/") + name,
                    [this, method](rpc::Call& call, const auto& request, auto& response) {
                      return Handle(proto_, method, call, request, response);
                    });
  };
  add("Like", &AsyncService::RequestLike, &CounterProto::Like);
  add("Unlike", &AsyncService::RequestUnlike, &CounterProto::Unlike);
  add("WriteLikes", &AsyncService::RequestWriteLikes, &CounterProto::WriteLikes);
  add("GetCount", &AsyncService::RequestGetCount, &CounterProto::GetCount);
  add("BatchGetCounts", &AsyncService::RequestBatchGetCounts, &CounterProto::BatchGetCounts);
  add("HasLiked", &AsyncService::RequestHasLiked, &CounterProto::HasLiked);
  add("ListLikes", &AsyncService::RequestListLikes, &CounterProto::ListLikes);
  add("ListLikers", &AsyncService::RequestListLikers, &CounterProto::ListLikers);
}

}  // namespace counter
