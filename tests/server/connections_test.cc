// Connections of the gRPC engine: how many there may be, how long one may take to become one, and
// that nothing a peer does keeps the server from accepting or from ending.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/task.h"
#include "server/rpc/listening_sockets.h"
#include "server/rpc/server.h"
#include "server/rpc/testing/echo_server.h"
#include "server/rpc/testing/foreign_threads.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp.h"
#include "tests/support/test_settings.h"

namespace counter::rpc {
namespace {

using counter::testing::Eventually;
using counter::testing::LoopbackConnection;
using counter::testing::Slowness;
using testing::EchoResponse;
using testing::EchoServer;
using testing::EchoService;
using testing::LoopbackOptions;

absl::Duration Patience() { return absl::Seconds(10) * Slowness(); }

LoopbackConnection Connect(int port) {
  absl::StatusOr<LoopbackConnection> connection =
      LoopbackConnection::Open(port, absl::Now() + Patience());
  REQUIRE(connection.ok());
  return *std::move(connection);
}

bool IsServed(EchoService::Stub& stub, absl::Duration patience = Patience()) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(patience));
  EchoResponse response;
  return stub.Echo(&context, {}, &response).ok();
}

// Whether the server has closed, reading what it says before.
bool IsClosed(LoopbackConnection& connection, absl::Duration patience) {
  connection.WaitUntil(absl::Now() + patience);
  while (true) {
    const absl::StatusOr<std::string> received = connection.Receive();
    if (absl::IsDeadlineExceeded(received.status())) return false;
    if (!received.ok() || received->empty()) return true;
  }
}

// From another loopback address than all else.
Socket ConnectFrom(const char* source, int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  REQUIRE(inet_pton(AF_INET, source, &address.sin_addr) == 1);
  REQUIRE(bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  REQUIRE(connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

TEST_CASE("a connection over the limit is closed at once, and gets in when another has gone") {
  Server::Options options = LoopbackOptions();
  options.connections.connections_max = 3;
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  const auto stub = server.NewStub();
  REQUIRE(IsServed(*stub));
  std::vector<LoopbackConnection> others;
  others.push_back(Connect(server.server().port()));
  others.push_back(Connect(server.server().port()));
  REQUIRE(Eventually(Patience(), [&] { return server.server().connections().open == 3; }));

  LoopbackConnection further = Connect(server.server().port());
  CHECK(IsClosed(further, Patience()));
  CHECK(server.server().connections().refused == 1);
  CHECK(IsServed(*stub));  // Who is in stays in.

  others.pop_back();
  REQUIRE(Eventually(Patience(), [&] { return server.server().connections().open == 2; }));
  const auto next = server.NewStub();
  CHECK(IsServed(*next));
}

TEST_CASE("an address with all its connections keeps no other one out") {
  Server::Options options = LoopbackOptions();
  options.connections.address_connections_max = 2;
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  const int port = server.server().port();
  const Socket first = ConnectFrom("127.0.0.7", port);
  const Socket second = ConnectFrom("127.0.0.7", port);
  const Socket third = ConnectFrom("127.0.0.7", port);
  REQUIRE(Eventually(Patience(),
                     [&] { return server.server().connections().refused_of_address == 1; }));
  CHECK(server.server().connections().open == 2);
  CHECK(IsServed(*server.NewStub()));
}

TEST_CASE("connections that never become HTTP/2 are closed in time, however they spend it") {
  Server::Options options = LoopbackOptions();
  options.handshake_timeout = absl::Milliseconds(500);
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  const int port = server.server().port();
  std::vector<LoopbackConnection> connections;
  for (const std::string sent : {"", "PRI * HTTP", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    connections.push_back(Connect(port));
    REQUIRE(connections.back().Send(sent).ok());
  }
  for (LoopbackConnection& connection : connections) CHECK(IsClosed(connection, Patience()));
  CHECK(Eventually(Patience(), [&] { return server.server().connections().open == 0; }));
}

TEST_CASE("a server that found no descriptor accepts again as soon as there are some") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  const auto before = server.NewStub();
  REQUIRE(IsServed(*before));
  std::vector<Socket> all;
  while (true) {
    Socket one(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!one.ok()) break;
    all.push_back(std::move(one));
  }
  all.pop_back();  // The client's own.
  LoopbackConnection waiting = Connect(server.server().port());
  CHECK(Eventually(Patience(), [&] { return server.server().connections().failed > 0; }));
  CHECK(IsServed(*before));

  all.clear();
  const auto after = server.NewStub();
  CHECK(IsServed(*after));
  CHECK(Eventually(Patience(), [&] { return server.server().connections().open == 3; }));
}

TEST_CASE("connections that are not through their handshakes do not hold up the end") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  std::vector<LoopbackConnection> connections;
  for (const std::string sent : {"", "PRI * HTTP"}) {
    connections.push_back(Connect(server.server().port()));
    REQUIRE(connections.back().Send(sent).ok());
  }
  REQUIRE(Eventually(Patience(), [&] { return server.server().connections().open == 2; }));
  const absl::Time begin = absl::Now();
  server.server().Drain(absl::Minutes(1));
  CHECK(absl::Now() - begin < (Server::kGoodbye + absl::Seconds(3)) * Slowness());
}

TEST_CASE("a connection that does not go away ends with the drain, a moment after its calls") {
  EchoServer server;
  REQUIRE(server.Start().ok());
  LoopbackConnection idle = Connect(server.server().port());
  // A connection of HTTP/2 that answers nothing, not even the goodbye.
  REQUIRE(idle.Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                 std::string("\0\0\0\4\0\0\0\0\0", 9)))
              .ok());
  REQUIRE(Eventually(Patience(), [&] { return server.server().connections().open == 1; }));
  const absl::Time begin = absl::Now();
  server.server().Drain(absl::Minutes(1));
  CHECK(absl::Now() - begin < (Server::kGoodbye + absl::Seconds(3)) * Slowness());
  CHECK(IsClosed(idle, Patience()));
}

TEST_CASE("a call that takes longer than the goodbye keeps its connection to its end") {
  testing::ForeignThreads threads(1);
  EchoServer server;
  server.echo = [&threads](Call&, const testing::EchoRequest&,
                           EchoResponse&) -> Task<grpc::Status> {
    co_await threads.Hop(Server::kGoodbye + absl::Milliseconds(500));
    co_return grpc::Status::OK;
  };
  REQUIRE(server.Start().ok());
  const auto stub = server.NewStub();
  bool is_served = false;
  std::jthread caller([&] { is_served = IsServed(*stub, absl::Minutes(1)); });
  REQUIRE(Eventually(Patience(), [&] { return server.server().live_calls() == 1; }));
  server.server().Drain(absl::Minutes(1));
  caller.join();
  CHECK(is_served);
}

TEST_CASE("a wildcard listens for both families, and nobody else gets its port") {
  Server::Options options;
  options.listen = GENERATE("0.0.0.0:0", "[::]:0");
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  const int port = server.server().port();
  CHECK(IsServed(*server.NewStub()));
  const auto v6 = EchoService::NewStub(
      grpc::CreateChannel(absl::StrCat("[::1]:", port), grpc::InsecureChannelCredentials()));
  CHECK(IsServed(*v6));

  for (const char* host : {"127.0.0.1", "[::1]", "0.0.0.0"}) {
    options.listen = absl::StrCat(host, ":", port);
    EchoServer second(options);
    const absl::Status started = second.Start();
    CAPTURE(options.listen);
    CHECK(started.code() == absl::StatusCode::kFailedPrecondition);
  }
}

TEST_CASE("localhost is a name like any other") {
  Server::Options options;
  options.listen = "localhost:0";
  EchoServer server(options);
  REQUIRE(server.Start().ok());
  CHECK(IsServed(*server.NewStub()));
}

}  // namespace
}  // namespace counter::rpc
