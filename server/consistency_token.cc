#include "server/consistency_token.h"

#include "absl/strings/escaping.h"
#include "server/token_bytes.h"

namespace counter {
namespace {

// Layout before base64url: format byte, type (2 bytes), id (8), version (8), timeline, checksum
// (4); numbers little-endian.
constexpr char kFormat = 1;
constexpr size_t kFixedBytes = 1 + 2 + 8 + 8 + 4;
constexpr size_t kTimelineBytesMax = 64;

uint32_t Checksum(absl::string_view bytes) { return static_cast<uint32_t>(CheckSum(0, bytes)); }

}  // namespace

std::string EncodeConsistencyToken(const Item& item, int64_t version, absl::string_view timeline) {
  std::string bytes;
  bytes.reserve(kFixedBytes + timeline.size());
  bytes.push_back(kFormat);
  AppendNumber(bytes, static_cast<uint16_t>(item.type.value), 2);
  AppendNumber(bytes, static_cast<uint64_t>(item.id), 8);
  AppendNumber(bytes, static_cast<uint64_t>(version), 8);
  bytes.append(timeline.data(), timeline.size());
  AppendNumber(bytes, Checksum(bytes), 4);
  return absl::WebSafeBase64Escape(bytes);
}

std::optional<ConsistencyToken> DecodeConsistencyToken(absl::string_view text) {
  std::string decoded;
  if (text.size() > kConsistencyTokenBytesMax || !absl::WebSafeBase64Unescape(text, &decoded)) {
    return std::nullopt;
  }
  absl::string_view bytes = decoded;
  if (bytes.size() <= kFixedBytes || bytes.size() > kFixedBytes + kTimelineBytesMax) {
    return std::nullopt;
  }
  const absl::string_view signed_part = bytes.substr(0, bytes.size() - 4);
  if (bytes[0] != kFormat ||
      ReadNumber(bytes.substr(signed_part.size()), 4) != Checksum(signed_part)) {
    return std::nullopt;
  }
  ConsistencyToken token;
  token.item.type.value = static_cast<int16_t>(ReadNumber(bytes.substr(1), 2));
  token.item.id = static_cast<int64_t>(ReadNumber(bytes.substr(3), 8));
  token.version = static_cast<int64_t>(ReadNumber(bytes.substr(11), 8));
  token.timeline = std::string(signed_part.substr(kFixedBytes - 4));
  // One token has one text: what differs only in ignored bits or padding is not ours.
  if (token.version < 0 || EncodeConsistencyToken(token) != text) return std::nullopt;
  return token;
}

}  // namespace counter
