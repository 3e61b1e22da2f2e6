#include "tests/support/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace counter::testing {
namespace {

absl::Status Errno(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<LoopbackConnection> LoopbackConnection::Open(int port, absl::Time end) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Errno("socket");
  LoopbackConnection connection(fd, end);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // On the loopback connect answers at once.
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Errno(absl::StrCat("connect to port ", port));
  return connection;
}

LoopbackConnection::LoopbackConnection(LoopbackConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), end_(other.end_) {}

LoopbackConnection::~LoopbackConnection() {
  if (socket_ >= 0) close(socket_);
}

absl::Status LoopbackConnection::Send(absl::string_view data) {
  while (!data.empty()) {
    const absl::Duration left = end_ - absl::Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("not all was taken");
    pollfd ready = {socket_, POLLOUT, 0};
    const int64_t wait_ms =
        std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, int64_t{3'600'000});
    if (poll(&ready, 1, static_cast<int>(wait_ms)) <= 0) continue;
    const ssize_t sent = send(socket_, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return Errno("send");
    data.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LoopbackConnection::Receive() {
  std::string buffer(size_t{64} << 10, '\0');
  while (true) {
    const absl::Duration left = end_ - absl::Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no whole reply in time");
    pollfd ready = {socket_, POLLIN, 0};
    const int64_t wait_ms =
        std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, int64_t{3'600'000});
    if (poll(&ready, 1, static_cast<int>(wait_ms)) <= 0) continue;
    const ssize_t got = recv(socket_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Errno("recv");
    buffer.resize(static_cast<size_t>(got));
    return buffer;
  }
}

}  // namespace counter::testing
