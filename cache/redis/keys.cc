#include "cache/redis/keys.h"

#include "absl/strings/str_cat.h"

namespace counter::redis {

std::string Keys::ItemName(const Item& item) const {
  const auto named = type_names_.find(item.type.value);
  if (named == type_names_.end()) return absl::StrCat(item.type.value, ":", item.id);
  return absl::StrCat(named->second, ":", item.id);
}

std::string Keys::Count(const Item& item) const { return absl::StrCat("counter:", ItemName(item)); }

std::string Keys::RecentLikes(UserId user) {
  return absl::StrCat("recent_likes:{", user.value, "}");
}

std::string Keys::RecentUnlikes(UserId user) {
  return absl::StrCat("recent_likes:{", user.value, "}:unlikes");
}

std::string Keys::RecentVersions(UserId user) {
  return absl::StrCat("recent_likes:{", user.value, "}:versions");
}

std::string Keys::Rate(UserId user) { return absl::StrCat("rate:{", user.value, "}:likes"); }

}  // namespace counter::redis
