// LoopbackConnection: a plain TCP connection to 127.0.0.1 whose every wait has a deadline.
// For one thread.
#ifndef COUNTER_TESTS_SUPPORT_TCP_H_
#define COUNTER_TESTS_SUPPORT_TCP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace counter::testing {

class LoopbackConnection {
 public:
  static absl::StatusOr<LoopbackConnection> Open(int port, absl::Time end);
  LoopbackConnection(LoopbackConnection&& other) noexcept;
  LoopbackConnection& operator=(LoopbackConnection&&) = delete;
  ~LoopbackConnection();

  // From now on waits end then.
  void WaitUntil(absl::Time end) { end_ = end; }
  // Sends all of it; kDeadlineExceeded if the other side did not take it in time.
  absl::Status Send(absl::string_view data);
  // Some bytes; empty if the other side has closed; kDeadlineExceeded at the end of the time.
  absl::StatusOr<std::string> Receive();

 private:
  LoopbackConnection(int socket, absl::Time end) : socket_(socket), end_(end) {}

  int socket_ = -1;
  absl::Time end_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_TCP_H_
