#include "server/item_types.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace counter {

ItemTypes::ItemTypes(const std::vector<std::pair<std::string, ItemType>>& types) {
  std::vector<std::string> names;
  for (const auto& [name, type] : types) {
    by_name_.emplace(name, type);
    by_type_.emplace(type, name);
    types_.push_back(type);
    names.push_back(name);
  }
  std::sort(types_.begin(), types_.end());
  std::sort(names.begin(), names.end());
  // Enough to help; an error text is no catalogue.
  constexpr size_t kNamesMax = 10;
  if (names.size() > kNamesMax) {
    const size_t more = names.size() - kNamesMax;
    names.resize(kNamesMax);
    names.push_back(absl::StrCat(more, " more"));
  }
  const std::string last = names.empty() ? "" : names.back();
  if (!names.empty()) names.pop_back();
  expected_ = names.empty() ? last : absl::StrCat(absl::StrJoin(names, ", "), " or ", last);
}

std::optional<ItemType> ItemTypes::Find(absl::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace counter
