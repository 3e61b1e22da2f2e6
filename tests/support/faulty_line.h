// FaultyLine: a Proxy that does to whatever passes what a test says, whichever protocol it is.
//
// One fault at a time; Pass() ends it. Connections that lost bytes to a fault break when it ends,
// since no protocol goes on after that; others go on.
//
// Threads: all methods any. Ownership: owns its proxy.
#ifndef COUNTER_TESTS_SUPPORT_FAULTY_LINE_H_
#define COUNTER_TESTS_SUPPORT_FAULTY_LINE_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "tests/support/proxy.h"

namespace counter::testing {

class FaultyLine {
 public:
  struct Options {
    Proxy::Address listen = {};
    Proxy::Address server = {};
    int listener = -1;     // As Proxy's.
    int buffer_bytes = 0;  // As Proxy's: a few KiB make both sides wait for each other often.
  };
  explicit FaultyLine(const Options& options);

  int port() const { return proxy_.port(); }
  void LeadTo(Proxy::Address server) { proxy_.LeadTo(std::move(server)); }

  void Pass();
  // Passes again, but for connections that lost bytes: these stand, and are silent for ever.
  void PassOthers();
  // What either side sends vanishes; connections stand, and new ones are taken.
  void Swallow() { Set(Fault::kSwallow); }
  // What either side sends is held back for so long.
  void Slow(absl::Duration by);
  // Each connection breaks once so many bytes more of the client have gone on.
  void CutAfter(int64_t bytes);
  // What the client sends goes on; the first thing that the server says to it does not come, and
  // its connection breaks.
  void DropReplies() { Set(Fault::kDropReplies); }
  // New connections break at once, and all that there are.
  void Refuse();

  // At once, to all connections that there are.
  void Reset() { proxy_.BreakAll(); }
  void HalfClose() { proxy_.HalfCloseAll(); }

 private:
  enum class Fault : uint8_t { kNone, kSwallow, kSlow, kCut, kDropReplies, kRefuse };
  class Tap;
  void Set(Fault fault) { fault_ = fault; }

  std::atomic<Fault> fault_ = Fault::kNone;
  std::atomic<bool> lost_stay_ = false;
  std::atomic<int64_t> delay_us_ = 0;
  std::atomic<int64_t> cut_after_ = 0;
  Proxy proxy_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_FAULTY_LINE_H_
