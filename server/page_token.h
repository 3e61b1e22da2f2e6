// Page tokens: what a page of a list gives its caller to ask for the next one, from any server.
//
// A token is a position in one list: opaque, URL-safe text of kPageTokenBytesMax characters at
// most, with a check sum over the position and the list that it belongs to. So garbage, and a token
// of another list, are told from a token of this one. It is no secret and proves no right: who may
// ask for a list may ask for all of it.
//
// A token does not expire: the like that it names may be gone, its place in the order is not.
//
// Pure functions; any thread.
#ifndef COUNTER_SERVER_PAGE_TOKEN_H_
#define COUNTER_SERVER_PAGE_TOKEN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "storage/like.h"

namespace counter {

inline constexpr size_t kPageTokenBytesMax = 64;

// Which list a token is of. Lists that differ in any of these have different names.
struct ListName {
  uint64_t hash = 0;
};
// The likes of a user. `filter` as the caller gave it: sorted, each type once; none for all types.
ListName LikesOf(UserId user, const std::vector<ItemType>& filter);
ListName LikersOf(const Item& item);
// All items of the store, in the order of types and ids, as an audit goes through them.
ListName AllItems();
// The likes of the type of an item that is being deleted, in the order of users and items:
// `liked_at` is a user's id then.
ListName DeletionOf(const Item& item);

// Where a page ended. Of a list of likers `type` is 0 and `id` is the
// user's; of all items `liked_at` is 0.
struct PagePosition {
  int64_t liked_at = 0;
  ItemType type;
  int64_t id = 0;

  friend bool operator==(const PagePosition&, const PagePosition&) = default;
};

std::string EncodePageToken(ListName list, const PagePosition& position);

// Nothing if `text` is not something that EncodePageToken made for this list.
std::optional<PagePosition> DecodePageToken(ListName list, absl::string_view text);

}  // namespace counter

#endif  // COUNTER_SERVER_PAGE_TOKEN_H_
