// LinkState and Breaker: when to connect, when to wait, when to ask at all.
//
// Use them under a loop that owns the socket. They have no socket and no clock: they are told what
// happened and when, and say what is to be done.
//
// LinkState is the schedule of one connection: broken attempts are answered with a capped, jittered
// back-off. Breaker guards a connection that stands but does not answer: after timeouts_to_open
// timeouts in a row, and silence_to_open without an answer in time, nobody asks any more; a probe
// of our own (never a caller's request) finds out when it answers again.
//
// Threads: one at a time. Ownership: values only.
#ifndef COUNTER_CACHE_REDIS_LINK_STATE_H_
#define COUNTER_CACHE_REDIS_LINK_STATE_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace counter::redis {

// Pauses that double from `first` up to `longest`, each shortened at random by up to a half, so
// that servers that lost Redis together do not return together.
class BackOff {
 public:
  BackOff(absl::Duration first, absl::Duration longest, uint64_t seed)
      : first_(first), longest_(longest), next_(first), random_(seed) {}

  absl::Duration Next();
  void Reset() { next_ = first_; }

 private:
  const absl::Duration first_;
  const absl::Duration longest_;
  absl::Duration next_;
  std::mt19937_64 random_;
};

struct LinkOptions {
  absl::Duration pause_first = absl::Milliseconds(20);
  absl::Duration pause_longest = absl::Seconds(1);
  // An attempt that takes longer, from the name's resolution to the last word of the greeting, is
  // broken off.
  absl::Duration attempt_max = absl::Seconds(1);
};

class LinkState {
 public:
  enum class Phase : uint8_t {
    kPausing,     // Until wakes_at(), then begin an attempt.
    kAttempting,  // Until wakes_at(), then break it off.
    kReady,
    kStopped,
  };

  LinkState(const LinkOptions& options, uint64_t seed);

  Phase phase() const { return phase_; }
  // Of kPausing and kAttempting.
  MonotonicTime wakes_at() const { return wakes_at_; }

  // Requires kPausing.
  void OnAttempt(MonotonicTime now);
  // The greeting went well; `run_id` names the run of the server's process (empty: it does not
  // say). True if it is another run than the one before, or may be: what the former run held may be
  // gone. The first run is none. Requires kAttempting.
  bool OnReady(absl::string_view run_id);
  // The attempt failed, or the connection broke or was dropped. Requires kAttempting or kReady.
  void OnBroken(MonotonicTime now);
  void OnStop() { phase_ = Phase::kStopped; }

 private:
  const LinkOptions options_;
  BackOff back_off_;
  Phase phase_ = Phase::kPausing;
  MonotonicTime wakes_at_ = MonotonicTime::min();
  bool was_ready_ = false;
  std::string run_id_;
};

struct BreakerOptions {
  int timeouts_to_open = 5;
  // Requests that left together time out together, and say no more than one: two budgets of a
  // request tell a Redis that is gone from a processor that was busy for a moment.
  absl::Duration silence_to_open = absl::Milliseconds(40);
  absl::Duration pause_first = absl::Milliseconds(50);
  absl::Duration pause_longest = absl::Seconds(1);
};

class Breaker {
 public:
  enum class State : uint8_t {
    kClosed,   // Ask.
    kOpen,     // Do not ask until probe_at(), then probe.
    kProbing,  // Do not ask; a probe is on its way.
  };

  Breaker(const BreakerOptions& options, uint64_t seed);

  State state() const { return state_; }
  // Of kOpen.
  MonotonicTime probe_at() const { return probe_at_; }

  // A request was answered in time.
  void OnAnswer(MonotonicTime now) {
    timeouts_ = 0;
    answered_at_ = now;
  }
  // A request that was sent was not answered in time. True if this opened the breaker.
  bool OnTimeout(MonotonicTime now);
  // Requires kOpen.
  void OnProbe() { state_ = State::kProbing; }
  // Whether the probe was answered in time. Requires kProbing.
  void OnProbeEnd(bool answered, MonotonicTime now);
  // A new connection: it has just answered a greeting.
  void Reset(MonotonicTime now);

 private:
  const BreakerOptions options_;
  BackOff back_off_;
  State state_ = State::kClosed;
  int timeouts_ = 0;
  MonotonicTime answered_at_ = MonotonicTime::min();  // Last, in time.
  MonotonicTime probe_at_ = MonotonicTime::min();
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_LINK_STATE_H_
