// PostgresProxy: stands between a store and PostgreSQL and breaks the line where a test wants it.
//
// It listens on a unix socket in a directory of its own; Url() is what Url() of the server is,
// through it. It knows just enough of the protocol to find the sync messages of a client.
//
// Threads: all methods from any thread; it runs threads of its own.
#ifndef COUNTER_TESTS_STORAGE_POSTGRES_PROXY_H_
#define COUNTER_TESTS_STORAGE_POSTGRES_PROXY_H_

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tests/support/postgres_server.h"

namespace counter::testing {

class PostgresProxy {
 public:
  struct Options {
    // Of each socket, both ways; 0: as the kernel likes.
    int buffer_bytes = 0;
  };
  PostgresProxy(const PostgresServer& server, const Options& options);
  ~PostgresProxy();
  PostgresProxy(const PostgresProxy&) = delete;
  PostgresProxy& operator=(const PostgresProxy&) = delete;

  std::string Url(absl::string_view database) const;

  // The syncs of the next `count` units that like or unlike reach the server; their answers are
  // thrown away and their connections reset.
  void SwallowAnswers(int count) { to_swallow_ = count; }
  int swallowed() const { return swallowed_; }

 private:
  class Line;
  void Accept();

  const std::string upstream_;
  const Options options_;
  ServerDirectory directory_;
  int listener_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<int> to_swallow_{0};
  std::atomic<int> swallowed_{0};
  std::thread acceptor_;
  Mutex mutex_;
  std::list<std::unique_ptr<Line>> lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_POSTGRES_PROXY_H_
