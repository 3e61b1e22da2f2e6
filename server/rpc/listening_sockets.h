// Listening sockets of TCP: what "host:port" comes to.
//
// Use it to get sockets that listen; who accepts is not its business (listener.h). A port is never
// shared with another process. The wildcards 0.0.0.0 and [::] listen for both families, as they do
// in gRPC; a name listens on each of its addresses that this machine has.
//
// Threads: any; resolving a name blocks. Ownership: the sockets close with their Socket.
#ifndef COUNTER_SERVER_RPC_LISTENING_SOCKETS_H_
#define COUNTER_SERVER_RPC_LISTENING_SOCKETS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace counter::rpc {

// A file descriptor that is closed when its owner goes.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  int fd() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // Gives it away.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct ListeningSockets {
  std::vector<Socket> sockets;  // Never empty. They do not block.
  int port = 0;                 // The same for all.
};

// Requires "host:port", the host of IPv6 in brackets; port 0 takes a free one. A peer that takes
// nothing for `send_timeout` loses its connection.
absl::StatusOr<ListeningSockets> Listen(const std::string& address, absl::Duration send_timeout);

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_LISTENING_SOCKETS_H_
