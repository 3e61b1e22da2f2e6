#include "server/upkeep/failpoint.h"

#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace counter {

void Failpoint::BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) {
  // As a crash: nothing is flushed, no destructor runs.
  if (--left_ == 0) _exit(kExitStatus);
  next_.BatchCommitted(row, changed);
}

absl::StatusOr<int64_t> ParseFailpoint(absl::string_view text) {
  if (text.empty()) return 0;
  int64_t batches = 1;
  if (!absl::ConsumePrefix(&text, "exit-after-commit") ||
      (!text.empty() &&
       (!absl::ConsumePrefix(&text, ":") || !absl::SimpleAtoi(text, &batches) || batches < 1))) {
    return absl::InvalidArgumentError(
        "COUNTER_FAILPOINT, which is for tests, must be exit-after-commit or exit-after-commit:N");
  }
  return batches;
}

}  // namespace counter
