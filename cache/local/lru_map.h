// LruMap: a hash map that knows the order in which its entries were last used.
//
// Use it to hold what may be forgotten, oldest use first. It forgets nothing by itself: its owner
// looks at size() and calls PopOldest(). Not a cache: no expiry, no bound, no lock.
//
// Threads: one at a time. Ownership: it owns its entries; a pointer into it is valid until that
// entry is erased.
#ifndef COUNTER_CACHE_LOCAL_LRU_MAP_H_
#define COUNTER_CACHE_LOCAL_LRU_MAP_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace counter {

template <class Key, class Value>
class LruMap {
 public:
  struct Entry {
    Key key;
    Value value;
  };

  size_t size() const { return index_.size(); }
  bool empty() const { return index_.empty(); }

  // Null: not there. What is found counts as used now.
  Value* Find(const Key& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->value;
  }

  // Null: not there. Looking is no use.
  const Value* Peek(const Key& key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second->value;
  }

  // What is there, or a new Value{}; counts as used now.
  Value& FindOrMake(const Key& key) {
    auto [slot, is_new] = index_.try_emplace(key);
    if (is_new) {
      order_.push_front(Entry{key, Value{}});
      slot->second = order_.begin();
    } else {
      order_.splice(order_.begin(), order_, slot->second);
    }
    return slot->second->value;
  }

  void Erase(const Key& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return;
    order_.erase(found->second);
    index_.erase(found);
  }

  // The entry whose last use is longest ago; looking at it is no use. Requires !empty().
  const Entry& Oldest() const { return order_.back(); }

  // Requires !empty().
  void PopOldest() {
    index_.erase(order_.back().key);
    order_.pop_back();
  }

 private:
  std::list<Entry> order_;  // Last used first.
  absl::flat_hash_map<Key, typename std::list<Entry>::iterator> index_;
};

// Which of `shards` locks guards a key. Takes bits of the hash that the tables inside do not lean
// on, or the keys of one shard would crowd each other there.
template <class Key>
size_t ShardOf(const Key& key, size_t shards) {
  return (static_cast<uint64_t>(absl::Hash<Key>{}(key)) >> 40) % shards;
}

// The part of a bound over all shards that is one shard's own; the parts add up to the bound.
constexpr size_t ShardShare(size_t total_max, size_t shards, size_t shard) {
  return total_max / shards + (shard < total_max % shards ? 1 : 0);
}

}  // namespace counter

#endif  // COUNTER_CACHE_LOCAL_LRU_MAP_H_
