// Handlers that wait, and clients that go meanwhile.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/http/http_server.h"
#include "server/http/testing/raw_client.h"
#include "server/http/testing/slow_handler.h"

namespace counter::http {
namespace {

TEST_CASE("a handler that waits holds up nobody, and may answer from another thread") {
  SlowHandler slow;
  HttpServer server({});
  server.AddRoute("GET", "/slow", slow.AsHandler());
  server.AddRoute("GET", "/quick",
                  Immediately([](const Request&) -> Response { return {.body = "quick."}; }));
  REQUIRE(server.Start().ok());
  std::vector<std::unique_ptr<RawClient>> waiting;
  for (int i = 0; i < 10; ++i) {
    waiting.push_back(std::make_unique<RawClient>(server.port()));
    waiting.back()->Send("GET /slow HTTP/1.1\r\n\r\n");
    REQUIRE(slow.WaitForWaiting(i + 1));
  }
  CHECK(absl::EndsWith(Ask(server.port(), "GET /quick HTTP/1.0\r\n\r\n"), "quick."));
  for (int i = 0; i < 10; ++i) slow.AnswerOne(absl::StrCat("answer ", i, "."));
  for (int i = 0; i < 10; ++i) {
    CHECK(absl::EndsWith(waiting[i]->Read("."), absl::StrCat("answer ", i, ".")));
  }
}

TEST_CASE("pipelined requests wait for a slow one before them, and none is lost") {
  SlowHandler slow;
  HttpServer server({});
  server.AddRoute("GET", "/slow", slow.AsHandler());
  REQUIRE(server.Start().ok());
  RawClient client(server.port());
  client.Send("GET /slow HTTP/1.1\r\n\r\nGET /slow HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 2; ++i) {
    REQUIRE(slow.WaitForWaiting(1));
    CHECK_FALSE(slow.FirstIsCancelled());
    slow.AnswerOne(absl::StrCat("<", i, ">"));
    CHECK(absl::EndsWith(client.Read(absl::StrCat("<", i, ">")), absl::StrCat("<", i, ">")));
  }
}

TEST_CASE("a client that goes cancels its request, and only its own") {
  SlowHandler slow;
  HttpServer server({});
  server.AddRoute("GET", "/slow", slow.AsHandler());
  REQUIRE(server.Start().ok());
  auto gone = std::make_unique<RawClient>(server.port());
  gone->Send("GET /slow HTTP/1.1\r\n\r\n");
  REQUIRE(slow.WaitForWaiting(1));
  RawClient stays(server.port());
  stays.Send("GET /slow HTTP/1.1\r\n\r\n");
  REQUIRE(slow.WaitForWaiting(2));
  gone.reset();
  CHECK(Eventually([&] { return slow.FirstIsCancelled(); }));
  slow.AnswerOne("nobody reads this");
  CHECK_FALSE(slow.FirstIsCancelled());
  slow.AnswerOne("here.");
  CHECK(absl::EndsWith(stays.Read("."), "here."));
}

}  // namespace
}  // namespace counter::http
