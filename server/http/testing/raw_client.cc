#include "server/http/testing/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace counter::http {

RawClient::RawClient(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

RawClient::~RawClient() { close(fd_); }

void RawClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void RawClient::FinishSending() { shutdown(fd_, SHUT_WR); }

std::string RawClient::Read(const std::string& end, int times) {
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
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

bool RawClient::IsClosed() {
  Read();
  return closed_;
}

std::string Ask(int port, absl::string_view request) {
  RawClient client(port);
  client.Send(request);
  return client.Read();
}

std::unique_ptr<HttpServer> StartServer(const HttpServer::Options& options) {
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

bool Eventually(const std::function<bool()>& holds) {
  const MonotonicTime end = Clock::System().MonotonicNow() + absl::Seconds(10);
  while (!holds()) {
    if (Clock::System().MonotonicNow() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace counter::http
