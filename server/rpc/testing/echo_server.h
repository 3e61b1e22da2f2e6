// EchoServer: a Server with the echo service, whose handlers a test may replace before Start().
//
// For tests only. Threads: as Server. Ownership: owns server and service; a gate outlives it.
#ifndef COUNTER_SERVER_RPC_TESTING_ECHO_SERVER_H_
#define COUNTER_SERVER_RPC_TESTING_ECHO_SERVER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/task.h"
#include "server/rpc/server.h"
#include "server/rpc/testing/echo.grpc.pb.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

namespace counter::rpc::testing {

inline Server::Options LoopbackOptions() {
  Server::Options options;
  options.listen = "127.0.0.1:0";
  return options;
}

class EchoServer {
 public:
  UnaryHandler<EchoRequest, EchoResponse> echo = Echo;
  ServerStreamHandler<CountRequest, CountResponse> count = Count;
  BidiHandler<ChatRequest, ChatResponse> chat = Chat;

  explicit EchoServer(Server::Options options = LoopbackOptions()) : server_(std::move(options)) {}

  absl::Status Start() {
    using Async = EchoService::AsyncService;
    server_.AddUnary(service_, &Async::RequestEcho, "/counter.rpc.testing.EchoService/Echo", echo);
    server_.AddServerStream(service_, &Async::RequestCount,
                            "/counter.rpc.testing.EchoService/Count", count);
    server_.AddBidi(service_, &Async::RequestChat, "/counter.rpc.testing.EchoService/Chat", chat);
    return server_.Start();
  }

  Server& server() { return server_; }
  const Server& server() const { return server_; }

  // A connection of its own, so that tests do not share one by accident.
  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_.port()),
                                     grpc::InsecureChannelCredentials(), arguments);
  }
  std::unique_ptr<EchoService::Stub> NewStub() const { return EchoService::NewStub(Connect()); }

  // Calls are freed a moment after their clients have their answers.
  bool NoCallIsLeftWithin(absl::Duration patience) const {
    const absl::Time give_up = absl::Now() + patience;
    while (server_.live_calls() != 0) {
      if (absl::Now() > give_up) return false;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return true;
  }

 private:
  static Task<grpc::Status> Echo(Call& /*call*/, const EchoRequest& request,
                                 EchoResponse& response) {
    response.set_text(request.text());
    co_return grpc::Status::OK;
  }

  static Task<grpc::Status> Count(Call& /*call*/, const CountRequest& request,
                                  StreamWriter<CountResponse>& writer) {
    CountResponse response;
    for (int number = 1; number <= request.to(); ++number) {
      response.set_number(number);
      if (!co_await writer.Write(response)) break;
    }
    co_return grpc::Status::OK;
  }

  static Task<grpc::Status> Chat(Call& /*call*/, StreamReader<ChatRequest>& reader,
                                 StreamWriter<ChatResponse>& writer) {
    ChatRequest request;
    ChatResponse response;
    while (co_await reader.Read(request)) {
      response.set_text(request.text());
      if (!co_await writer.Write(response)) break;
    }
    co_return grpc::Status::OK;
  }

  EchoService::AsyncService service_;
  Server server_;
};

}  // namespace counter::rpc::testing

#endif  // COUNTER_SERVER_RPC_TESTING_ECHO_SERVER_H_
