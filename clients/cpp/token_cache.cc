#include "clients/cpp/token_cache.h"

#include <set>

namespace counter::client {

void TokenCache::Keep(const Item& item, const std::string& token) {
  if (items_max_ == 0) return;
  const Key key = {item.type, item.id};
  const std::lock_guard lock(mutex_);
  const auto found = by_item_.find(key);
  if (found != by_item_.end()) {
    found->second->token = token;
    kept_.splice(kept_.end(), kept_, found->second);
    return;
  }
  if (kept_.size() == items_max_) {
    by_item_.erase(kept_.front().item);
    kept_.pop_front();
  }
  by_item_.emplace(key, kept_.insert(kept_.end(), {key, token}));
}

std::vector<std::string> TokenCache::Of(const std::vector<Item>& items) const {
  std::vector<std::string> tokens;
  if (items_max_ == 0) return tokens;
  std::set<Key> seen;
  const std::lock_guard lock(mutex_);
  for (const Item& item : items) {
    const auto found = by_item_.find({item.type, item.id});
    if (found != by_item_.end() && seen.insert(found->first).second)
      tokens.push_back(found->second->token);
  }
  return tokens;
}

}  // namespace counter::client
