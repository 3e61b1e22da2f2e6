// LinkState: when to connect, when to give up, when to ask whether the other side is still there.
//
// Use one for each connection that should always be there. It decides; link.h acts. It is pure: no
// socket and no clock of its own; randomness comes from the seed.
//
//   kDown --(time has come)--> kConnecting --Ready--> kReady --Lost--> kDown
//                                  \--Lost, or too slow--> kDown, and wait longer
//
// - The wait after a failed attempt doubles from backoff_first up to backoff_max, and is then
//   spread over its upper half at random, so that servers that lost the same database do not come
//   back as one. A link that was ready tries again after at most backoff_first.
// - The wait grows back to its first length only after a link has stayed ready for
//   backoff_reset_after: a server that accepts and drops is not hammered.
// - A ready link that has heard nothing for probe_interval wants a probe.
//
// Threads: one at a time.
#ifndef COUNTER_STORAGE_POSTGRES_LINK_STATE_H_
#define COUNTER_STORAGE_POSTGRES_LINK_STATE_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "base/clock.h"

namespace counter::postgres {

class LinkState {
 public:
  struct Limits {
    absl::Duration backoff_first = absl::Milliseconds(50);
    absl::Duration backoff_max = absl::Seconds(1);
    absl::Duration backoff_reset_after = absl::Seconds(5);
    // From the start of an attempt, name look-up included, to a checked session.
    absl::Duration connect_timeout = absl::Seconds(3);
    absl::Duration probe_interval = absl::Milliseconds(250);
  };
  enum class Phase { kDown, kConnecting, kReady };
  enum class Step {
    kNothing,
    kConnect,  // Start an attempt; the phase is kConnecting now.
    kGiveUp,   // The attempt took too long: drop it; the phase is kDown now.
    kProbe,    // Send something that must be answered, and say ProbeSent().
  };

  // Down since `now`; the first attempt is due at once.
  LinkState(const Limits& limits, uint64_t seed, MonotonicTime now);

  // What to do now. Call it whenever something happened, and at next_wake() at the latest.
  Step Next(MonotonicTime now);
  // When Next() has something new to say if nothing else happens.
  MonotonicTime next_wake() const;

  // The attempt succeeded. Requires kConnecting.
  void Ready(MonotonicTime now);
  // The attempt failed, or the ready link broke. Requires not kDown.
  void Lost(MonotonicTime now);
  // Requires kReady, both.
  void ProbeSent(MonotonicTime now);
  void ProbeAnswered(MonotonicTime now);

  Phase phase() const { return phase_; }
  // How long the link has not been ready; zero if it is.
  absl::Duration Unready(MonotonicTime now) const;
  // How long a probe has been waiting for its answer; zero if none is.
  absl::Duration ProbeWaiting(MonotonicTime now) const;
  int attempts_failed() const { return attempts_failed_; }  // In a row.

 private:
  absl::Duration Wait();

  const Limits limits_;
  std::mt19937_64 random_;
  Phase phase_ = Phase::kDown;
  MonotonicTime since_;  // Of the phase.
  MonotonicTime unready_since_;
  MonotonicTime next_attempt_;  // In kDown.
  MonotonicTime next_probe_;    // In kReady.
  bool probing_ = false;
  MonotonicTime probe_sent_;
  int attempts_failed_ = 0;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_LINK_STATE_H_
