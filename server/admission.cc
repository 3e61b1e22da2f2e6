#include "server/admission.h"

#include <algorithm>
#include <any>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/log.h"
#include "server/call_error.h"

namespace counter {
namespace {

// What is remembered of a call from Admit() to Ended().
struct GateData {
  std::string request_id;
  std::atomic<int>* in_flight = nullptr;  // Which count it is in; null if it was refused.
};

// An operator acts on faults of ours only; everything else is counted, and logged for who asks.
void LogEnd(const rpc::Call& call, const std::string& request_id, const grpc::Status& status,
            absl::Duration took) {
  if (status.error_code() == grpc::StatusCode::INTERNAL ||
      status.error_code() == grpc::StatusCode::UNKNOWN) {
    static LogThrottle throttle(absl::Seconds(1));
    throttle.Log(LogLevel::kError, "A call failed through a fault of the server.",
                 {{"method", call.method()}, {"request_id", request_id}});
  }
  if (LogEnabled(LogLevel::kDebug)) {
    Log(LogLevel::kDebug, "A call ended.",
        {{"method", call.method()},
         {"request_id", request_id},
         {"grpc_code", static_cast<int>(status.error_code())},
         {"took_seconds", took},
         {"error", status.error_message()}});
  }
}

bool IsStandardService(absl::string_view method) { return method.substr(0, 6) == "/grpc."; }

absl::Status Overloaded(int calls_max, absl::Duration retry_after) {
  absl::Status error = MakeError(
      ErrorReason::kOverloaded,
      absl::StrCat("the server has ", calls_max, " calls in flight, its limit; try again in ",
                   absl::ToInt64Milliseconds(retry_after), " ms"));
  SetRetryAfter(error, retry_after);
  SetQuotaViolation(error, {"server", absl::StrCat(calls_max, " calls in flight")});
  return error;
}

std::string RandomRequestId() {
  // Unique is enough; nobody is to be kept from guessing it.
  thread_local std::mt19937_64 random{std::random_device{}()};
  return absl::StrFormat("%016x%016x", random(), random());
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

Admission::Admission(Options options, const Clock& clock, CallObserver& observer)
    : options_(options), clock_(clock), observer_(observer) {}

absl::Status Admission::Check(const rpc::Call& call, int in_flight) const {
  const bool standard = IsStandardService(call.method());
  if (!standard && stopped_.load(std::memory_order_relaxed)) {
    return MakeError(ErrorReason::kShuttingDown,
                     "the server is shutting down; another one will answer");
  }
  if (call.limits().expired(clock_.MonotonicNow())) {
    return MakeError(ErrorReason::kDeadlineExceeded,
                     "the deadline had passed when the call arrived");
  }
  const int calls_max = standard ? options_.standing_calls_max : options_.calls_in_flight_max;
  if (in_flight > calls_max) return Overloaded(calls_max, options_.retry_after);
  return absl::OkStatus();
}

std::optional<grpc::Status> Admission::Admit(rpc::Call& call) {
  if (!IsStandardService(call.method())) {
    calls_arrived_.fetch_add(1, std::memory_order_relaxed);
    observer_.CallStarted(call.method());
  }
  GateData data;
  data.request_id = RequestIdOf(call.Metadata(kRequestIdKey));
  call.AddInitialMetadata(kRequestIdKey, data.request_id);

  std::atomic<int>& count = IsStandardService(call.method()) ? standing_calls_ : calls_in_flight_;
  absl::Status error = Check(call, count.fetch_add(1, std::memory_order_relaxed) + 1);
  if (error.ok()) data.in_flight = &count;
  call.gate_data() = std::move(data);
  if (error.ok()) return std::nullopt;
  count.fetch_sub(1, std::memory_order_relaxed);
  observer_.CallRefused(ReasonOf(error));
  MarkNotApplied(error);
  return EndWithError(call, error);
}

void Admission::Ended(rpc::Call& call, const grpc::Status& status) {
  const GateData& data = *std::any_cast<GateData>(&call.gate_data());
  if (data.in_flight != nullptr) data.in_flight->fetch_sub(1, std::memory_order_relaxed);
  const absl::Duration took = Between(call.arrived(), clock_.MonotonicNow());
  LogEnd(call, data.request_id, status, took);
  if (IsStandardService(call.method())) return;
  observer_.CallEnded(call.method(), status.error_code(), took);
}

}  // namespace counter
