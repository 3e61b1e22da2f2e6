#include "server/page_token.h"

#include "absl/strings/escaping.h"
#include "server/token_bytes.h"

namespace counter {
namespace {

// Layout before base64url: format byte, time (8 bytes), type (2), id (8), check (8); numbers
// little-endian.
constexpr char kFormat = 1;
constexpr size_t kPositionBytes = 1 + 8 + 2 + 8;
constexpr size_t kCheckBytes = 8;

// Kinds of list, so that a user's likes and an item's likers never share a name.
constexpr uint64_t kLikes = 1;
constexpr uint64_t kLikers = 2;
constexpr uint64_t kAllItems = 3;
constexpr uint64_t kDeletion = 4;

uint64_t Chain(uint64_t hash, uint64_t next) { return Mix64(hash ^ next); }

ListName OfItem(uint64_t kind, const Item& item) {
  return {Chain(Chain(Mix64(kind), static_cast<uint64_t>(item.type.value)),
                static_cast<uint64_t>(item.id))};
}

}  // namespace

ListName LikesOf(UserId user, const std::vector<ItemType>& filter) {
  uint64_t hash = Chain(Mix64(kLikes), static_cast<uint64_t>(user.value));
  for (const ItemType type : filter) hash = Chain(hash, static_cast<uint64_t>(type.value));
  return {hash};
}

ListName LikersOf(const Item& item) { return OfItem(kLikers, item); }

ListName DeletionOf(const Item& item) { return OfItem(kDeletion, item); }

ListName AllItems() { return {Mix64(kAllItems)}; }

std::string EncodePageToken(ListName list, const PagePosition& position) {
  std::string bytes;
  bytes.reserve(kPositionBytes + kCheckBytes);
  bytes.push_back(kFormat);
  AppendNumber(bytes, static_cast<uint64_t>(position.liked_at), 8);
  AppendNumber(bytes, static_cast<uint16_t>(position.type.value), 2);
  AppendNumber(bytes, static_cast<uint64_t>(position.id), 8);
  AppendNumber(bytes, CheckSum(list.hash, bytes), kCheckBytes);
  return absl::WebSafeBase64Escape(bytes);
}

std::optional<PagePosition> DecodePageToken(ListName list, absl::string_view text) {
  std::string decoded;
  if (text.size() > kPageTokenBytesMax || !absl::WebSafeBase64Unescape(text, &decoded) ||
      decoded.size() != kPositionBytes + kCheckBytes || decoded[0] != kFormat) {
    return std::nullopt;
  }
  const absl::string_view bytes = decoded;
  PagePosition position;
  position.liked_at = static_cast<int64_t>(ReadNumber(bytes.substr(1), 8));
  position.type.value = static_cast<int16_t>(ReadNumber(bytes.substr(9), 2));
  position.id = static_cast<int64_t>(ReadNumber(bytes.substr(11), 8));
  // One token has one text: what differs only in ignored bits or padding is not ours.
  if (EncodePageToken(list, position) != text) return std::nullopt;
  return position;
}

}  // namespace counter
