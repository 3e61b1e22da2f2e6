// Readiness: watches whether the store can serve and tells who wants to know.
//
// Readiness is not liveness: a store that is gone makes the server not ready, and the server heals
// by itself when the store is back; restarting it would help nobody.
//
// Threads: it has one of its own, on which `on_change` is called; ready() from any thread.
// Ownership: borrows the store, which must outlive it. The destructor stops the watch.
#ifndef COUNTER_SERVER_READINESS_H_
#define COUNTER_SERVER_READINESS_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "storage/like_store.h"

namespace counter {

class Readiness {
 public:
  // How often the store is asked; what it answers costs nothing.
  static constexpr absl::Duration kPeriod = absl::Milliseconds(100);

  // Calls on_change with the first state before it returns, then with every change.
  Readiness(const LikeStore& store, std::function<void(bool ready)> on_change);
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  bool ready() const;

  // Not ready from now on, whatever the store says: the server is shutting down. Returns when
  // nobody will be told anything any more. May be called again.
  void Stop();

 private:
  void Watch();
  void Tell(bool ready);

  const LikeStore& store_;
  const std::function<void(bool)> on_change_;
  mutable Mutex mutex_;
  CondVar wake_;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_READINESS_H_
