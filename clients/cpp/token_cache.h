// TokenCache: the last consistency token of each item that a client wrote, of the last so many
// items. Internal to the client.
//
// Use it to read one's own writes. It is no cache of counts: a token only says how fresh a read
// must be.
//
// Threads: any number at once. Ownership: copies in, copies out.
#ifndef COUNTER_CLIENTS_CPP_TOKEN_CACHE_H_
#define COUNTER_CLIENTS_CPP_TOKEN_CACHE_H_

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "clients/cpp/client.h"

namespace counter::client {

class TokenCache {
 public:
  // 0 items keep nothing.
  explicit TokenCache(size_t items_max) : items_max_(items_max) {}

  // The item that was kept longest ago makes room.
  void Keep(const Item& item, const std::string& token);
  // The tokens of these items, each once.
  std::vector<std::string> Of(const std::vector<Item>& items) const;

 private:
  using Key = std::pair<std::string, int64_t>;
  struct Kept {
    Key item;
    std::string token;
  };

  const size_t items_max_;
  mutable std::mutex mutex_;  // Guards the two below.
  std::list<Kept> kept_;      // Oldest first.
  std::map<Key, std::list<Kept>::iterator> by_item_;
};

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_TOKEN_CACHE_H_
