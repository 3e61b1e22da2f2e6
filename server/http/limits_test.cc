// What is refused, and who is closed: every limit of the server.
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "server/http/http_server.h"
#include "server/http/testing/raw_client.h"

namespace counter::http {
namespace {

TEST_CASE("a body comes whole, by length or in chunks, and not above its limit") {
  const auto server = StartServer({.body_bytes_max = 1000});
  const auto post = [&](absl::string_view head_and_body) {
    return Ask(server->port(),
               absl::StrCat("POST /echo HTTP/1.1\r\nConnection: close\r\n", head_and_body));
  };
  CHECK(absl::EndsWith(post("Content-Length: 3\r\n\r\nabc"), "\r\n\r\nabc"));
  CHECK(absl::EndsWith(post("Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"),
                       "\r\n\r\nabc"));
  const std::string large(1001, 'x');
  CHECK(
      absl::StartsWith(post(absl::StrCat("Content-Length: 1001\r\n\r\n", large)), "HTTP/1.1 413 "));
  CHECK(absl::StartsWith(
      post(absl::StrCat("Transfer-Encoding: chunked\r\n\r\n3e9\r\n", large, "\r\n0\r\n\r\n")),
      "HTTP/1.1 413 "));
  CHECK(absl::StartsWith(post("Content-Length: 99999999999999999999\r\n\r\n"), "HTTP/1.1 4"));
}

TEST_CASE("what is too large is refused in the form of its path") {
  HttpServer::Options options;
  options.body_bytes_max = 10;
  options.refusal = [](const std::string& path, int status, const std::string&) -> Response {
    return {.status = status, .body = "<" + path + ">"};
  };
  const auto server = StartServer(options);
  CHECK(absl::EndsWith(Ask(server->port(), "POST /echo?x HTTP/1.1\r\nContent-Length: 11\r\n\r\n"),
                       "</echo>"));
  CHECK(absl::EndsWith(Ask(server->port(), "garbage\r\n\r\n"), "<>"));
}

TEST_CASE("a header above its limit is refused, however it is made") {
  const auto server = StartServer();
  const std::string large(9000, 'x');
  CHECK(absl::StartsWith(Ask(server->port(), "GET /" + large + " HTTP/1.1\r\n\r\n"),
                         "HTTP/1.1 431 "));
  CHECK(absl::StartsWith(Ask(server->port(), "GET /hello HTTP/1.1\r\nA: " + large + "\r\n\r\n"),
                         "HTTP/1.1 431 "));
  std::string many = "GET /hello HTTP/1.1\r\n";
  for (int i = 0; i < 20'000; ++i) many += "A: b\r\n";
  CHECK(absl::StartsWith(Ask(server->port(), many), "HTTP/1.1 431 "));
  CHECK(absl::StrContains(
      Ask(server->port(), "GET /hello HTTP/1.0\r\nA: " + large.substr(2000) + "\r\n\r\n"),
      " 200 OK"));
}

TEST_CASE("garbage is refused or ignored, and the server lives on") {
  const auto server = StartServer();
  CHECK(absl::StartsWith(Ask(server->port(), "hello\r\n\r\n"), "HTTP/1.1 400 "));
  CHECK(absl::StartsWith(Ask(server->port(), "GET /hello HTTP/9.9\r\n\r\n"), "HTTP/1.1 400 "));
  CHECK(absl::StartsWith(Ask(server->port(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP/1.1 400 "));
  CHECK(absl::StartsWith(Ask(server->port(),
                             "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: "
                             "chunked\r\n\r\n0\r\n\r\n"),
                         "HTTP/1.1 400 "));
  const uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 100; ++i) {
    std::string bytes = random() % 2 == 0 ? "" : "GET /hello HTTP/1.1\r\n";
    for (size_t n = random() % 300; n > 0; --n) bytes.push_back(static_cast<char>(random()));
    RawClient client(server->port());
    client.Send(bytes);
    client.FinishSending();
    REQUIRE(client.IsClosed());
  }
  CHECK(absl::StrContains(Ask(server->port(), "GET /hello HTTP/1.0\r\n\r\n"), " 200 OK"));
}

TEST_CASE("who sends a byte now and then is closed when the request's time is up") {
  const auto server = StartServer({.request_timeout = absl::Milliseconds(300)});
  RawClient client(server->port());
  client.Send("GET /hello HTTP/1.1\r\nA: ");
  const MonotonicTime start = Clock::System().MonotonicNow();
  std::string got;
  // The next byte goes out each time that nothing has come for a while.
  while (Between(start, Clock::System().MonotonicNow()) < absl::Seconds(10)) {
    client.Send("x");
    RawClient other(server->port());
    other.Send("GET /hello HTTP/1.0\r\n\r\n");
    REQUIRE(absl::StrContains(other.Read(), " 200 OK"));
    if (Between(start, Clock::System().MonotonicNow()) > absl::Milliseconds(600)) break;
  }
  CHECK(client.IsClosed());
  CHECK(Between(start, Clock::System().MonotonicNow()) < absl::Seconds(8));
}

TEST_CASE("an idle connection is closed when its time is up") {
  const auto server = StartServer({.idle_timeout = absl::Milliseconds(100)});
  RawClient never_asked(server->port());
  RawClient asked(server->port());
  asked.Send("GET /hello HTTP/1.1\r\n\r\n");
  CHECK(absl::EndsWith(asked.Read("hello ."), "hello ."));
  CHECK(never_asked.IsClosed());
  CHECK(asked.IsClosed());
}

TEST_CASE("who does not take the response is closed when its time is up") {
  HttpServer server({.response_timeout = absl::Milliseconds(200)});
  server.AddRoute("GET", "/large", Immediately([](const Request&) -> Response {
                    return {.body = std::string(32 << 20, 'x')};
                  }));
  REQUIRE(server.Start().ok());
  RawClient client(server.port());
  client.Send("GET /large HTTP/1.1\r\n\r\n");
  RawClient other(server.port());
  // The other one is served meanwhile, until the first one's time is long over.
  const MonotonicTime start = Clock::System().MonotonicNow();
  while (Between(start, Clock::System().MonotonicNow()) < absl::Milliseconds(500)) {
    other.Send("GET /none HTTP/1.1\r\n\r\n");
    REQUIRE(absl::StrContains(other.Read("path.\n"), " 404 "));
  }
  const std::string got = client.Read();
  CHECK(got.size() < 32 << 20);
  CHECK(client.IsClosed());
}

TEST_CASE("one connection too many takes the place of the longest idle one") {
  const auto server = StartServer({.connections_max = 3});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->Send("GET /hello HTTP/1.1\r\n\r\n");
    REQUIRE(absl::EndsWith(clients.back()->Read("hello ."), "hello ."));
  }
  CHECK(clients[0]->IsClosed());
  for (int i = 1; i < 4; ++i) {
    clients[i]->Send("GET /hello HTTP/1.1\r\n\r\n");
    CHECK(absl::EndsWith(clients[i]->Read("hello ."), "hello ."));
  }
}

TEST_CASE("one connection too many is closed while all others are busy") {
  const auto server = StartServer({.connections_max = 2});
  RawClient first(server->port());
  RawClient second(server->port());
  for (RawClient* client : {&first, &second}) {
    client->Send("GET /hello HTTP/1.1\r\n\r\nGET /hello HTTP/1.1\r\n");
    REQUIRE(absl::EndsWith(client->Read("hello ."), "hello ."));
  }
  RawClient third(server->port());
  CHECK(third.IsClosed());
  first.Send("\r\n");
  CHECK(absl::EndsWith(first.Read("hello ."), "hello ."));
}

}  // namespace
}  // namespace counter::http
