#include "server/rpc/server.h"

#include <string>
#include <utility>
#include <vector>

#include "server/rpc/testing/echo_server.h"

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
  CHECK(server.NoCallIsLeftWithin(absl::Seconds(5)));
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
  CHECK(numbers.front() == 1);
  CHECK(numbers.back() == 1000);
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

TEST_CASE("a second server on a taken port refuses to start and names the address") {
  EchoServer first;
  REQUIRE(first.Start().ok());
  Server::Options options = LoopbackOptions();
  options.listen = absl::StrCat("127.0.0.1:", first.server().port());
  EchoServer second(options);
  const absl::Status started = second.Start();
  REQUIRE_FALSE(started.ok());
  CHECK_THAT(std::string(started.message()), Catch::Contains(options.listen));
}

}  // namespace
}  // namespace counter::rpc
