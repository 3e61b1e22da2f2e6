// RedisProxy: stands between servers and Redis, breaks the line where a test wants it, and leads to
// another Redis when the first one is given up.
//
// It knows just enough of the protocol to tell one command from the next.
//
// Threads: all methods any. Ownership: borrows the servers of Redis, for as long as it leads there.
#ifndef COUNTER_TESTS_SUPPORT_REDIS_PROXY_H_
#define COUNTER_TESTS_SUPPORT_REDIS_PROXY_H_

#include <atomic>
#include <cstdint>
#include <random>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "tests/support/proxy.h"
#include "tests/support/redis_server.h"

namespace counter::testing {

class RedisProxy {
 public:
  explicit RedisProxy(const RedisServer& server);

  std::string url() const;

  // Of the commands that hold `text`, one in `one_in` is the last of its connection: it is passed
  // on to Redis whole, nothing that the client sent after it, and no reply. At random, by TestSeed.
  void BreakAfter(const std::string& text, uint32_t one_in);
  void BreakNothing() { BreakAfter("", 1); }
  // How many connections ended so.
  int64_t broken() const { return broken_; }

  // As after a failover: whoever is connected is cut off, and comes to `server` next.
  void LeadTo(const RedisServer& server) { proxy_.LeadTo({server.port()}); }

 private:
  class Tap;
  // Whether the connection ends after this command.
  bool IsLast(absl::string_view command);

  Mutex mutex_;
  std::mt19937 random_ ABSL_GUARDED_BY(mutex_);
  std::string text_ ABSL_GUARDED_BY(mutex_);  // Empty: nothing is broken.
  uint32_t one_in_ ABSL_GUARDED_BY(mutex_) = 1;
  std::atomic<int64_t> broken_ = 0;
  Proxy proxy_;
};

// How many bytes of `bytes` the first command takes; 0 if it is not whole yet.
size_t RedisCommandSize(absl::string_view bytes);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_REDIS_PROXY_H_
