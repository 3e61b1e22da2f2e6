// Errors: an absl::Status that also carries what a caller of the service can act on.
//
// An error is made once, at the edge where it was born, by MakeError(); rooms in between pass the
// absl::Status on untouched; the server's status room turns it into what goes over the wire. The
// extra facts travel as payloads of the status. All functions are thread-safe (they only touch
// arguments).
//
// A message says what was expected, what came and what to do. It holds no secret, SQL, host, path
// or driver name: it goes to callers. Details for operators go to the log where the error is born.
#ifndef COUNTER_BASE_ERROR_H_
#define COUNTER_BASE_ERROR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace counter {

// Mirrors counter.v1.ErrorReason, value for value; a test of the server holds the two together.
enum class ErrorReason {
  kUnspecified = 0,
  kInvalidRequest = 1,
  kRateLimited = 2,
  kOverloaded = 3,
  kShuttingDown = 4,
  kStoreUnavailable = 5,
  kDeadlineExceeded = 6,
  kCancelled = 7,
  kInternal = 8,
  kUnimplemented = 9,
  kLikersNotIndexed = 10,
  kResumeOutOfRange = 11,
  kUnauthenticated = 12,
  kCallerNotAllowed = 13,
  kUserNotAllowed = 14,
};

// The reason's name as it goes over the wire: "STORE_UNAVAILABLE".
absl::string_view ErrorReasonName(ErrorReason reason);

// An error of the canonical code that belongs to `reason`. Requires reason != kUnspecified.
absl::Status MakeError(ErrorReason reason, absl::string_view message);

// kUnspecified for OK; kInternal for an error that was not made by MakeError().
ErrorReason ReasonOf(const absl::Status& status);

// On an error of a write: it is certain that nothing was applied. Without the mark the write was
// applied zero or one time.
void MarkNotApplied(absl::Status& error);
// Takes the mark back, where a claim about this attempt does not hold for the whole call.
void UnmarkNotApplied(absl::Status& error);
bool IsNotApplied(const absl::Status& error);

// When a caller should try again.
void SetRetryAfter(absl::Status& error, absl::Duration retry_after);
std::optional<absl::Duration> RetryAfterOf(const absl::Status& error);

// Which field of a request is wrong: `field` is its path ("items[3].item_id"), `description` names
// the value that came and the limit.
struct FieldViolation {
  std::string field;
  std::string description;
  friend bool operator==(const FieldViolation&, const FieldViolation&) = default;
};
// kInvalidRequest with every violation. Requires !violations.empty().
absl::Status MakeInvalidRequest(const std::vector<FieldViolation>& violations);
std::vector<FieldViolation> FieldViolationsOf(const absl::Status& error);

// Which quota was exceeded: `subject` ("user:123") and a sentence with the limit.
struct QuotaViolation {
  std::string subject;
  std::string description;
  friend bool operator==(const QuotaViolation&, const QuotaViolation&) = default;
};
void SetQuotaViolation(absl::Status& error, const QuotaViolation& violation);
std::optional<QuotaViolation> QuotaViolationOf(const absl::Status& error);

}  // namespace counter

#endif  // COUNTER_BASE_ERROR_H_
