// K05: who pings too often is sent away, who pings as often as is allowed stays.
#include <chrono>
#include <memory>

#include "server/rpc/testing/echo_server.h"

#include <catch2/catch.hpp>

namespace counter::rpc {
namespace {

using testing::EchoResponse;
using testing::EchoServer;
using testing::EchoService;
using testing::LoopbackOptions;

// Pings as often as the library lets it: about once a second, also without calls.
std::shared_ptr<grpc::Channel> ConnectPinging(const EchoServer& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 500);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server.server().port()),
                                   grpc::InsecureChannelCredentials(), arguments);
}

bool IsCallServed(const std::shared_ptr<grpc::Channel>& channel) {
  EchoService::Stub stub(channel);
  grpc::ClientContext context;
  EchoResponse response;
  return stub.Echo(&context, {}, &response).ok();
}

TEST_CASE("only a client that pings more often than allowed loses its connection") {
  // Two servers, one client behaviour: too often for one, allowed by the other.
  EchoServer strict;
  Server::Options options = LoopbackOptions();
  options.client_ping_interval_min = absl::Milliseconds(100);
  EchoServer lenient(options);
  REQUIRE(strict.Start().ok());
  REQUIRE(lenient.Start().ok());
  auto allowed = ConnectPinging(lenient);
  auto too_often = ConnectPinging(strict);
  auto quiet = strict.Connect();
  REQUIRE(IsCallServed(allowed));
  REQUIRE(IsCallServed(quiet));
  REQUIRE(IsCallServed(too_often));

  CHECK(too_often->WaitForStateChange(GRPC_CHANNEL_READY,
                                      std::chrono::system_clock::now() + std::chrono::seconds(40)));
  CHECK(allowed->GetState(false) == GRPC_CHANNEL_READY);
  CHECK(quiet->GetState(false) == GRPC_CHANNEL_READY);
  CHECK(IsCallServed(allowed));
  CHECK(IsCallServed(quiet));
}

}  // namespace
}  // namespace counter::rpc
