#include "storage/postgres/link_state.h"

#include <algorithm>

namespace counter::postgres {

LinkState::LinkState(const Limits& limits, uint64_t seed, MonotonicTime now)
    : limits_(limits), random_(seed), since_(now), unready_since_(now), next_attempt_(now) {}

LinkState::Step LinkState::Next(MonotonicTime now) {
  switch (phase_) {
    case Phase::kDown:
      if (now < next_attempt_) return Step::kNothing;
      phase_ = Phase::kConnecting;
      since_ = now;
      return Step::kConnect;
    case Phase::kConnecting:
      if (now < since_ + limits_.connect_timeout) return Step::kNothing;
      Lost(now);
      return Step::kGiveUp;
    case Phase::kReady:
      return probing_ || now < next_probe_ ? Step::kNothing : Step::kProbe;
  }
  return Step::kNothing;
}

MonotonicTime LinkState::next_wake() const {
  switch (phase_) {
    case Phase::kDown:
      return next_attempt_;
    case Phase::kConnecting:
      return since_ + limits_.connect_timeout;
    case Phase::kReady:
      // While a probe waits, its age is looked at as often as probes are sent.
      return probing_ ? MonotonicTime::max() : next_probe_;
  }
  return MonotonicTime::max();
}

void LinkState::Ready(MonotonicTime now) {
  phase_ = Phase::kReady;
  since_ = now;
  probing_ = false;
  next_probe_ = now + limits_.probe_interval;
}

void LinkState::Lost(MonotonicTime now) {
  if (phase_ == Phase::kReady) {
    unready_since_ = now;
    if (Between(since_, now) >= limits_.backoff_reset_after) attempts_failed_ = 0;
  }
  phase_ = Phase::kDown;
  since_ = now;
  probing_ = false;
  next_attempt_ = now + Wait();
  ++attempts_failed_;
}

absl::Duration LinkState::Wait() {
  // 2^20 first waits are more than any sensible backoff_max.
  const int doublings = std::min(attempts_failed_, 20);
  const absl::Duration longest =
      std::min(limits_.backoff_max, limits_.backoff_first * (int64_t{1} << doublings));
  return longest * std::uniform_real_distribution<double>(0.5, 1.0)(random_);
}

void LinkState::ProbeSent(MonotonicTime now) {
  probing_ = true;
  probe_sent_ = now;
}

void LinkState::ProbeAnswered(MonotonicTime now) {
  probing_ = false;
  next_probe_ = now + limits_.probe_interval;
}

absl::Duration LinkState::Unready(MonotonicTime now) const {
  return phase_ == Phase::kReady ? absl::ZeroDuration() : Between(unready_since_, now);
}

absl::Duration LinkState::ProbeWaiting(MonotonicTime now) const {
  return probing_ ? Between(probe_sent_, now) : absl::ZeroDuration();
}

}  // namespace counter::postgres
