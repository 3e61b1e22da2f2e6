#include "tests/support/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace counter::testing {
namespace {

constexpr int kLookForEndMs = 20;
constexpr int kLookAtKeptMs = 2;

// An address as the kernel wants it.
struct SocketName {
  explicit SocketName(const Proxy::Address& address) {
    if (address.path.empty()) {
      internet.sin_family = AF_INET;
      internet.sin_port = htons(static_cast<uint16_t>(address.port));
      internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      name = reinterpret_cast<sockaddr*>(&internet);
      size = sizeof internet;
    } else {
      local.sun_family = AF_UNIX;
      std::strncpy(local.sun_path, address.path.c_str(), sizeof local.sun_path - 1);
      name = reinterpret_cast<sockaddr*>(&local);
      size = sizeof local;
    }
  }
  SocketName(const SocketName&) = delete;
  SocketName& operator=(const SocketName&) = delete;

  int Open() const { return socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0); }

  sockaddr_in internet = {};
  sockaddr_un local = {};
  sockaddr* name = nullptr;
  socklen_t size = 0;
};

void SetBuffers(int fd, int bytes) {
  if (bytes == 0) return;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

void CloseWithReset(int fd) {
  const linger at_once = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(fd);
}

}  // namespace

// One connection: a thread for each direction; the last one out closes it.
class Proxy::Line {
 public:
  Line(int client, int server, std::unique_ptr<ProxyTap> tap)
      : client_(client),
        server_(server),
        tap_(std::move(tap)),
        up_([this] { Pump(client_, server_, &ProxyTap::FromClient, [] { return false; }); }),
        down_([this] {
          Pump(server_, client_, &ProxyTap::FromServer,
               [this] { return tap_ != nullptr && tap_->KeepsForClient(); });
        }) {}
  ~Line() {
    Break();
    up_.join();
    down_.join();
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  bool over() const { return pumping_ == 0; }
  bool IsOver() const { return tap_ != nullptr && tap_->IsOver(); }

  void Break() {
    broken_ = true;
    MutexLock lock(mutex_);
    if (is_closed_) return;
    // Whoever waits to read wakes up; nothing is sent yet.
    shutdown(client_, SHUT_RD);
    shutdown(server_, SHUT_RD);
  }

  void HalfClose() {
    MutexLock lock(mutex_);
    if (!is_closed_) shutdown(server_, SHUT_WR);
  }

 private:
  void Pump(int from, int to, bool (ProxyTap::*look)(std::string&),
            const std::function<bool()>& keeps_some) {
    std::vector<char> buffer(static_cast<size_t>(1) << 14);
    bool goes_on = true;
    while (goes_on && !broken_) {
      pollfd readable = {from, POLLIN, 0};
      const bool is_quiet = keeps_some() && poll(&readable, 1, kLookAtKeptMs) == 0;
      const ssize_t got = is_quiet ? 0 : recv(from, buffer.data(), buffer.size(), 0);
      if (got < 0 || (got == 0 && !is_quiet)) break;
      std::string bytes(buffer.data(), static_cast<size_t>(got));
      if (tap_ != nullptr) goes_on = (tap_.get()->*look)(bytes);
      goes_on = PassOn(to, bytes) && goes_on;
    }
    Break();
    if (--pumping_ != 0) return;
    MutexLock lock(mutex_);
    is_closed_ = true;
    close(server_);
    CloseWithReset(client_);
  }

  bool PassOn(int to, absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<size_t>(sent));
        continue;
      }
      if (errno != EAGAIN || broken_) return false;
      pollfd writable = {to, POLLOUT, 0};
      poll(&writable, 1, kLookForEndMs);
    }
    return true;
  }

  const int client_;
  const int server_;
  const std::unique_ptr<ProxyTap> tap_;
  std::atomic<bool> broken_ = false;
  std::atomic<int> pumping_ = 2;
  Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread up_;
  std::thread down_;
};

Proxy::Proxy(Options options) : options_(std::move(options)), server_(options_.server) {
  SocketName name(options_.listen);
  const bool is_given = options_.listener >= 0;
  listener_ = is_given ? options_.listener : name.Open();
  SetBuffers(listener_, options_.buffer_bytes);
  if ((!is_given && (bind(listener_, name.name, name.size) != 0 || listen(listener_, 64) != 0)) ||
      getsockname(listener_, name.name, &name.size) != 0) {
    std::perror("proxy");
    std::abort();
  }
  port_ = ntohs(name.internet.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

Proxy::~Proxy() {
  stopping_ = true;
  acceptor_.join();
  close(listener_);
}

void Proxy::Accept() {
  while (!stopping_) {
    pollfd ready = {listener_, POLLIN, 0};
    const bool has_come = poll(&ready, 1, kLookForEndMs) > 0;
    MutexLock lock(mutex_);
    lines_.remove_if([](const std::unique_ptr<Line>& line) { return line->over(); });
    if (!has_come) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const SocketName name(server_);
    const int server = name.Open();
    SetBuffers(client, options_.buffer_bytes);
    SetBuffers(server, options_.buffer_bytes);
    if (connect(server, name.name, name.size) != 0) {
      CloseWithReset(client);
      close(server);
      continue;
    }
    lines_.push_back(
        std::make_unique<Line>(client, server, options_.make_tap ? options_.make_tap() : nullptr));
  }
}

void Proxy::LeadTo(Address server) {
  MutexLock lock(mutex_);
  server_ = std::move(server);
  for (const std::unique_ptr<Line>& line : lines_) line->Break();
}

void Proxy::BreakAll() {
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Line>& line : lines_) line->Break();
}

void Proxy::BreakOver() {
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Line>& line : lines_) {
    if (line->IsOver()) line->Break();
  }
}

void Proxy::HalfCloseAll() {
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Line>& line : lines_) line->HalfClose();
}

}  // namespace counter::testing
