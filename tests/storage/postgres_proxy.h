// PostgresProxy: stands between a store and PostgreSQL and breaks or slows the line where a test
// wants it.
//
// It listens on a unix socket in a directory of its own; Url() is what Url() of the server is,
// through it. It knows just enough of the protocol to find the sync messages of a client.
//
// Threads: all methods from any thread; it runs threads of its own.
#ifndef COUNTER_TESTS_STORAGE_POSTGRES_PROXY_H_
#define COUNTER_TESTS_STORAGE_POSTGRES_PROXY_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/support/postgres_server.h"
#include "tests/support/proxy.h"

namespace counter::testing {

class PostgresProxy {
 public:
  struct Options {
    // Of each socket, both ways; 0: as the kernel likes.
    int buffer_bytes = 0;
  };
  PostgresProxy(const PostgresServer& server, const Options& options);

  std::string Url(absl::string_view database) const;

  // The syncs of the next `count` units that like or unlike reach the server; their answers are
  // thrown away and their connections reset.
  void SwallowAnswers(int count) { to_swallow_ = count; }
  int swallowed() const { return swallowed_; }

  // From now on what the server answers is held back, for a random time up to `longest` or, with
  // `always`, for all of it. Zero: no longer.
  void DelayAnswers(absl::Duration longest, bool always = true);

 private:
  class Tap;

  ServerDirectory directory_;
  std::atomic<int> to_swallow_{0};
  std::atomic<int> swallowed_{0};
  std::atomic<int64_t> delay_us_{0};
  std::atomic<bool> delays_always_{true};
  std::atomic<uint32_t> taps_{0};
  Proxy proxy_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_POSTGRES_PROXY_H_
