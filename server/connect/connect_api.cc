#include "server/connect/connect_api.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/connect/connect_message.h"

namespace counter {
namespace {

constexpr char kTimeoutHeader[] = "connect-timeout-ms";

}  // namespace

template <class Request, class Response>
void ConnectApi::Add(http::HttpServer& server, const char* path, Method<Request, Response> method,
                     bool is_read) {
  const auto handler = [this, path, method](const http::Request& request) {
    return Run(path, method, request);
  };
  server.AddRoute("POST", path, handler);
  if (is_read) server.AddRoute("GET", path, handler);
}

void ConnectApi::Register(http::HttpServer& server) {
  Add(server, "/counter.v1.CounterService/Like", &CounterProto::Like, false);
  Add(server, "/counter.v1.CounterService/Unlike", &CounterProto::Unlike, false);
  Add(server, "/counter.v1.CounterService/WriteLikes", &CounterProto::WriteLikes, false);
  Add(server, "/counter.v1.CounterService/GetCount", &CounterProto::GetCount, true);
  Add(server, "/counter.v1.CounterService/BatchGetCounts", &CounterProto::BatchGetCounts, true);
  Add(server, "/counter.v1.CounterService/HasLiked", &CounterProto::HasLiked, true);
  Add(server, "/counter.v1.CounterService/ListLikes", &CounterProto::ListLikes, true);
  Add(server, "/counter.v1.CounterService/ListLikers", &CounterProto::ListLikers, true);
}

template <class Request, class Response>
Task<http::Response> ConnectApi::Run(const char* path, Method<Request, Response> method,
                                     const http::Request& request) {
  const absl::StatusOr<ConnectMessage> message = ReadConnectMessage(request);
  if (!message.ok()) co_return ConnectRefusal(message.status());
  // The path is the method's name after a slash.
  rest::HttpCall call(edge_, {path, path}, request, kTimeoutHeader);
  absl::Status status = call.admitted();
  Request in;
  Response out;
  if (status.ok()) status = ParseConnectMessage(*message, in);
  if (status.ok()) {
    const ProtoCall proto_call = {call.limits(), call.caller(), /*is_repeat=*/false};
    Task<absl::Status> task = (proto_.*method)(proto_call, in, out);
    status = co_await std::move(task);
  }
  http::Response response =
      status.ok() ? ConnectResponse(message->codec, out) : ConnectError(status);
  call.Finish(response, status);
  co_return response;
}

}  // namespace counter
