// Sessions: the connections of a server that are open: those with a request, those without (longest
// idle first), and those that take events.
//
// Threads: the server's only one, size() any. Ownership: none; a session takes itself out when it
// ends.
#ifndef COUNTER_SERVER_HTTP_SESSIONS_H_
#define COUNTER_SERVER_HTTP_SESSIONS_H_

#include <atomic>
#include <functional>
#include <list>

#include "base/clock.h"

namespace counter::http {

class Session;

class Sessions {
 public:
  // Any thread.
  int size() const { return size_.load(std::memory_order_relaxed); }
  bool draining() const { return draining_; }

  // Closes the connection that has been idle longest; false if none is idle.
  bool CloseLongestIdle();
  // Closes all that have no request; `drained` is called once, when none is left that has one.
  void Drain(std::function<void()> drained);
  // Closes those with a request that have waited for their clients since before `begin`.
  void CloseWaitingSince(MonotonicTime begin);
  void CloseAll();

 private:
  friend class Session;
  void TellIfDrained();

  // Not owned: a session takes itself out when it ends.
  std::list<Session*> busy_;
  std::list<Session*> idle_;
  std::list<Session*> streams_;
  std::atomic<int> size_{0};
  bool draining_ = false;
  std::function<void()> drained_;
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_SESSIONS_H_
