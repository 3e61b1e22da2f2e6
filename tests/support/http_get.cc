#include "tests/support/http_get.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/support/tcp.h"

namespace counter::testing {
namespace {

constexpr size_t kReplyBytesMax = 64 << 20;

// Everything until the other side closes.
absl::StatusOr<std::string> ReceiveAll(LoopbackConnection& connection) {
  std::string text;
  while (true) {
    const absl::StatusOr<std::string> received = connection.Receive();
    if (!received.ok()) return received.status();
    if (received->empty()) return text;
    absl::StrAppend(&text, *received);
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
  absl::StatusOr<LoopbackConnection> connection =
      LoopbackConnection::Open(port, absl::Now() + deadline);
  if (!connection.ok()) return connection.status();
  const absl::Status sent = connection->Send(
      absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: 127.0.0.1:", port, "\r\n\r\n"));
  if (!sent.ok()) return sent;
  const absl::StatusOr<std::string> text = ReceiveAll(*connection);
  if (!text.ok()) return text.status();
  return ParseReply(*text);
}

}  // namespace counter::testing
