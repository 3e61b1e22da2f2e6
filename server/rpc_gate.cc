#include "server/rpc_gate.h"

#include <any>
#include <string>
#include <utility>

#include "base/error.h"
#include "server/call_error.h"

namespace counter {
namespace {

enum class CallKind : uint8_t { kStandard, kWatch, kOther };

// What is remembered of a call from Admit() to Ended().
struct GateData {
  std::string request_id;
  std::string trace_id;
  CallerRef caller = UnknownCaller();
  bool admitted = false;
};

CallKind KindOf(absl::string_view method) {
  if (method.substr(0, 6) == "/grpc.") return CallKind::kStandard;
  return method == RpcGate::kWatchMethod ? CallKind::kWatch : CallKind::kOther;
}

bool IsHealth(absl::string_view method) { return method.substr(0, 13) == "/grpc.health."; }

}  // namespace

absl::Status RpcGate::EnterStandard(const rpc::Call& call) {
  const int standing = standing_calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  absl::Status error;
  if (call.limits().expired(clock_.MonotonicNow())) {
    error =
        MakeError(ErrorReason::kDeadlineExceeded, "the deadline had passed when the call arrived");
  } else if (standing > kStandingCallsMax) {
    error = OverloadedError(kStandingCallsMax, absl::Seconds(1));
  }
  if (error.ok()) return error;
  standing_calls_.fetch_sub(1, std::memory_order_relaxed);
  refusals_.CallRefused(ReasonOf(error));
  return error;
}

absl::Status RpcGate::Enter(const rpc::Call& call, CallerRef& caller) {
  if (!IsHealth(call.method())) {
    const Credentials credentials = {
        callers_.has_table() ? call.Metadata("authorization") : std::nullopt,
        [&call] { return call.PeerNames(); }};
    absl::StatusOr<CallerRef> admitted = callers_.Admit(call.method(), credentials);
    if (!admitted.ok()) {
      admission_.CountRefused(ReasonOf(admitted.status()));
      return admitted.status();
    }
    caller = *std::move(admitted);
  }
  switch (KindOf(call.method())) {
    case CallKind::kStandard:
      return EnterStandard(call);
    case CallKind::kWatch:
      return admission_.EnterWatch(call.limits(), *caller);
    case CallKind::kOther:
      return admission_.Enter(call.limits(), *caller);
  }
  return absl::OkStatus();
}

void RpcGate::Leave(const rpc::Call& call, const Caller& caller) {
  switch (KindOf(call.method())) {
    case CallKind::kStandard:
      standing_calls_.fetch_sub(1, std::memory_order_relaxed);
      return;
    case CallKind::kWatch:
      admission_.LeaveWatch(caller);
      return;
    case CallKind::kOther:
      admission_.Leave(caller);
      return;
  }
}

std::optional<grpc::Status> RpcGate::Admit(rpc::Call& call) {
  if (KindOf(call.method()) != CallKind::kStandard) observer_.CallStarted(call.method());
  GateData data;
  data.request_id = RequestIdOf(call.Metadata(kRequestIdKey));
  data.trace_id = TraceIdOf(call.Metadata(kTraceparentKey));
  call.AddInitialMetadata(kRequestIdKey, data.request_id);
  // A client may learn how a stream ended before it has looked at what came first (grpc.aio does).
  if (KindOf(call.method()) == CallKind::kWatch)
    call.AddTrailingMetadata(kRequestIdKey, data.request_id);
  const absl::Status error = Enter(call, data.caller);
  data.admitted = error.ok();
  call.gate_data() = std::move(data);
  if (error.ok()) return std::nullopt;
  return EndWithError(call, error);
}

void RpcGate::Ended(rpc::Call& call, const grpc::Status& status) {
  const GateData& data = *std::any_cast<GateData>(&call.gate_data());
  if (data.admitted) Leave(call, *data.caller);
  const absl::Duration took = Between(call.arrived(), clock_.MonotonicNow());
  LogEndedCall({call.method(), data.request_id, data.trace_id, data.caller->name,
                static_cast<absl::StatusCode>(status.error_code()), status.error_message(), took});
  if (KindOf(call.method()) != CallKind::kStandard) {
    observer_.CallEnded(call.method(), status.error_code(), took);
  }
}

const Caller& CallerOf(rpc::Call& call) {
  return *std::any_cast<GateData>(&call.gate_data())->caller;
}

}  // namespace counter
