// How a server starts, drains and stops.
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "server/http/http_server.h"
#include "server/http/testing/raw_client.h"
#include "server/http/testing/slow_handler.h"

namespace counter::http {
namespace {

TEST_CASE("a taken port is refused by its name, and its owner is not disturbed") {
  const auto server = StartServer();
  HttpServer second({.port = server->port()});
  const absl::Status refused = second.Start();
  REQUIRE_FALSE(refused.ok());
  CHECK(absl::StrContains(refused.message(), absl::StrCat("127.0.0.1:", server->port())));
  CHECK(absl::StrContains(refused.message(), "in use"));
  for (int i = 0; i < 20; ++i) {
    REQUIRE(absl::StrContains(Ask(server->port(), "GET /hello HTTP/1.0\r\n\r\n"), " 200 OK"));
  }
}

TEST_CASE("an address that is not this machine's is refused") {
  HttpServer server({.host = "192.0.2.1", .port = 1234});
  CHECK(absl::StrContains(server.Start().message(), "192.0.2.1:1234"));
  HttpServer nowhere({.host = "no-such-host.invalid"});
  CHECK_FALSE(nowhere.Start().ok());
}

TEST_CASE("a stopped server closes its connections and frees its port") {
  auto server = StartServer();
  const int port = server->port();
  RawClient idle(port);
  RawClient busy(port);
  busy.Send("GET /hello HTTP/1.1\r\n\r\nGET ");
  REQUIRE(absl::EndsWith(busy.Read("hello ."), "hello ."));
  const MonotonicTime start = Clock::System().MonotonicNow();
  server->Stop();
  CHECK(Between(start, Clock::System().MonotonicNow()) < absl::Seconds(5));
  CHECK(idle.IsClosed());
  CHECK(busy.IsClosed());
  CHECK_FALSE(RawClient(port).connected());
  server->Stop();
  HttpServer next({.port = port});
  CHECK(next.Start().ok());
}

TEST_CASE("a server that was never started can be stopped") {
  HttpServer server({});
  server.Stop();
}

TEST_CASE("a server that drains finishes what it has begun and takes nothing new") {
  SlowHandler slow;
  HttpServer server({.goodbye_timeout = absl::Seconds(20)});
  server.AddRoute("GET", "/slow", slow.AsHandler());
  REQUIRE(server.Start().ok());
  RawClient idle(server.port());
  RawClient busy(server.port());
  busy.Send("GET /slow HTTP/1.1\r\n\r\n");
  RawClient halfway(server.port());
  halfway.Send("GET /slow HTTP/1.1\r\n");
  REQUIRE(slow.WaitForWaiting(1));
  REQUIRE(Eventually([&] { return server.connections() == 3; }));
  std::thread drain([&] { server.Drain(absl::Seconds(20)); });
  CHECK(idle.IsClosed());
  CHECK_FALSE(RawClient(server.port()).connected());
  halfway.Send("\r\n");
  CHECK(slow.WaitForWaiting(2));
  slow.AnswerOne("done.");
  slow.AnswerOne("done.");
  const MonotonicTime start = Clock::System().MonotonicNow();
  drain.join();
  CHECK(Between(start, Clock::System().MonotonicNow()) < absl::Seconds(10));
  for (RawClient* client : {&busy, &halfway}) {
    const std::string answer = client->Read("done.");
    CHECK(absl::StrContains(answer, "Connection: close\r\n"));
    CHECK(absl::EndsWith(answer, "done."));
    CHECK(client->IsClosed());
  }
  server.Stop();
}

TEST_CASE("who takes no answer, or sends no rest of a request, does not hold up a drain") {
  SlowHandler slow;
  HttpServer server({.request_timeout = absl::Minutes(2),
                     .response_timeout = absl::Minutes(2),
                     .goodbye_timeout = absl::Milliseconds(300)});
  server.AddRoute("GET", "/slow", slow.AsHandler());
  REQUIRE(server.Start().ok());
  RawClient silent(server.port());
  silent.Send("GET /slow HTTP/1.1\r\n\r\n");
  REQUIRE(slow.WaitForWaiting(1));
  // More than the buffers on the way hold.
  slow.AnswerOne(std::string(size_t{64} << 20, 'x'));
  RawClient halfway(server.port());
  halfway.Send("GET /slow HTTP/1.1\r\n");
  RawClient busy(server.port());
  busy.Send("GET /slow HTTP/1.1\r\n\r\n");
  REQUIRE(slow.WaitForWaiting(1));
  REQUIRE(Eventually([&] { return server.connections() == 3; }));
  const MonotonicTime start = Clock::System().MonotonicNow();
  std::thread drain([&] { server.Drain(absl::Minutes(1)); });
  // A handler at work is waited for.
  CHECK(halfway.IsClosed());
  CHECK(Eventually([&] { return server.connections() == 1; }));
  slow.AnswerOne("done.");
  CHECK(absl::EndsWith(busy.Read("done."), "done."));
  drain.join();
  CHECK(Between(start, Clock::System().MonotonicNow()) < absl::Seconds(30));
  server.Stop();
}

TEST_CASE("a stop cancels what handlers work on and waits for them") {
  SlowHandler slow;
  HttpServer server({});
  server.AddRoute("GET", "/slow", slow.AsHandler());
  REQUIRE(server.Start().ok());
  RawClient client(server.port());
  client.Send("GET /slow HTTP/1.1\r\n\r\n");
  REQUIRE(slow.WaitForWaiting(1));
  server.Drain(absl::ZeroDuration());
  std::atomic<bool> stopped{false};
  std::thread stop([&] {
    server.Stop();
    stopped = true;
  });
  CHECK(Eventually([&] { return slow.FirstIsCancelled(); }));
  CHECK(client.IsClosed());
  CHECK_FALSE(stopped);
  slow.AnswerOne("too late");
  stop.join();
}

}  // namespace
}  // namespace counter::http
