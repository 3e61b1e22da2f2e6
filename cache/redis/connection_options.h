// ConnectionOptions: how a connection to Redis is made and what it may take.
//
// Values only; any thread.
#ifndef COUNTER_CACHE_REDIS_CONNECTION_OPTIONS_H_
#define COUNTER_CACHE_REDIS_CONNECTION_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "cache/redis/link_state.h"
#include "cache/redis/multiplexer.h"
#include "cache/redis/redis_url.h"
#include "cache/redis/reply_guard.h"

namespace counter::redis {

// Of a cluster. A second between two questions for the map bounds what a storm of redirections
// costs; without any, the map is looked at each period all the same.
struct ClusterOptions {
  absl::Duration refresh_pause = absl::Seconds(1);
  absl::Duration refresh_period = absl::Seconds(10);
  absl::Duration refresh_budget = absl::Milliseconds(500);  // For an answer.
  // Before a command whose keys are on their way between two nodes is tried again.
  absl::Duration try_again_pause = absl::Milliseconds(2);
  // Nodes that a connection is held to, those that commands were sent on to among them.
  int64_t links_max = 500;
  int64_t try_again_max = 10'000;  // Requests that wait for that pause.
};

struct ConnectionOptions {
  Address address;
  // Of the authorities that may vouch for the server, PEM; empty: those of the system. TLS only.
  std::string tls_ca_file;
  LinkOptions link;
  BreakerOptions breaker;
  MultiplexerBounds bounds;  // Of each node.
  ReplyBounds reply_bounds;
  ClusterOptions cluster;
  absl::Duration probe_budget = absl::Milliseconds(20);  // For an answer to the breaker's probe.
  absl::Duration heartbeat = absl::Seconds(1);
  // A connection whose oldest request has waited so long for its answer is dropped.
  absl::Duration silence_max = absl::Seconds(2);
  uint64_t seed = 0;  // Of the jitter; 0: a random one.
  // Told what an operator should know: that it is connected, and each time why it is not, but not
  // at every attempt. Without a secret. May be null. On the loop thread, which it must not block.
  std::function<void(const std::string&)> say;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_CONNECTION_OPTIONS_H_
