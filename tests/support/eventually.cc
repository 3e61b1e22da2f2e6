#include "tests/support/eventually.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace counter::testing {

bool Eventually(absl::Duration deadline, absl::FunctionRef<bool()> predicate) {
  const absl::Time end = absl::Now() + deadline;
  absl::Duration pause = absl::Milliseconds(1);
  while (true) {
    const bool last = absl::Now() >= end;
    if (predicate()) return true;
    if (last) return false;
    absl::SleepFor(std::min(pause, end - absl::Now()));
    pause = std::min(2 * pause, absl::Milliseconds(20));
  }
}

}  // namespace counter::testing
