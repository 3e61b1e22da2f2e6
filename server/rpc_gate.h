// RpcGate: the gate of the gRPC engine: asks Callers who calls and whether they may, and Admission
// about calls of the product's own service, gives each its id, and counts how they end.
//
// The standard services (names that start with "/grpc.") are let in while draining and have a limit
// of their own: their streams stand for as long as a client watches, and a health check must be
// answered when the server is full. Health is open to everybody; reflection is not.
//
// Threads: any. Ownership: borrows all it is given until the server is drained.
#ifndef COUNTER_SERVER_RPC_GATE_H_
#define COUNTER_SERVER_RPC_GATE_H_

#include <atomic>
#include <optional>

#include <grpcpp/support/status.h>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "server/admission.h"
#include "server/callers/callers.h"
#include "server/rpc/call_gate.h"

namespace counter {

// Told of every gRPC call of this server's own services; for metrics. Any thread; must not block.
class RpcObserver {
 public:
  virtual ~RpcObserver() = default;
  virtual void CallStarted(absl::string_view method) = 0;
  virtual void CallEnded(absl::string_view method, grpc::StatusCode code, absl::Duration took) = 0;
};

class RpcGate final : public rpc::CallGate {
 public:
  static constexpr int kStandingCallsMax = 1024;  // Of the standard services.
  // Its calls stand, too, and have a limit of their own (Admission).
  static constexpr char kWatchMethod[] = "/counter.v1.CounterService/WatchCounts";

  RpcGate(const Callers& callers, Admission& admission, const Clock& clock, RpcObserver& observer,
          AdmissionObserver& refusals)
      : callers_(callers),
        admission_(admission),
        clock_(clock),
        observer_(observer),
        refusals_(refusals) {}

  std::optional<grpc::Status> Admit(rpc::Call& call) override;
  void Ended(rpc::Call& call, const grpc::Status& status) override;

 private:
  // Fills in `caller`.
  absl::Status Enter(const rpc::Call& call, CallerRef& caller);
  absl::Status EnterStandard(const rpc::Call& call);
  void Leave(const rpc::Call& call, const Caller& caller);

  const Callers& callers_;
  Admission& admission_;
  const Clock& clock_;
  RpcObserver& observer_;
  AdmissionObserver& refusals_;
  std::atomic<int> standing_calls_ = 0;
};

// Who makes a call that an RpcGate has let in. Lives as long as the call.
const Caller& CallerOf(rpc::Call& call);

}  // namespace counter

#endif  // COUNTER_SERVER_RPC_GATE_H_
