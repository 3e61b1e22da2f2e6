#include "server/request_check.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace counter {
namespace {

bool IsItemTypeName(absl::string_view name) {
  constexpr size_t kNameBytesMax = 32;
  if (name.empty() || name.size() > kNameBytesMax || name[0] < 'a' || name[0] > 'z') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string IdExpected(int64_t id) {
  return absl::StrCat("must be 1 to ", std::numeric_limits<int64_t>::max(), ", got ", id);
}

// "items[3]", or "item" where there is but one.
FieldName FieldAt(const char* field, const char* list, size_t i, bool single) {
  return single ? FieldName(field) : FieldName(list, i);
}

}  // namespace

std::string QuotedText(absl::string_view text) {
  constexpr size_t kShownBytesMax = 40;
  const bool cut = text.size() > kShownBytesMax;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kShownBytesMax)), cut ? "..." : "",
                      "\"", cut ? absl::StrCat(" (", text.size(), " bytes)") : "");
}

std::string FieldName::Text(absl::string_view member) const {
  const std::string element = index_ ? absl::StrCat("[", *index_, "]") : std::string();
  return absl::StrCat(list_, element, member_, member);
}

void RequestCheck::Add(const FieldName& field, std::string description, absl::string_view member) {
  violations_.push_back({field.Text(member), std::move(description)});
}

UserId RequestCheck::User(const FieldName& field, int64_t id) {
  if (id < 1) Add(field, IdExpected(id));
  return UserId{id};
}

ItemType RequestCheck::TypeAt(const FieldName& field, absl::string_view name,
                              absl::string_view member) {
  const std::optional<ItemType> type = item_types_.Find(name);
  if (!type.has_value()) {
    const bool well_formed = IsItemTypeName(name);
    Add(field,
        absl::StrCat(well_formed ? "must be a configured type, "
                                 : "must be [a-z][a-z0-9_]{0,31} and a configured type, ",
                     item_types_.expected(), "; got ", QuotedText(name)),
        member);
  }
  return type.value_or(ItemType{});
}

Item RequestCheck::ItemAt(const FieldName& field, const ItemRef& item) {
  const ItemType type = TypeAt(field, item.type, ".item_type");
  if (item.id < 1) Add(field, IdExpected(item.id), ".item_id");
  return Item{type, item.id};
}

std::vector<ItemType> RequestCheck::TypesAt(const FieldName& field,
                                            const std::vector<std::string>& names) {
  std::vector<ItemType> types;
  if (!Size(field, names.size())) return types;
  const std::string list = field.Text();
  for (size_t i = 0; i < names.size(); ++i) {
    types.push_back(TypeAt(FieldName(list, i), names[i]));
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

int RequestCheck::PageSizeAt(const FieldName& field, int page_size) {
  if (page_size >= 1 && page_size <= kPageSizeMax) return page_size;
  if (page_size != 0) {
    Add(field, absl::StrCat("must be 1 to ", kPageSizeMax, ", or 0 for ", kPageSizeDefault,
                            "; got ", page_size));
  }
  return kPageSizeDefault;
}

Action RequestCheck::ActionAt(const FieldName& field, int action) {
  if (action == 1) return Action::kLike;
  if (action != 2) {
    Add(field, absl::StrCat("must be ACTION_LIKE (1) or ACTION_UNLIKE (2), got ", action));
  }
  return Action::kUnlike;
}

Consistency RequestCheck::ConsistencyAt(const FieldName& field, int consistency) {
  if (consistency == 2) return Consistency::kStrong;
  if (consistency < 0 || consistency > 2) {
    Add(field, absl::StrCat("must be CONSISTENCY_CACHED (1) or CONSISTENCY_STRONG (2), got ",
                            consistency));
  }
  return Consistency::kCached;
}

std::optional<ConsistencyToken> RequestCheck::TokenAt(const FieldName& field,
                                                      const std::string& token) {
  std::optional<ConsistencyToken> decoded = DecodeConsistencyToken(token);
  if (!decoded.has_value()) {
    Add(field,
        absl::StrCat("must be a consistency_token of an earlier answer, got ", QuotedText(token)));
  }
  return decoded;
}

bool RequestCheck::Size(const FieldName& field, size_t size) {
  if (size <= kBatchItemsMax) return true;
  Add(field, absl::StrCat("must have at most ", kBatchItemsMax, " elements, got ", size));
  return false;
}

CheckedRead CheckRead(RequestCheck& check, const CountsRequest& request,
                      absl::string_view timeline) {
  CheckedRead read;
  read.consistency = check.ConsistencyAt("consistency", request.consistency);
  const bool items_fit = check.Size("items", request.items.size());
  const bool tokens_fit = check.Size("consistency_tokens", request.consistency_tokens.size());
  if (!items_fit || !tokens_fit) return read;

  absl::flat_hash_map<Item, size_t> positions;
  positions.reserve(request.items.size());
  read.distinct.reserve(request.items.size());
  read.index.reserve(request.items.size());
  for (size_t i = 0; i < request.items.size(); ++i) {
    const Item item = check.ItemAt(FieldAt("item", "items", i, request.single), request.items[i]);
    const auto [position, is_new] = positions.try_emplace(item, read.distinct.size());
    if (is_new) read.distinct.push_back({item, 0});
    read.index.push_back(position->second);
  }

  for (size_t i = 0; i < request.consistency_tokens.size(); ++i) {
    const FieldName field = FieldAt("consistency_token", "consistency_tokens", i, request.single);
    const std::optional<ConsistencyToken> token =
        check.TokenAt(field, request.consistency_tokens[i]);
    if (!token.has_value()) continue;
    const auto position = positions.find(token->item);
    if (position == positions.end()) {
      check.Add(field, "must be of an item of this request, got one of another item");
    } else if (timeline != token->timeline) {
      read.consistency = Consistency::kStrong;
    } else {
      int64_t& min_version = read.distinct[position->second].min_version;
      min_version = std::max(min_version, token->version);
    }
  }
  return read;
}

}  // namespace counter
