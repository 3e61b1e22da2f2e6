// The lists of CounterService: a user's likes, an item's likers.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/counter_service.h"
#include "server/page_token.h"

namespace counter {
namespace {

// The position that a caller's page token names; nothing for the first page, or for a token that is
// refused.
std::optional<PagePosition> PositionAt(RequestCheck& check, ListName list, const char* same,
                                       const std::string& token) {
  if (token.empty() || !check.ok()) return std::nullopt;
  const std::optional<PagePosition> position = DecodePageToken(list, token);
  if (!position.has_value()) {
    check.Add("page_token", absl::StrCat("must be the next_page_token of an earlier page with the "
                                         "same ",
                                         same, ", got ", QuotedText(token)));
  }
  return position;
}

}  // namespace

Task<absl::StatusOr<LikesAnswer>> CounterService::ListLikes(LikesListRequest request,
                                                            CallLimits limits) {
  RequestCheck check(item_types_);
  LikesQuery query;
  query.user = check.User("user_id", request.user_id);
  query.types = check.TypesAt("item_types", request.item_types);
  query.likes_max = check.PageSizeAt("page_size", request.page_size);
  const ListName list = LikesOf(query.user, query.types);
  const std::optional<PagePosition> position =
      PositionAt(check, list, "user_id and item_types", request.page_token);
  if (!check.ok()) co_return check.error();
  if (query.types.empty()) query.types = item_types_.types();
  if (position.has_value()) {
    query.after = ListedLike{Item{position->type, position->id}, position->liked_at};
  }

  Task<absl::StatusOr<LikesPage>> read = parts_.store.ListLikes(query, std::move(limits));
  const absl::StatusOr<LikesPage> page = co_await std::move(read);
  if (!page.ok()) co_return page.status();
  LikesAnswer answer;
  answer.likes.reserve(page->likes.size());
  for (const ListedLike& like : page->likes) {
    answer.likes.push_back({ItemRef{item_types_.NameOf(like.item.type), like.item.id},
                            absl::FromUnixSeconds(like.liked_at)});
  }
  if (page->more) {
    const ListedLike& last = page->likes.back();
    answer.next_page_token = EncodePageToken(list, {last.liked_at, last.item.type, last.item.id});
  }
  co_return answer;
}

Task<absl::StatusOr<LikersAnswer>> CounterService::ListLikers(LikersListRequest request,
                                                              CallLimits limits) {
  RequestCheck check(item_types_);
  LikersQuery query;
  query.item = check.ItemAt("item", request.item);
  query.likers_max = check.PageSizeAt("page_size", request.page_size);
  const ListName list = LikersOf(query.item);
  const std::optional<PagePosition> position = PositionAt(check, list, "item", request.page_token);
  if (!check.ok()) co_return check.error();
  if (position.has_value()) query.after = ListedLiker{UserId{position->id}, position->liked_at};

  Task<absl::StatusOr<LikersPage>> read = parts_.store.ListLikers(query, std::move(limits));
  const absl::StatusOr<LikersPage> page = co_await std::move(read);
  if (!page.ok()) co_return page.status();
  LikersAnswer answer;
  answer.likers.reserve(page->likers.size());
  for (const ListedLiker& liker : page->likers) {
    answer.likers.push_back({liker.user.value, absl::FromUnixSeconds(liker.liked_at)});
  }
  if (page->more) {
    const ListedLiker& last = page->likers.back();
    answer.next_page_token = EncodePageToken(list, {last.liked_at, ItemType{}, last.user.value});
  }
  co_return answer;
}

}  // namespace counter
