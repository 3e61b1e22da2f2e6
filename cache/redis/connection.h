// Connection: the connection to Redis.
//
// One loop thread of its own reads, writes and keeps time, on one socket at a time (session.h);
// what is decided is decided in multiplexer.h (whose reply is this), link_state.h (when to connect,
// when to ask) and greeting.h.
// It connects, logs in, reconnects with a jittered pause, and never reports an error: while it
// cannot answer, usable() is false and what was asked is answered with nothing, at its deadline at
// the latest.
//
// A server that takes no writes (a read-only replica, one that cannot save) is not used: what it
// holds could grow stale. This is found out by the greeting, by every answer, and by a probe each
// heartbeat.
//
// Threads: Send, usable and Stats any; OnNewRun, Start and Stop one at a time. `done` of a request
// and the listeners run on the loop thread and must not block it.
// After Stop, a request is answered with nothing from inside Send: no loop is left.
// Ownership: stop it before what listens or waits is destroyed.
#ifndef COUNTER_CACHE_REDIS_CONNECTION_H_
#define COUNTER_CACHE_REDIS_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "cache/redis/channel.h"
#include "cache/redis/connection_counters.h"
#include "cache/redis/link_state.h"
#include "cache/redis/multiplexer.h"
#include "cache/redis/redis_url.h"
#include "cache/redis/reply_guard.h"

namespace counter::redis {

struct ConnectionOptions {
  Address address;
  // Of the authorities that may vouch for the server, PEM; empty: those of the system. TLS only.
  std::string tls_ca_file;
  LinkOptions link;
  BreakerOptions breaker;
  MultiplexerBounds bounds;
  ReplyBounds reply_bounds;
  absl::Duration probe_budget = absl::Milliseconds(20);  // For an answer to the breaker's probe.
  absl::Duration heartbeat = absl::Seconds(1);
  // A connection whose oldest request has waited so long for its answer is dropped.
  absl::Duration silence_max = absl::Seconds(2);
  uint64_t seed = 0;  // Of the jitter; 0: a random one.
  // Told what an operator should know: that it is connected, and each time why it is not, but not
  // at every attempt. Without a secret. May be null. On the loop thread, which it must not block.
  std::function<void(const std::string&)> say;
};

class Connection final : public Channel {
 public:
  explicit Connection(ConnectionOptions options);
  ~Connection() override;  // Stops it.

  // Calls `listener` each time when a connection may be to another run of the server's process than
  // the one before: what that run had acknowledged may be gone. Requires that Start was not called.
  void OnNewRun(std::function<void()> listener);

  // Begins to connect. Call it once.
  void Start();
  // Ends every request without an answer and the loop with it. A second call does nothing.
  void Stop();

  bool usable() const override;
  void Send(Request request) override;

  ConnectionStats Stats() const;
  // Why the last attempt failed or the last connection was dropped; for a log. Empty: none was.
  std::string LastTrouble() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_CONNECTION_H_
