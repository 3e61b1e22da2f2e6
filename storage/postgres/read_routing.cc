#include "storage/postgres/read_routing.h"

namespace counter::postgres {

absl::Status ReadsOverloaded() {
  absl::Status error =
      MakeError(ErrorReason::kOverloaded, "too many reads wait for the store; try again later");
  SetRetryAfter(error, absl::Milliseconds(100));
  MarkNotApplied(error);
  return error;
}

}  // namespace counter::postgres
