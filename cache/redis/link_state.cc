#include "cache/redis/link_state.h"

#include <algorithm>

namespace counter::redis {

absl::Duration BackOff::Next() {
  const absl::Duration full = next_;
  next_ = std::min(next_ * 2, longest_);
  std::uniform_real_distribution<double> share(0.5, 1.0);
  return full * share(random_);
}

LinkState::LinkState(const LinkOptions& options, uint64_t seed)
    : options_(options), back_off_(options.pause_first, options.pause_longest, seed) {}

void LinkState::OnAttempt(MonotonicTime now) {
  phase_ = Phase::kAttempting;
  wakes_at_ = now + options_.attempt_max;
}

bool LinkState::OnReady(absl::string_view run_id) {
  phase_ = Phase::kReady;
  back_off_.Reset();
  const bool is_new_run = was_ready_ && (run_id.empty() || run_id != run_id_);
  was_ready_ = true;
  run_id_ = std::string(run_id);
  return is_new_run;
}

void LinkState::OnBroken(MonotonicTime now) {
  phase_ = Phase::kPausing;
  wakes_at_ = now + back_off_.Next();
}

Breaker::Breaker(const BreakerOptions& options, uint64_t seed)
    : options_(options), back_off_(options.pause_first, options.pause_longest, seed) {}

bool Breaker::OnTimeout(MonotonicTime now) {
  ++timeouts_;
  if (state_ != State::kClosed || timeouts_ < options_.timeouts_to_open ||
      now < answered_at_ + options_.silence_to_open) {
    return false;
  }
  state_ = State::kOpen;
  probe_at_ = now + back_off_.Next();
  return true;
}

void Breaker::OnProbeEnd(bool answered, MonotonicTime now) {
  if (answered) {
    Reset(now);
    return;
  }
  state_ = State::kOpen;
  probe_at_ = now + back_off_.Next();
}

void Breaker::Reset(MonotonicTime now) {
  state_ = State::kClosed;
  timeouts_ = 0;
  answered_at_ = now;
  back_off_.Reset();
}

}  // namespace counter::redis
