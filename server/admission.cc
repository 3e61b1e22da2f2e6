#include "server/admission.h"

#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace counter {
namespace {

constexpr char kCallsInFlight[] = "calls in flight";

std::string RandomRequestId() {
  // Unique is enough; nobody is to be kept from guessing it.
  thread_local std::mt19937_64 random{std::random_device{}()};
  const uint64_t high = random();
  const uint64_t low = random();
  return absl::StrCat(absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16));
}

}  // namespace

std::string RequestIdOf(const std::optional<std::string>& from_caller) {
  constexpr size_t kBytesMax = 64;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  const bool usable = from_caller.has_value() && !from_caller->empty() &&
                      from_caller->size() <= kBytesMax &&
                      std::all_of(from_caller->begin(), from_caller->end(), is_allowed);
  return usable ? *from_caller : RandomRequestId();
}

std::string TraceIdOf(const std::optional<std::string>& traceparent) {
  // VERSION-TRACE-PARENT-FLAGS, as in 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.
  constexpr size_t kTraceAt = 3;
  constexpr size_t kTraceDigits = 32;
  constexpr size_t kLength = 55;
  if (!traceparent.has_value() || traceparent->size() < kLength) return "";
  const absl::string_view text = *traceparent;
  const absl::string_view version = text.substr(0, 2);
  // Only a version that is not known yet may go on after the flags.
  if (version == "ff") return "";
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return "";
  for (size_t i = 0; i < kLength; ++i) {
    const bool is_dash = i == 2 || i == 35 || i == 52;
    const bool is_hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (is_dash ? text[i] != '-' : !is_hex) return "";
  }
  const auto is_zero = [](absl::string_view id) {
    return id.find_first_not_of('0') == absl::string_view::npos;
  };
  const absl::string_view trace = text.substr(kTraceAt, kTraceDigits);
  if (is_zero(trace) || is_zero(text.substr(36, 16))) return "";
  return std::string(trace);
}

absl::Status OverloadedError(int calls_max, absl::Duration retry_after, absl::string_view what) {
  absl::Status error =
      MakeError(ErrorReason::kOverloaded,
                absl::StrCat("the server has ", calls_max, " ", what, ", its limit; try again in ",
                             absl::ToInt64Milliseconds(retry_after), " ms"));
  SetRetryAfter(error, retry_after);
  SetQuotaViolation(error, {"server", absl::StrCat(calls_max, " ", what)});
  return error;
}

namespace {

// The refusal of a call over a limit of its caller.
absl::Status CallerOverloadedError(const Caller& caller, int most, absl::Duration retry_after,
                                   absl::string_view what) {
  const std::string name = caller.name.empty() ? kAnyoneName : caller.name;
  absl::Status error = MakeError(
      ErrorReason::kOverloaded,
      absl::StrCat("the caller ", name, " has ", most, " ", what, ", its limit; try again in ",
                   absl::ToInt64Milliseconds(retry_after), " ms"));
  SetRetryAfter(error, retry_after);
  SetQuotaViolation(error, {absl::StrCat("caller:", name), absl::StrCat(most, " ", what)});
  return error;
}

}  // namespace

void LogEndedCall(const EndedCall& call) {
  if (call.code == absl::StatusCode::kInternal || call.code == absl::StatusCode::kUnknown) {
    static LogThrottle throttle(absl::Seconds(1));
    throttle.Log(LogLevel::kError, "A call failed through a fault of the server.",
                 {{"method", call.method},
                  {"request_id", call.request_id},
                  {"trace_id", call.trace_id},
                  {"caller", call.caller}});
  }
  if (LogEnabled(LogLevel::kDebug)) {
    Log(LogLevel::kDebug, "A call ended.",
        {{"method", call.method},
         {"request_id", call.request_id},
         {"trace_id", call.trace_id},
         {"caller", call.caller},
         {"grpc_code", static_cast<int>(call.code)},
         {"took_seconds", call.took},
         {"error", call.message}});
  }
}

Admission::Admission(Options options, const Clock& clock, AdmissionObserver& observer)
    : options_(options), clock_(clock), observer_(observer) {}

absl::Status Admission::Check(const CallLimits& limits) const {
  if (stopped_.load(std::memory_order_relaxed)) {
    return MakeError(ErrorReason::kShuttingDown,
                     "the server is shutting down; another one will answer");
  }
  if (limits.expired(clock_.MonotonicNow())) {
    return MakeError(ErrorReason::kDeadlineExceeded,
                     "the deadline had passed when the call arrived");
  }
  return absl::OkStatus();
}

absl::Status Admission::Refuse(absl::Status error) {
  observer_.CallRefused(ReasonOf(error));
  MarkNotApplied(error);
  return error;
}

absl::Status Admission::Enter(const CallLimits& limits, const Caller& caller) {
  calls_arrived_.fetch_add(1, std::memory_order_relaxed);
  const int in_flight = calls_in_flight_.fetch_add(1, std::memory_order_relaxed) + 1;
  const int of_caller =
      caller.load == nullptr
          ? 0
          : caller.load->calls_in_flight.fetch_add(1, std::memory_order_relaxed) + 1;
  absl::Status error = Check(limits);
  if (error.ok() && caller.calls_max > 0 && of_caller > caller.calls_max) {
    error = CallerOverloadedError(caller, caller.calls_max, options_.retry_after, kCallsInFlight);
  }
  if (error.ok() && in_flight > options_.calls_in_flight_max) {
    error = OverloadedError(options_.calls_in_flight_max, options_.retry_after);
  }
  if (error.ok()) return error;
  Leave(caller);
  return Refuse(std::move(error));
}

void Admission::Leave(const Caller& caller) {
  calls_in_flight_.fetch_sub(1, std::memory_order_relaxed);
  if (caller.load != nullptr) caller.load->calls_in_flight.fetch_sub(1, std::memory_order_relaxed);
}

void Admission::CountRefused(ErrorReason reason) {
  calls_arrived_.fetch_add(1, std::memory_order_relaxed);
  observer_.CallRefused(reason);
}

absl::Status Admission::EnterWatch(const CallLimits& limits, const Caller& caller) {
  // Who watches comes back at once when a server goes: that is a while, not the moment of a call.
  constexpr absl::Duration kRetryAfter = absl::Seconds(1);
  calls_arrived_.fetch_add(1, std::memory_order_relaxed);
  const int watches = watches_.fetch_add(1, std::memory_order_relaxed) + 1;
  const int of_caller =
      caller.load == nullptr ? 0 : caller.load->watches.fetch_add(1, std::memory_order_relaxed) + 1;
  const int caller_max = caller.watches_max > 0 ? caller.watches_max : options_.caller_watches_max;
  absl::Status error = Check(limits);
  if (error.ok() && of_caller > caller_max) {
    error = CallerOverloadedError(caller, caller_max, kRetryAfter, "watches");
  }
  if (error.ok() && watches > options_.watches_max) {
    error = OverloadedError(options_.watches_max, kRetryAfter, "watches");
  }
  if (error.ok()) return error;
  LeaveWatch(caller);
  return Refuse(std::move(error));
}

void Admission::LeaveWatch(const Caller& caller) {
  watches_.fetch_sub(1, std::memory_order_relaxed);
  if (caller.load != nullptr) caller.load->watches.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace counter
