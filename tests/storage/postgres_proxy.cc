#include "tests/storage/postgres_proxy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace counter::testing {
namespace {

sockaddr_un Address(const std::string& directory) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = absl::StrCat(directory, "/.s.PGSQL.5432");
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

void SetBuffers(int fd, int bytes) {
  if (bytes == 0) return;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

bool WriteAll(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = send(fd, bytes, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

// One connection: a thread for each direction.
class PostgresProxy::Line {
 public:
  Line(PostgresProxy& proxy, int client, int server)
      : proxy_(proxy), client_(client), server_(server), up_([this] { Up(); }), down_([this] {
          Down();
        }) {}
  ~Line() {
    Reset();
    up_.join();
    down_.join();
    close(client_);
    close(server_);
  }

  // Both threads are at their end.
  bool over() const { return running_ == 0; }

 private:
  void Reset() {
    shutdown(client_, SHUT_RDWR);
    shutdown(server_, SHUT_RDWR);
  }

  // From the client to the server, looking for messages.
  void Up() {
    std::vector<char> buffer(static_cast<size_t>(1) << 14);
    std::string pending;   // Bytes of a message that has not come whole.
    bool started = false;  // The first message has no type.
    bool commits = false;  // The unit at hand runs a statement that writes.
    while (true) {
      const ssize_t got = recv(client_, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      pending.append(buffer.data(), static_cast<size_t>(got));
      while (true) {
        const size_t head = started ? 1 : 0;
        if (pending.size() < head + 4) break;
        uint32_t length = 0;
        for (size_t i = 0; i < 4; ++i)
          length = (length << 8) | static_cast<unsigned char>(pending[head + i]);
        if (pending.size() < head + length) break;
        const absl::string_view message = absl::string_view(pending).substr(0, head + length);
        const char type = started ? message[0] : 'S';
        if (started && type == 'B' &&
            (absl::StrContains(message, "counter_like") ||
             absl::StrContains(message, "counter_unlike"))) {
          commits = true;
        }
        // An order, before the sync reaches the server: its answer must not slip through.
        if (started && type == 'S' && commits) {
          commits = false;
          int left = proxy_.to_swallow_;
          while (left > 0 && !proxy_.to_swallow_.compare_exchange_weak(left, left - 1)) {
          }
          if (left > 0) swallow_ = true;
        }
        if (!WriteAll(server_, message.data(), message.size())) break;
        started = true;
        pending.erase(0, head + length);
      }
    }
    Reset();
    --running_;
  }

  // From the server to the client.
  void Down() {
    std::vector<char> buffer(static_cast<size_t>(1) << 14);
    while (true) {
      const ssize_t got = recv(server_, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      if (swallow_) {
        ++proxy_.swallowed_;
        break;
      }
      if (!WriteAll(client_, buffer.data(), static_cast<size_t>(got))) break;
    }
    Reset();
    --running_;
  }

  PostgresProxy& proxy_;
  const int client_;
  const int server_;
  std::atomic<bool> swallow_{false};
  std::atomic<int> running_{2};
  std::thread up_;
  std::thread down_;
};

PostgresProxy::PostgresProxy(const PostgresServer& server, const Options& options)
    : upstream_(server.socket_directory()), options_(options) {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SetBuffers(listener_, options_.buffer_bytes);
  const sockaddr_un address = Address(directory_.path());
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_, 64) != 0) {
    std::perror("proxy");
    std::abort();
  }
  acceptor_ = std::thread([this] { Accept(); });
}

PostgresProxy::~PostgresProxy() {
  stopping_ = true;
  acceptor_.join();
  close(listener_);
}

void PostgresProxy::Accept() {
  while (!stopping_) {
    pollfd ready = {listener_, POLLIN, 0};
    constexpr int kLookForStopMs = 20;
    if (poll(&ready, 1, kLookForStopMs) <= 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SetBuffers(client, options_.buffer_bytes);
    SetBuffers(server, options_.buffer_bytes);
    const sockaddr_un address = Address(upstream_);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(client);
      close(server);
      continue;
    }
    MutexLock lock(mutex_);
    lines_.remove_if([](const auto& line) { return line->over(); });
    lines_.push_back(std::make_unique<Line>(*this, client, server));
  }
}

std::string PostgresProxy::Url(absl::string_view database) const {
  return absl::StrCat("host=", directory_.path(), " user=postgres dbname=", database);
}

}  // namespace counter::testing
