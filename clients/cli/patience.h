// MayPass and Pauses: what a long command does about failures that pass. Values; one thread.
#ifndef COUNTER_CLIENTS_CLI_PATIENCE_H_
#define COUNTER_CLIENTS_CLI_PATIENCE_H_

#include <algorithm>
#include <optional>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cpp/error.h"

namespace counter::cli {

// Whether the same call can succeed later.
inline bool MayPass(client::ErrorKind kind) {
  switch (kind) {
    case client::ErrorKind::kRateLimited:
    case client::ErrorKind::kOverloaded:
    case client::ErrorKind::kUnavailable:
    case client::ErrorKind::kDeadlineExceeded:
    case client::ErrorKind::kCancelled:
    case client::ErrorKind::kInternal:
      return true;
    default:
      return false;
  }
}

// Pauses between the attempts of one thing, 100 ms doubling to 5 s, until its time is used up.
class Pauses {
 public:
  explicit Pauses(absl::Duration patience) : end_(absl::Now() + patience) {}

  // Waits, at least as long as the error says. False, at once, if the time does not suffice.
  bool Wait(const client::Error& error) {
    const absl::Duration wait = std::max(pause_, error.retry_after.value_or(pause_));
    if (absl::Now() + wait > end_) return false;
    absl::SleepFor(wait);
    pause_ = std::min(2 * pause_, kPauseMax);
    return true;
  }

 private:
  static constexpr absl::Duration kPauseFirst = absl::Milliseconds(100);
  static constexpr absl::Duration kPauseMax = absl::Seconds(5);

  const absl::Time end_;
  absl::Duration pause_ = kPauseFirst;
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_PATIENCE_H_
