// Connection: the connection to Redis, be it one server or a cluster of them.
//
// One loop thread of its own reads, writes and keeps time: on one socket at a time for a single
// server, on one a node for a cluster (link.h). Which of the two it is, the first greeting tells;
// servers.h says who is asked what. It connects, logs in, reconnects with a jittered pause, and
// never reports an error: while it cannot answer, usable() is false and what was asked is answered
// with nothing, at its deadline at the latest. Of a cluster a part of the commands may be answered
// and the others not.
//
// Threads: Send, usable, by_slot, believed_since and Stats any; OnNewRun, Start and Stop one at a
// time. `done` of a request and the listeners run on the loop thread and must not block it. After
// Stop, a request is answered with nothing from inside Send: no loop is left. Ownership: stop it
// before what listens or waits is destroyed.
#ifndef COUNTER_CACHE_REDIS_CONNECTION_H_
#define COUNTER_CACHE_REDIS_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "cache/redis/channel.h"
#include "cache/redis/connection_counters.h"
#include "cache/redis/connection_options.h"
#include "cache/redis/slot.h"

namespace counter::redis {

class Connection final : public Channel {
 public:
  explicit Connection(ConnectionOptions options);
  ~Connection() override;  // Stops it.

  // Calls `listener` each time when what had been acknowledged may be gone: a server shows another
  // run of its process than the time before, or slots have another owner. With the slots of the
  // keys that this is about; of a single server: all. Requires that Start was not called.
  void OnNewRun(std::function<void(const SlotSet&)> listener);

  // Begins to connect. Call it once.
  void Start();
  // Ends every request without an answer and the loop with it. A second call does nothing.
  void Stop();

  bool usable() const override;
  bool by_slot() const override;
  absl::Time believed_since(int slot) const override;
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
