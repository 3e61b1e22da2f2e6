// Node: a server of Redis, by where it is reached.
//
// Values only; any thread.
#ifndef COUNTER_CACHE_REDIS_NODE_H_
#define COUNTER_CACHE_REDIS_NODE_H_

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace counter::redis {

struct Node {
  std::string host;  // A name or an address; of IPv6 without brackets.
  uint16_t port = 0;

  friend bool operator==(const Node&, const Node&) = default;
  friend auto operator<=>(const Node&, const Node&) = default;
};

// "10.0.0.1:6379", "[::1]:6379"
inline std::string ToText(const Node& node) {
  if (absl::StrContains(node.host, ':')) return absl::StrCat("[", node.host, "]:", node.port);
  return absl::StrCat(node.host, ":", node.port);
}

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_NODE_H_
