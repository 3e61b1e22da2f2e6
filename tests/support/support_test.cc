// The small tools of the support library.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/metrics_text.h"
#include "tests/support/temp_dir.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

// Answers one connection with a fixed text.
class OneReply {
 public:
  explicit OneReply(std::string reply) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(listener_, 1) == 0);
    REQUIRE(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, reply = std::move(reply)] {
      const int connection = accept(listener_, nullptr, nullptr);
      char buffer[4096];
      const ssize_t got = recv(connection, buffer, sizeof buffer, 0);
      if (got > 0) request_.assign(buffer, static_cast<size_t>(got));
      if (!reply.empty()) send(connection, reply.data(), reply.size(), MSG_NOSIGNAL);
      // No reply: holds the connection until the client has closed it.
      if (reply.empty()) recv(connection, buffer, sizeof buffer, 0);
      close(connection);
    });
  }
  ~OneReply() {
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }
  int port() const { return port_; }
  const std::string& Request() {
    thread_.join();
    return request_;
  }

 private:
  int listener_ = -1;
  int port_ = 0;
  std::string request_;
  std::thread thread_;
};

TEST_CASE("A temporary directory is gone with its object") {
  std::string path;
  {
    TempDir temp;
    path = temp.path();
    WriteFile(temp.File("a"), "text");
    CHECK(ReadFile(temp.File("a")) == "text");
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(ReadFile(path + "/a").empty());
}

TEST_CASE("Eventually sees a condition that comes true, and gives up at its deadline") {
  int asked = 0;
  CHECK(Eventually(absl::Seconds(10), [&] { return ++asked == 3; }));
  const absl::Time before = absl::Now();
  CHECK_FALSE(Eventually(absl::Milliseconds(30), [] { return false; }));
  CHECK(absl::Now() - before >= absl::Milliseconds(30));
  CHECK(Eventually(absl::ZeroDuration(), [] { return true; }));
}

TEST_CASE("Workers run once each, all at the same time") {
  std::atomic<int> inside = 0;
  std::atomic<int> met = 0;
  RunWorkers(8, [&](int) {
    ++inside;
    // Ends only if all eight are here together.
    if (Eventually(absl::Seconds(10), [&] { return inside == 8; })) ++met;
  });
  CHECK(met == 8);
}

TEST_CASE("A GET gives status, headers and body") {
  OneReply server("HTTP/1.1 404 Not Found\r\nA: b\r\nContent-Length: 4\r\n\r\nwhat");
  const HttpClient::Answer answer = HttpClient(server.port()).Get("/x?y=1");
  CHECK(answer.status == 404);
  CHECK(answer.headers == HttpClient::Headers{{"a", "b"}, {"content-length", "4"}});
  CHECK(answer.body == "what");
  CHECK(server.Request().substr(0, 21) == "GET /x?y=1 HTTP/1.1\r\n");
}

TEST_CASE("A reply that breaks off or never comes is status 0") {
  OneReply broken("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhat");
  CHECK(HttpClient(broken.port()).Get("/").status == 0);
  OneReply silent("");
  CHECK(HttpClient(silent.port(), absl::Milliseconds(50)).Get("/").status == 0);
}

constexpr char kScrape[] = R"(# HELP calls Calls.
# TYPE calls counter
calls{method="Like",code="OK"} 3
calls{method="Like",code="CANCELLED"} 1 1700000000000
calls{method="Unlike",code="OK"} 4
live 2
odd{text="a \"b\" \\ {c},\nd"} 1e3
latency_bucket{le="+Inf"} +Inf
)";

TEST_CASE("Metrics are found by name and labels, and summed over the rest") {
  const absl::StatusOr<MetricsText> metrics = MetricsText::Parse(kScrape);
  REQUIRE(metrics.ok());
  CHECK(metrics->Value("calls", {{"method", "Like"}, {"code", "OK"}}) == 3.0);
  CHECK_FALSE(metrics->Value("calls", {{"method", "Like"}}).has_value());
  CHECK(metrics->Sum("calls", {{"method", "Like"}}) == 4.0);
  CHECK(metrics->Sum("calls") == 8.0);
  CHECK(metrics->Sum("nothing") == 0.0);
  CHECK(metrics->Value("live") == 2.0);
  CHECK(metrics->Value("odd", {{"text", "a \"b\" \\ {c},\nd"}}) == 1000.0);
  CHECK(std::isinf(*metrics->Value("latency_bucket", {{"le", "+Inf"}})));
  CHECK(metrics->Has("live"));
  CHECK_FALSE(metrics->Has("liv"));
}

TEST_CASE("A line that is no sample is an error that shows it") {
  for (const char* line : {"calls", "calls{a=\"b\" 1", "calls{a=b} 1", "{} 1", "calls one"}) {
    const absl::Status status = MetricsText::Parse(line).status();
    CHECK(status.message().find(line) != absl::string_view::npos);
  }
}

TEST_CASE("A file whose reading fails midway is read as empty, without an exception") {
  // A folder opens and then fails to be read, as a file of /proc does whose process has ended.
  const TempDir folder;
  std::string text = "not read";
  CHECK_NOTHROW(text = ReadFile(folder.File("")));
  CHECK(text.empty());
}

}  // namespace
}  // namespace counter::testing
