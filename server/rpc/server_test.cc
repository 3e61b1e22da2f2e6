#include "server/rpc/server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/rpc/testing/echo_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <catch2/catch.hpp>

namespace counter::rpc {
namespace {

using testing::ChatRequest;
using testing::ChatResponse;
using testing::CountRequest;
using testing::CountResponse;
using testing::EchoRequest;
using testing::EchoResponse;
using testing::EchoServer;
using testing::EchoService;
using testing::LoopbackOptions;

grpc::Status Echo(EchoService::Stub& stub, const std::string& text) {
  grpc::ClientContext context;
  EchoRequest request;
  request.set_text(text);
  EchoResponse response;
  return stub.Echo(&context, request, &response);
}

// A unary call of any method with any bytes.
grpc::Status CallRaw(const EchoServer& server, const std::string& method,
                     const std::string& bytes) {
  grpc::GenericStub stub(server.Connect());
  grpc::ClientContext context;
  grpc::CompletionQueue completions;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  auto call = stub.PrepareUnaryCall(&context, method, request, &completions);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  completions.Next(&tag, &ok);
  return status;
}

// A listener of somebody else's, who does not mind sharing its port.
class StrangersListener {
 public:
  StrangersListener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, place, size) == 0 && ::listen(socket_, 1) == 0 &&
        ::getsockname(socket_, place, &size) == 0) {
      port_ = ntohs(address.sin_port);
    }
  }
  StrangersListener(const StrangersListener&) = delete;
  StrangersListener& operator=(const StrangersListener&) = delete;
  ~StrangersListener() { ::close(socket_); }
  int port() const { return port_; }

 private:
  int socket_;
  int port_ = 0;  // 0: it could not listen.
};

TEST_CASE("a unary call gets its handler's answer") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  EchoRequest request;
  request.set_text("there");
  EchoResponse response;
  const grpc::Status status = stub->Echo(&context, request, &response);
  CHECK(status.ok());
  CHECK(response.text() == "there");
  CHECK(server.NoCallIsLeftWithin(absl::Seconds(30)));
}

TEST_CASE("a handler's error reaches the caller with its details") {
  EchoServer server;
  server.echo = [](Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    co_return grpc::Status(grpc::StatusCode::ABORTED, "not now", "details");
  };
  REQUIRE(server.Start().ok());
  const grpc::Status status = Echo(*server.NewStub(), "x");
  CHECK(status.error_code() == grpc::StatusCode::ABORTED);
  CHECK(status.error_message() == "not now");
  CHECK(status.error_details() == "details");
}

TEST_CASE("a server streaming call gets all messages in order") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  CountRequest request;
  request.set_to(1000);
  auto reader = stub->Count(&context, request);
  std::vector<int> numbers;
  CountResponse response;
  while (reader->Read(&response)) numbers.push_back(response.number());
  CHECK(reader->Finish().ok());
  REQUIRE(numbers.size() == 1000);
  for (int i = 0; i < 1000; ++i) REQUIRE(numbers[static_cast<size_t>(i)] == i + 1);
}

TEST_CASE("a bidi call answers each message before the next one is sent") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  auto stream = stub->Chat(&context);
  for (int i = 0; i < 100; ++i) {
    ChatRequest request;
    request.set_text(std::to_string(i));
    REQUIRE(stream->Write(request));
    ChatResponse response;
    REQUIRE(stream->Read(&response));
    REQUIRE(response.text() == request.text());
  }
  stream->WritesDone();
  ChatResponse response;
  CHECK_FALSE(stream->Read(&response));
  CHECK(stream->Finish().ok());
}

TEST_CASE("several queues serve calls of several connections") {
  Server::Options options = LoopbackOptions();
  options.queues = 3;
  options.waiting_calls = 1;
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  for (int i = 0; i < 20; ++i) CHECK(Echo(*server.NewStub(), "x").ok());
  CHECK(server.NoCallIsLeftWithin(absl::Seconds(30)));
}

TEST_CASE("a server has caught up once a queue that was held up has gone on") {
  EchoServer server;
  Notification held_up;
  Notification go_on;
  server.echo = [&](Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
    held_up.Notify();
    go_on.Wait();  // What no handler may do: it blocks the queue's thread.
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  server.server().CatchUp();
  auto stub = server.NewStub();
  grpc::Status status;
  std::thread caller([&] { status = Echo(*stub, ""); });
  held_up.Wait();
  std::atomic<bool> has_gone_on = false;
  std::atomic<bool> caught_up_early = false;
  std::thread waiter([&] {
    server.server().CatchUp();
    caught_up_early = !has_gone_on;
  });
  // Longer than a queue that is free takes.
  absl::SleepFor(absl::Milliseconds(50));
  has_gone_on = true;
  go_on.Notify();
  waiter.join();
  caller.join();
  CHECK(status.ok());
  CHECK_FALSE(caught_up_early);
}

TEST_CASE("metadata goes both ways") {
  EchoServer server;
  server.echo = [](Call& call, const EchoRequest&, EchoResponse& response) -> Task<grpc::Status> {
    response.set_text(call.Metadata("x-in").value_or("none") + "," +
                      call.Metadata("x-absent").value_or("none"));
    call.AddInitialMetadata("x-first", "1");
    call.AddTrailingMetadata("x-last", "2");
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  context.AddMetadata("x-in", "value");
  EchoResponse response;
  REQUIRE(stub->Echo(&context, {}, &response).ok());
  CHECK(response.text() == "value,none");
  REQUIRE(context.GetServerInitialMetadata().count("x-first") == 1);
  REQUIRE(context.GetServerTrailingMetadata().count("x-last") == 1);
  CHECK(context.GetServerTrailingMetadata().find("x-last")->second == "2");
}

TEST_CASE("a header that gRPC would not send is refused and the call goes on") {
  EchoServer server;
  server.echo = [](Call& call, const EchoRequest&, EchoResponse& response) -> Task<grpc::Status> {
    const bool added = call.AddInitialMetadata("x-first", "a\nb") ||
                       call.AddInitialMetadata("X First", "a") ||
                       call.AddTrailingMetadata("x-last", std::string("\x01", 1));
    const bool binary = call.AddTrailingMetadata("x-bytes-bin", std::string("\x00\xff", 2));
    response.set_text(!added && binary ? "as expected" : "wrong");
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  EchoResponse response;
  REQUIRE(stub->Echo(&context, {}, &response).ok());
  CHECK(response.text() == "as expected");
}

TEST_CASE("a call knows its method and its peer") {
  EchoServer server;
  server.echo = [](Call& call, const EchoRequest&, EchoResponse& response) -> Task<grpc::Status> {
    response.set_text(absl::StrCat(call.method(), " ", call.peer()));
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  grpc::ClientContext context;
  EchoResponse response;
  REQUIRE(stub->Echo(&context, {}, &response).ok());
  CHECK_THAT(response.text(),
             Catch::StartsWith("/counter.rpc.testing.EchoService/Echo ipv4:127.0.0.1:"));
}

TEST_CASE("a request above the limit is refused with RESOURCE_EXHAUSTED") {
  Server::Options options = LoopbackOptions();
  options.receive_bytes_max = 1 << 20;
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  CHECK(Echo(*stub, std::string((1 << 20) - 100, 'x')).ok());
  CHECK(Echo(*stub, std::string((1 << 20) + 1, 'x')).error_code() ==
        grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(Echo(*stub, "small").ok());
}

TEST_CASE("bytes that are no request are refused and later calls are served") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  for (int i = 0; i < 200; ++i) {
    const grpc::Status status =
        CallRaw(server, "/counter.rpc.testing.EchoService/Echo", "\xff\xff\xff");
    REQUIRE(status.error_code() == grpc::StatusCode::INTERNAL);
  }
  CHECK(Echo(*server.NewStub(), "x").ok());
}

TEST_CASE("an unknown method is UNIMPLEMENTED") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  CHECK(CallRaw(server, "/counter.rpc.testing.EchoService/Nothing", "").error_code() ==
        grpc::StatusCode::UNIMPLEMENTED);
  CHECK(CallRaw(server, "/no.Service/Nothing", "").error_code() == grpc::StatusCode::UNIMPLEMENTED);
}

TEST_CASE("a second server on a taken port refuses to start and names the address") {
  EchoServer first;
  REQUIRE(first.Start().ok());
  Server::Options options = LoopbackOptions();
  options.listen = absl::StrCat("127.0.0.1:", first.server().port());
  EchoServer second(options);
  const absl::Status started = second.Start();
  REQUIRE_FALSE(started.ok());
  CHECK_THAT(std::string(started.message()), Catch::Contains(options.listen));
  CHECK(Echo(*first.NewStub(), "x").ok());
}

TEST_CASE("a port that a stranger is willing to share is still refused") {
  const StrangersListener stranger;
  Server::Options options = LoopbackOptions();
  options.listen = absl::StrCat("127.0.0.1:", stranger.port());
  EchoServer server(options);
  const absl::Status started = server.Start();
  REQUIRE_FALSE(started.ok());
  CHECK_THAT(std::string(started.message()), Catch::Contains(options.listen));
}

TEST_CASE("an address that cannot be listened on is refused and named") {
  for (const std::string listen :
       {"192.0.2.1:0", "no.such.host.invalid:0", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999"}) {
    CAPTURE(listen);
    Server::Options options = LoopbackOptions();
    options.listen = listen;
    EchoServer server(options);
    const absl::Status started = server.Start();
    REQUIRE_FALSE(started.ok());
    CHECK_THAT(std::string(started.message()), Catch::Contains(listen));
  }
}

TEST_CASE("a service with a method that nobody handles refuses to start") {
  EchoService::AsyncService service;
  Server server(LoopbackOptions());
  server.AddUnary(service, &EchoService::AsyncService::RequestEcho,
                  "/counter.rpc.testing.EchoService/Echo",
                  [](Call&, const EchoRequest&, EchoResponse&) -> Task<grpc::Status> {
                    co_return grpc::Status::OK;
                  });
  const absl::Status started = server.Start();
  REQUIRE_FALSE(started.ok());
  CHECK_THAT(std::string(started.message()), Catch::Contains("EchoService/Count"));
}

TEST_CASE("a bound on gRPC's memory leaves ordinary calls alone") {
  Server::Options options = LoopbackOptions();
  options.memory_bytes_max = 16 << 20;
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  auto stub = server.NewStub();
  for (int i = 0; i < 20; ++i) CHECK(Echo(*stub, std::string(1 << 20, 'x')).ok());
}

}  // namespace
}  // namespace counter::rpc
