// Admission: decides which calls of the product's own service get in, whichever way they come
// (gRPC, REST, Connect), gives each an id, and logs how they end.
//
// A call is refused, before anything was done for it, while the server is shutting down
// (SHUTTING_DOWN), when its deadline has already passed (DEADLINE_EXCEEDED), or when as many calls
// as allowed are in flight, of all callers or of this one (OVERLOADED, with a retry hint). Who the
// caller is was decided before (callers/).
//
// It knows no transport. Threads: any. Ownership: the owner keeps it, and what it borrows, until
// every way in is drained.
#ifndef COUNTER_SERVER_ADMISSION_H_
#define COUNTER_SERVER_ADMISSION_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/error.h"
#include "server/callers/caller.h"

namespace counter {

// Told of refusals; for metrics. Any thread; must not block.
class AdmissionObserver {
 public:
  virtual ~AdmissionObserver() = default;
  virtual void CallRefused(ErrorReason reason) = 0;
};

// The id that a call is known by: the caller's `x-request-id` if it is 1 to 64 characters of
// [A-Za-z0-9._-], else 32 random hexadecimal digits.
inline constexpr char kRequestIdKey[] = "x-request-id";
std::string RequestIdOf(const std::optional<std::string>& from_caller);

// The trace that a call belongs to: the 32 hexadecimal digits of a W3C `traceparent`; empty if the
// caller sent none, or one that is not well-formed. It goes into the log, beside the id of the
// call: one trace has many calls.
inline constexpr char kTraceparentKey[] = "traceparent";
std::string TraceIdOf(const std::optional<std::string>& traceparent);

// The refusal of a call over a limit: so many of `what`.
absl::Status OverloadedError(int calls_max, absl::Duration retry_after,
                             absl::string_view what = "calls in flight");

// An operator acts on faults of ours only; those are logged as errors, everything else for who asks
// for it.
struct EndedCall {
  absl::string_view method;
  absl::string_view request_id;
  absl::string_view trace_id;  // May be empty.
  absl::string_view caller;    // May be empty.
  absl::StatusCode code = absl::StatusCode::kOk;
  absl::string_view message;
  absl::Duration took;
};
void LogEndedCall(const EndedCall& call);

class Admission {
 public:
  struct Options {
    int calls_in_flight_max = 4096;
    int watches_max = 10'000;
    int caller_watches_max = 500;  // Of one caller that has no limit of its own.
    absl::Duration retry_after = absl::Milliseconds(100);  // The hint of an OVERLOADED.
  };

  Admission(Options options, const Clock& clock, AdmissionObserver& observer);

  // From now on every call is refused with SHUTTING_DOWN.
  void StopAdmitting() { stopped_.store(true, std::memory_order_relaxed); }

  bool admitting() const { return !stopped_.load(std::memory_order_relaxed); }

  // OK, and the call is in flight until Leave(); or why it cannot be let in, marked as not applied.
  absl::Status Enter(const CallLimits& limits, const Caller& caller);
  // Requires that Enter() was OK for this call of this caller, and that it has not left.
  void Leave(const Caller& caller);

  // Counts a call that others have refused with `reason` before it came here.
  void CountRefused(ErrorReason reason);

  // The same of a watch: a call that stands for as long as its caller likes, and is not in flight.
  absl::Status EnterWatch(const CallLimits& limits, const Caller& caller);
  void LeaveWatch(const Caller& caller);
  int watches() const { return watches_.load(std::memory_order_relaxed); }

  // Calls that were admitted and have not left.
  int calls_in_flight() const { return calls_in_flight_.load(std::memory_order_relaxed); }

  // Calls that have come so far, refused ones included.
  int64_t calls_arrived() const { return calls_arrived_.load(std::memory_order_relaxed); }

 private:
  absl::Status Check(const CallLimits& limits) const;
  absl::Status Refuse(absl::Status error);

  const Options options_;
  const Clock& clock_;
  AdmissionObserver& observer_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int64_t> calls_arrived_ = 0;
  std::atomic<int> calls_in_flight_ = 0;
  std::atomic<int> watches_ = 0;
};

}  // namespace counter

#endif  // COUNTER_SERVER_ADMISSION_H_
