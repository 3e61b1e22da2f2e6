// What is answered: requests, routes, headers, whole connections.
#include "server/http/http_server.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/http/testing/raw_client.h"

namespace counter::http {
namespace {

TEST_CASE("a request is answered, the query apart from the path") {
  const auto server = StartServer();
  const std::string answer =
      Ask(server->port(), "GET /hello?you HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(absl::StartsWith(answer, "HTTP/1.1 200 OK\r\n"));
  CHECK(absl::StrContains(answer, "Content-Type: text/plain; charset=utf-8\r\n"));
  CHECK(absl::StrContains(answer, "Content-Length: 10\r\n"));
  CHECK(absl::EndsWith(answer, "\r\n\r\nhello you."));
}

TEST_CASE("HEAD gets what GET gets, without the body") {
  const auto server = StartServer();
  const std::string answer =
      Ask(server->port(), "HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(absl::StartsWith(answer, "HTTP/1.1 200 OK\r\n"));
  CHECK(absl::StrContains(answer, "Content-Length: 7\r\n"));
  CHECK(absl::EndsWith(answer, "\r\n\r\n"));
}

TEST_CASE("what is not there is 404, a wrong method 405 with the right ones") {
  const auto server = StartServer();
  CHECK(absl::StartsWith(Ask(server->port(), "GET /none HTTP/1.0\r\n\r\n"), "HTTP/1.1 404 "));
  CHECK(absl::StartsWith(Ask(server->port(), "GET /hello/ HTTP/1.0\r\n\r\n"), "HTTP/1.1 404 "));
  CHECK(absl::StartsWith(Ask(server->port(), "GET * HTTP/1.0\r\n\r\n"), "HTTP/1.1 404 "));
  const std::string wrong = Ask(server->port(), "DELETE /hello HTTP/1.0\r\n\r\n");
  CHECK(absl::StartsWith(wrong, "HTTP/1.1 405 "));
  CHECK(absl::StrContains(wrong, "Allow: GET, HEAD\r\n"));
  CHECK(absl::StartsWith(Ask(server->port(), "FROB /hello HTTP/1.0\r\n\r\n"), "HTTP/1.1 405 "));
}

TEST_CASE("a connection serves one request after the other") {
  const auto server = StartServer();
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.Send(absl::StrCat("GET /hello?", i, " HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(absl::EndsWith(client.Read(absl::StrCat("hello ", i, ".")),
                         absl::StrCat("hello ", i, ".")));
  }
}

TEST_CASE("pipelined requests are answered in order") {
  const auto server = StartServer();
  RawClient client(server->port());
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&requests, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n<",
                    1000 + i, ">");
  }
  client.Send(requests);
  const std::string answers = client.Read(">", 100);
  size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = answers.find(absl::StrCat("<", 1000 + i, ">"), at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("a response carries its headers, a request its own") {
  HttpServer server({});
  server.AddRoute("GET", "/x", Immediately([](const Request& request) -> Response {
                    const std::string* sent = request.Header("x-sent");
                    return {.body = sent == nullptr ? "none" : *sent,
                            .headers = {{"X-Made", "a"}, {"Retry-After", "1"}},
                            .cache_control = "max-age=5"};
                  }));
  REQUIRE(server.Start().ok());
  const std::string answer = Ask(server.port(), "GET /x HTTP/1.0\r\nX-SENT: b c\r\n\r\n");
  CHECK(absl::StrContains(answer, "X-Made: a\r\n"));
  CHECK(absl::StrContains(answer, "Retry-After: 1\r\n"));
  CHECK(absl::StrContains(answer, "Cache-Control: max-age=5\r\n"));
  CHECK(absl::EndsWith(answer, "\r\n\r\nb c"));
}

TEST_CASE("the observer is told each response by its route, and no path makes a name") {
  std::vector<std::string> told;
  HttpServer::Options options;
  options.observer = [&told](const std::string& route, int status, absl::Duration) {
    told.push_back(absl::StrCat(route, " ", status));
  };
  options.refusal = [](const std::string& path, int status, const std::string& why) -> Response {
    return {.status = status, .content_type = "text/x-test", .body = path + "{" + why + "}"};
  };
  auto server = StartServer(options);
  CHECK(server->RouteNames() == std::vector<std::string>{"unknown", "POST /echo", "GET /hello"});
  Ask(server->port(), "HEAD /hello?x HTTP/1.0\r\n\r\n");
  const std::string refused = Ask(server->port(), "GET /none HTTP/1.0\r\n\r\n");
  CHECK(absl::StrContains(refused, "Content-Type: text/x-test\r\n"));
  CHECK(absl::EndsWith(refused, "/none{There is nothing at this path.}"));
  Ask(server->port(), "PUT /hello HTTP/1.0\r\n\r\n");
  Ask(server->port(), "garbage\r\n\r\n");
  server->Stop();
  CHECK(told ==
        std::vector<std::string>{"GET /hello 200", "unknown 404", "unknown 405", "unknown 400"});
}

TEST_CASE("the first event comes with the answer, and not a period later") {
  HttpServer server({});
  std::atomic<int> made{0};
  server.AddEventStream("/events", absl::Hours(1), 2,
                        [&made] { return absl::StrCat("<", ++made, ">"); });
  REQUIRE(server.Start().ok());
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->Send("GET /events HTTP/1.1\r\n\r\n");
    CHECK(absl::StrContains(clients.back()->Read("\n\n"), "data: <1>\n\n"));
  }
  server.Stop();
}

TEST_CASE("events go to all who listen, and one listener too many is refused") {
  HttpServer server({});
  std::atomic<int> made{0};
  server.AddEventStream("/events", absl::Milliseconds(5), 2,
                        [&made] { return absl::StrCat("<", ++made, ">"); });
  REQUIRE(server.Start().ok());
  RawClient first(server.port());
  first.Send("GET /events HTTP/1.1\r\n\r\n");
  const std::string begin = first.Read("\n\n", 3);
  CHECK(absl::StartsWith(begin, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
  CHECK(absl::StrContains(begin, "data: <2>\n\n"));
  auto second = std::make_unique<RawClient>(server.port());
  second->Send("GET /events HTTP/1.1\r\n\r\n");
  CHECK(absl::StrContains(second->Read("\n\n", 2), "data: <"));
  CHECK(absl::StartsWith(Ask(server.port(), "GET /events HTTP/1.0\r\n\r\n"), "HTTP/1.1 503 "));
  // One that goes makes room; and when nobody listens nothing is made.
  second.reset();
  CHECK(Eventually([&] {
    RawClient third(server.port());
    third.Send("GET /events HTTP/1.1\r\n\r\n");
    return absl::StartsWith(third.Read("\r\n"), "HTTP/1.1 200 ");
  }));
  server.Stop();
  CHECK(first.IsClosed());
}

}  // namespace
}  // namespace counter::http
