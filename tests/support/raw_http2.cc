#include "tests/support/raw_http2.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/tcp.h"

namespace counter::testing {
namespace {

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kResetStream = 3,
  kSettings = 4,
  kGoAway = 7,
  kContinuation = 9
};
constexpr uint8_t kAck = 1;  // Of SETTINGS; the same bit of DATA and HEADERS is END_STREAM.
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr size_t kFrameHeadBytes = 9;

void AppendBigEndian(std::string& out, uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(value >> shift));
}

std::string Frame(FrameType type, uint8_t flags, uint32_t stream, absl::string_view payload) {
  return Http2Frame(type, flags, stream, payload);
}

// A length of HPACK, with a prefix of seven bits.
void AppendLength(std::string& out, size_t length) {
  constexpr size_t kPrefixMax = 127;
  if (length < kPrefixMax) {
    out.push_back(static_cast<char>(length));
    return;
  }
  out.push_back(static_cast<char>(kPrefixMax));
  for (length -= kPrefixMax; length >= 128; length /= 128)
    out.push_back(static_cast<char>(length % 128 + 128));
  out.push_back(static_cast<char>(length));
}

void AppendHeader(std::string& out, absl::string_view name, absl::string_view value) {
  absl::StrAppend(&out, Http2Header(name, value));
}

// Takes a whole frame from the front of `buffer`; false if there is none yet.
bool TakeFrame(std::string& buffer, uint8_t& type, uint8_t& flags, std::string& payload) {
  if (buffer.size() < kFrameHeadBytes) return false;
  size_t length = 0;
  for (int i = 0; i < 3; ++i) length = length << 8 | static_cast<uint8_t>(buffer[i]);
  if (buffer.size() < kFrameHeadBytes + length) return false;
  type = static_cast<uint8_t>(buffer[3]);
  flags = static_cast<uint8_t>(buffer[4]);
  payload = buffer.substr(kFrameHeadBytes, length);
  buffer.erase(0, kFrameHeadBytes + length);
  return true;
}

absl::StatusOr<RawReply> ReadReply(LoopbackConnection& connection) {
  RawReply reply;
  std::string buffer;
  while (true) {
    uint8_t type = 0;
    uint8_t flags = 0;
    std::string payload;
    while (TakeFrame(buffer, type, flags, payload)) {
      if (type == kHeaders || type == kContinuation) absl::StrAppend(&reply.headers, payload);
      if (type == kData) absl::StrAppend(&reply.data, payload);
      if (type == kSettings && (flags & kAck) == 0) {
        const absl::Status sent = connection.Send(Frame(kSettings, kAck, 0, ""));
        if (!sent.ok()) return sent;
      }
      reply.reset = type == kResetStream || type == kGoAway;
      const bool ended = (type == kHeaders || type == kData) && (flags & kEndStream) != 0;
      if (ended || reply.reset) return reply;
    }
    const absl::StatusOr<std::string> received = connection.Receive();
    if (!received.ok()) return received.status();
    reply.reset = received->empty();
    if (reply.reset) return reply;
    absl::StrAppend(&buffer, *received);
  }
}

}  // namespace

std::string Http2Preface() {
  return absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(kSettings, 0, 0, ""));
}

std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload) {
  std::string frame;
  AppendBigEndian(frame, static_cast<uint32_t>(payload.size()), 3);
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  AppendBigEndian(frame, stream, 4);
  return absl::StrCat(frame, payload);
}

std::string Http2Header(absl::string_view name, absl::string_view value) {
  std::string header(1, '\0');
  AppendLength(header, name.size());
  absl::StrAppend(&header, name);
  AppendLength(header, value.size());
  return absl::StrCat(header, value);
}

absl::StatusOr<RawReply> RawHttp2Call(
    int port, absl::string_view path,
    const std::vector<std::pair<std::string, std::string>>& headers, absl::string_view message,
    absl::Duration deadline) {
  absl::StatusOr<LoopbackConnection> connection =
      LoopbackConnection::Open(port, absl::Now() + deadline);
  if (!connection.ok()) return connection.status();
  std::string block;
  AppendHeader(block, ":method", "POST");
  AppendHeader(block, ":scheme", "http");
  AppendHeader(block, ":path", path);
  AppendHeader(block, ":authority", absl::StrCat("127.0.0.1:", port));
  AppendHeader(block, "te", "trailers");
  AppendHeader(block, "content-type", "application/grpc");
  for (const auto& [name, value] : headers) AppendHeader(block, name, value);
  std::string body(1, '\0');  // Not compressed.
  AppendBigEndian(body, static_cast<uint32_t>(message.size()), 4);
  absl::StrAppend(&body, message);
  const absl::Status sent = connection->Send(absl::StrCat(
      Http2Preface(), Frame(kHeaders, kEndHeaders, 1, block), Frame(kData, kEndStream, 1, body)));
  if (!sent.ok()) return sent;
  return ReadReply(*connection);
}

}  // namespace counter::testing
