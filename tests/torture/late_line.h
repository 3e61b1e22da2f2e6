// LateLine: a Proxy on which what the server says arrives late, however much it says: the line of a
// standby that is far away, or slow. What was on its way when the server ends is lost with it.
//
// A FaultyLine that is slow holds up what comes behind, too: its delay grows with the traffic.
//
// Threads: all methods any. Ownership: owns its proxy.
#ifndef COUNTER_TESTS_TORTURE_LATE_LINE_H_
#define COUNTER_TESTS_TORTURE_LATE_LINE_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "tests/support/proxy.h"

namespace counter::testing {

class LateLine {
 public:
  // Listens on a free port of 127.0.0.1. Nothing is late before DelayBy().
  explicit LateLine(const Proxy::Address& server);

  int port() const { return proxy_.port(); }
  // For what the server says from now on.
  void DelayBy(absl::Duration by) { delay_us_ = absl::ToInt64Microseconds(by); }
  // For good, with the loss of everything that is on its way.
  void Cut();

 private:
  class Tap;

  std::atomic<int64_t> delay_us_ = 0;
  std::atomic<bool> is_cut_ = false;
  Proxy proxy_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_TORTURE_LATE_LINE_H_
