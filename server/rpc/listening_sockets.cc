#include "server/rpc/listening_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace counter::rpc {
namespace {

struct HostAndPort {
  std::string host;
  int port = 0;
};

absl::Status CannotListen(const std::string& address, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", address, ": ", why));
}

absl::Status PortTaken(const std::string& address) {
  return CannotListen(address,
                      "the port is taken, or the address is not one of this machine; stop the "
                      "other listener or choose another address");
}

absl::StatusOr<HostAndPort> Split(const std::string& address) {
  const size_t colon = address.rfind(':');
  HostAndPort split;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &split.port) ||
      split.port < 0 || split.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot listen on ", address, ": expected host:port with a port from 0 to 65535"));
  }
  split.host = address.substr(0, colon);
  if (split.host.size() >= 2 && split.host.front() == '[' && split.host.back() == ']') {
    split.host = split.host.substr(1, split.host.size() - 2);
  }
  return split;
}

bool IsWildcard(absl::string_view host) { return host == "0.0.0.0" || host == "::"; }

void Switch(const Socket& socket, int level, int option, int value) {
  setsockopt(socket.fd(), level, option, &value, sizeof value);
}

// A socket that listens on `address`, or errno.
Socket ListenOn(const sockaddr& address, socklen_t size, absl::Duration send_timeout) {
  Socket socket(::socket(address.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.ok()) return socket;
  // What the last server's connections left behind is no reason to refuse; SO_REUSEPORT would be
  // another one's port.
  Switch(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  // Connections inherit these.
  Switch(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  Switch(socket, IPPROTO_TCP, TCP_USER_TIMEOUT,
         static_cast<int>(absl::ToInt64Milliseconds(send_timeout)));
  if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    const bool is_wildcard = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) != 0;
    Switch(socket, IPPROTO_IPV6, IPV6_V6ONLY, is_wildcard ? 0 : 1);
  }
  if (bind(socket.fd(), &address, size) != 0 || listen(socket.fd(), SOMAXCONN) != 0) {
    const int why = errno;
    socket = Socket();
    errno = why;
  }
  return socket;
}

int PortOf(const Socket& socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof name;
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  // At the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

absl::StatusOr<ListeningSockets> ListenEverywhere(const std::string& address, int port,
                                                  absl::Duration send_timeout) {
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<uint16_t>(port));
  Socket socket = ListenOn(reinterpret_cast<const sockaddr&>(v6), sizeof v6, send_timeout);
  if (!socket.ok() && errno != EADDRINUSE) {
    // Without IPv6.
    sockaddr_in v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = v6.sin6_port;
    socket = ListenOn(reinterpret_cast<const sockaddr&>(v4), sizeof v4, send_timeout);
  }
  if (!socket.ok()) return PortTaken(address);
  ListeningSockets listening;
  listening.port = PortOf(socket);
  listening.sockets.push_back(std::move(socket));
  return listening;
}

void SetPort(sockaddr& address, int port) {
  reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<uint16_t>(port));
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) close(fd_);
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<ListeningSockets> Listen(const std::string& address, absl::Duration send_timeout) {
  const absl::StatusOr<HostAndPort> split = Split(address);
  if (!split.ok()) return split.status();
  if (IsWildcard(split->host)) return ListenEverywhere(address, split->port, send_timeout);

  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(split->host.c_str(), nullptr, &hints, &found);
  if (failed != 0) return CannotListen(address, gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);

  ListeningSockets listening;
  listening.port = split->port;
  std::set<std::string> seen;  // A hosts file may name an address twice.
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SetPort(*one->ai_addr, 0);
    if (!seen.emplace(reinterpret_cast<const char*>(one->ai_addr), one->ai_addrlen).second) {
      continue;
    }
    SetPort(*one->ai_addr, listening.port);
    Socket socket = ListenOn(*one->ai_addr, one->ai_addrlen, send_timeout);
    // An address that this machine has not, such as ::1 of localhost without IPv6, is no fault as
    // long as there is another one.
    if (!socket.ok() && errno == EADDRINUSE) return PortTaken(address);
    if (!socket.ok()) continue;
    listening.port = PortOf(socket);
    listening.sockets.push_back(std::move(socket));
  }
  if (listening.sockets.empty()) return PortTaken(address);
  return listening;
}

}  // namespace counter::rpc
