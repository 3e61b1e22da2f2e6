#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "server/http/operator_routes.h"

namespace counter::http {
namespace {

// A client that sends exactly the bytes it is told.
class RawClient {
 public:
  explicit RawClient(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { close(fd_); }
  RawClient(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void Send(absl::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(sent);
    }
  }
  void FinishSending() { shutdown(fd_, SHUT_WR); }
  // What comes until `end` has come so often, the server closes, or 10 s have passed.
  std::string Read(const std::string& end = "", int times = 1) {
    std::string text;
    size_t seen = 0;
    const MonotonicTime deadline = Clock::System().MonotonicNow() + absl::Seconds(10);
    while (Clock::System().MonotonicNow() < deadline) {
      while (!end.empty() && times > 0 && text.find(end, seen) != std::string::npos) {
        seen = text.find(end, seen) + end.size();
        --times;
      }
      if (!end.empty() && times == 0) return text;
      pollfd descriptor{fd_, POLLIN, 0};
      if (poll(&descriptor, 1, 100) <= 0) continue;
      char buffer[16384];
      const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) {
        closed_ = true;
        return text;
      }
      text.append(buffer, got);
    }
    return text;
  }
  // Whether the server has ended the connection; waits for it.
  bool IsClosed() {
    Read();
    return closed_;
  }

 private:
  const int fd_;
  bool connected_ = false;
  bool closed_ = false;
};

std::unique_ptr<HttpServer> StartServer(const HttpServer::Options& options = {}) {
  auto server = std::make_unique<HttpServer>(options);
  server->AddRoute("GET", "/hello", Immediately([](const Request& request) -> Response {
                     return {.body = absl::StrCat("hello ", request.query, ".")};
                   }));
  server->AddRoute("POST", "/echo", Immediately([](const Request& request) -> Response {
                     return {.body = request.body};
                   }));
  REQUIRE(server->Start().ok());
  REQUIRE(server->port() > 0);
  return server;
}

std::string Ask(int port, absl::string_view request) {
  RawClient client(port);
  client.Send(request);
  return client.Read();
}

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

// A handler whose requests wait, as for a store, until the test answers them from its own thread.
class SlowHandler {
 public:
  Handler AsHandler() {
    return [this](const Request& request) { return Answer(*this, request); };
  }

  // How many requests wait; waits until that is `count`.
  bool WaitForWaiting(size_t count) {
    const MonotonicTime end = Clock::System().MonotonicNow() + absl::Seconds(10);
    MutexLock lock(mutex_);
    while (waiting_.size() != count && Clock::System().MonotonicNow() < end) {
      changed_.WaitUntil(mutex_, end);
    }
    return waiting_.size() == count;
  }
  // Answers the request that has waited longest. Requires that one waits.
  void AnswerOne(const std::string& body) {
    std::optional<Waiting> first;
    {
      MutexLock lock(mutex_);
      first = std::move(waiting_.front());
      waiting_.pop_front();
    }
    first->resume(body);
  }
  bool FirstIsCancelled() {
    MutexLock lock(mutex_);
    return waiting_.front().cancellation.cancelled();
  }

 private:
  struct Waiting {
    Resumer<std::string> resume;
    Cancellation cancellation;
  };

  static Task<Response> Answer(SlowHandler& handler, const Request& request) {
    auto wait = [&](Resumer<std::string> resume) {
      MutexLock lock(handler.mutex_);
      handler.waiting_.push_back({resume, request.cancellation});
      handler.changed_.NotifyAll();
    };
    CallbackAwaitable<std::string, decltype(wait)> answer(wait);
    std::string body = co_await answer;
    co_return Response{.body = std::move(body)};
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

bool Eventually(const std::function<bool()>& holds) {
  const MonotonicTime end = Clock::System().MonotonicNow() + absl::Seconds(10);
  while (!holds()) {
    if (Clock::System().MonotonicNow() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

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

TEST_CASE("a server that drains finishes what it has begun and takes nothing new") {
  SlowHandler slow;
  HttpServer server({});
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

TEST_CASE("the observer is told each response by its route, and no path makes a name") {
  std::vector<std::string> told;
  HttpServer::Options options;
  options.observer = [&told](const std::string& route, int status, absl::Duration) {
    told.push_back(absl::StrCat(route, " ", status));
  };
  options.refusal = [](int status, const std::string& why) -> Response {
    return {.status = status, .content_type = "text/x-test", .body = "{" + why + "}"};
  };
  auto server = StartServer(options);
  CHECK(server->RouteNames() == std::vector<std::string>{"unknown", "POST /echo", "GET /hello"});
  Ask(server->port(), "HEAD /hello?x HTTP/1.0\r\n\r\n");
  const std::string refused = Ask(server->port(), "GET /none HTTP/1.0\r\n\r\n");
  CHECK(absl::StrContains(refused, "Content-Type: text/x-test\r\n"));
  CHECK(absl::EndsWith(refused, "{There is nothing at this path.}"));
  Ask(server->port(), "PUT /hello HTTP/1.0\r\n\r\n");
  Ask(server->port(), "garbage\r\n\r\n");
  server->Stop();
  CHECK(told ==
        std::vector<std::string>{"GET /hello 200", "unknown 404", "unknown 405", "unknown 400"});
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

TEST_CASE("health is 200 while all is well and 503 with the reason when not") {
  HttpServer server({});
  std::atomic<bool> ok{true};
  AddHealthRoute(server, [&ok]() -> Health {
    return {.ok = ok, .details = {{"store", ok ? "up" : "\"down\""}}};
  });
  AddMetricsRoute(server, "text/plain; version=0.0.4", [] { return std::string("up 1\n"); });
  REQUIRE(server.Start().ok());
  const std::string up = Ask(server.port(), "GET /health HTTP/1.0\r\n\r\n");
  CHECK(absl::StartsWith(up, "HTTP/1.1 200 "));
  CHECK(absl::StrContains(up, "Content-Type: application/json\r\n"));
  CHECK(absl::EndsWith(up, "{\"status\":\"ok\",\"store\":\"up\"}\n"));
  ok = false;
  const std::string down = Ask(server.port(), "GET /health HTTP/1.0\r\n\r\n");
  CHECK(absl::StartsWith(down, "HTTP/1.1 503 "));
  CHECK(absl::EndsWith(down, "{\"status\":\"degraded\",\"store\":\"\\\"down\\\"\"}\n"));
  const std::string metrics = Ask(server.port(), "GET /metrics HTTP/1.0\r\n\r\n");
  CHECK(absl::StrContains(metrics, "Content-Type: text/plain; version=0.0.4\r\n"));
  CHECK(absl::EndsWith(metrics, "\r\n\r\nup 1\n"));
}

}  // namespace
}  // namespace counter::http
