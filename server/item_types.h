// ItemTypes: the configured kinds of item, by name (as callers say them) and by number (as stores
// keep them). Immutable after Make; any thread.
#ifndef COUNTER_SERVER_ITEM_TYPES_H_
#define COUNTER_SERVER_ITEM_TYPES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "storage/like.h"

namespace counter {

class ItemTypes {
 public:
  // Requires names [a-z][a-z0-9_]{0,31} and numbers from 1, each once.
  explicit ItemTypes(const std::vector<std::pair<std::string, ItemType>>& types);

  std::optional<ItemType> Find(absl::string_view name) const;

  // Requires a configured type.
  const std::string& NameOf(ItemType type) const { return by_type_.at(type); }

  // All of them, by number.
  const std::vector<ItemType>& types() const { return types_; }

  // What a caller may say, for error texts: `comment, post or reel`.
  const std::string& expected() const { return expected_; }

 private:
  absl::flat_hash_map<std::string, ItemType> by_name_;
  absl::flat_hash_map<ItemType, std::string> by_type_;
  std::vector<ItemType> types_;
  std::string expected_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_ITEM_TYPES_H_
