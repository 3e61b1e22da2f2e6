// REDIS_URL, taken apart: redis://[[user]:password@]host[:port][,host[:port]...][/database],
// rediss:// for TLS. Several hosts are nodes of one cluster, where it can be met.
//
// Values only; any thread.
#ifndef COUNTER_CACHE_REDIS_REDIS_URL_H_
#define COUNTER_CACHE_REDIS_REDIS_URL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cache/redis/greeting.h"
#include "cache/redis/node.h"

namespace counter::redis {

struct Address {
  std::string host = "127.0.0.1";  // A name or an address; of IPv6 without the brackets.
  uint16_t port = 6379;
  bool tls = false;
  Login login;
  std::vector<Node> others;  // The further hosts; empty unless there are several.
};

// The error says what is wrong and holds no part of the URL: it may be a secret.
absl::StatusOr<Address> ParseRedisUrl(absl::string_view url);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REDIS_URL_H_
