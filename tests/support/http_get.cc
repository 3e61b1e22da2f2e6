#include "tests/support/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace counter::testing {
namespace {

constexpr size_t kReplyBytesMax = 64 << 20;

absl::Status Errno(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::Status SendAll(int fd, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Errno("send");
    data.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

// Everything until the other side closes.
absl::StatusOr<std::string> ReceiveAll(int fd, absl::Time end) {
  std::string text;
  std::vector<char> buffer(64 << 10);
  while (true) {
    const absl::Duration left = end - absl::Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no whole reply in time");
    pollfd ready = {fd, POLLIN, 0};
    const int64_t wait_ms =
        std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, int64_t{3'600'000});
    if (poll(&ready, 1, static_cast<int>(wait_ms)) <= 0) continue;
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Errno("recv");
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kReplyBytesMax) return absl::ResourceExhaustedError("reply over 64 MiB");
  }
}

absl::StatusOr<HttpReply> ParseReply(absl::string_view text) {
  const size_t line_end = text.find("\r\n");
  const size_t head_end = text.find("\r\n\r\n");
  if (head_end == absl::string_view::npos) return absl::DataLossError("the reply broke off");
  const std::vector<absl::string_view> words = absl::StrSplit(text.substr(0, line_end), ' ');
  HttpReply reply;
  if (words.size() < 2 || !absl::StartsWith(words[0], "HTTP/1.") ||
      !absl::SimpleAtoi(words[1], &reply.status)) {
    return absl::DataLossError("the reply is not HTTP");
  }
  if (line_end < head_end)
    reply.headers = std::string(text.substr(line_end + 2, head_end - line_end - 2));
  reply.body = std::string(text.substr(head_end + 4));
  for (absl::string_view line : absl::StrSplit(reply.headers, "\r\n")) {
    const std::vector<absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    size_t length = 0;
    if (field.size() == 2 && absl::EqualsIgnoreCase(field[0], "content-length") &&
        absl::SimpleAtoi(field[1], &length) && length != reply.body.size()) {
      return absl::DataLossError(
          absl::StrCat("body of ", reply.body.size(), " bytes, announced were ", length));
    }
  }
  return reply;
}

}  // namespace

absl::StatusOr<HttpReply> HttpGet(int port, absl::string_view path, absl::Duration deadline) {
  const absl::Time end = absl::Now() + deadline;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Errno("socket");
  const auto close_socket = absl::MakeCleanup([fd] { close(fd); });
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // On the loopback connect answers at once.
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Errno(absl::StrCat("connect to port ", port));
  const absl::Status sent =
      SendAll(fd, absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: 127.0.0.1:", port, "\r\n\r\n"));
  if (!sent.ok()) return sent;
  const absl::StatusOr<std::string> text = ReceiveAll(fd, end);
  if (!text.ok()) return text.status();
  return ParseReply(*text);
}

}  // namespace counter::testing
