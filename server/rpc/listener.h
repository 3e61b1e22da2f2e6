// Listener: accepts the connections of a gRPC server, up to a limit, and sees to their end.
//
// Use it instead of a listening port of gRPC's, which has no limit of connections and, in 1.51,
// accepts nothing any more once descriptors ran out (docs/decisions/0043). gRPC gets a connection
// when it is accepted and does everything else with it; the listener keeps a duplicate of the
// descriptor, by which it hears of the end and can bring it about.
//
// What is over a limit is closed at once. Where descriptors run out it waits a moment and goes on.
//
// Threads: Start(), StopAccepting() and CloseAllAfter() by one thread at a time; port() and stats()
//   any. `take` is called on the listener's own thread.
// Ownership: owns its sockets, duplicates and thread; `take` owns the descriptor that it is given.
#ifndef COUNTER_SERVER_RPC_LISTENER_H_
#define COUNTER_SERVER_RPC_LISTENER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "server/rpc/connection_counts.h"
#include "server/rpc/listening_sockets.h"

namespace counter::rpc {

class Listener {
 public:
  struct Options {
    std::string address;  // As Listen() takes it.
    ConnectionCounts::Limits limits;
    absl::Duration send_timeout = absl::Seconds(20);
  };
  // Since the start, but for `open`.
  struct Stats {
    int open = 0;
    int64_t refused = 0;             // Over the limit of all.
    int64_t refused_of_address = 0;  // Over the limit of their address.
    int64_t failed = 0;              // Could not be accepted: descriptors or memory ran out.
  };
  // Takes over a connection that was accepted by `listening`.
  using Take = std::function<void(int connection, int listening)>;

  // Listens; connections wait until Start().
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const Options& options);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  // Stops accepting. Connections that are open stay so.
  ~Listener();

  int port() const { return port_; }
  Stats stats() const;

  void Start(Take take);
  // Closes the listening sockets. After it `take` runs no more. Connections go on.
  void StopAccepting();
  // Breaks off, in that time from now, the connections that are left then.
  void CloseAllAfter(absl::Duration patience);

 private:
  struct Wishes {
    bool stop_accepting = false;
    bool end = false;
    MonotonicTime close_all = MonotonicTime::max();
  };

  Listener(const Options& options, ListeningSockets listening);

  bool Prepare();
  void Serve();
  void Wish(const std::function<void(Wishes&)>& wish);
  // What the loop does, by its own thread.
  Wishes ReadWishes();
  void Accept(const Socket& listening);
  void Enter(Socket connection, int listening);
  void Leave(int duplicate);
  void Pause();
  void Resume();
  int MillisecondsToWait(const Wishes& wishes) const;

  const int port_;
  Take take_;
  Socket epoll_;
  Socket wakeup_;  // An eventfd.

  // Of the loop's thread.
  std::vector<Socket> listening_;
  ConnectionCounts counts_;
  struct Connection {
    Socket duplicate;
    std::string party;
  };
  absl::flat_hash_map<int, Connection> connections_;  // By the number of the duplicate.
  MonotonicTime resume_ = MonotonicTime::max();       // When a pause ends.

  std::atomic<int> open_ = 0;
  std::atomic<int64_t> refused_ = 0;
  std::atomic<int64_t> refused_of_address_ = 0;
  std::atomic<int64_t> failed_ = 0;

  Mutex mutex_;
  CondVar changed_;
  Wishes wishes_ ABSL_GUARDED_BY(mutex_);
  bool accepts_ ABSL_GUARDED_BY(mutex_) = true;
  std::thread thread_;
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_LISTENER_H_
