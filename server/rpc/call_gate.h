// CallGate: who decides whether a call gets in, and who is told how it ended. Admission, request
// ids, logs and metrics live behind it; the engine knows none of them.
//
// Threads: called from every queue thread and from every thread on which a handler may end, several
//   at once. Both must be quick and must not block: they hold up all calls of that thread.
// Ownership: the server's owner keeps the gate alive until the server is drained.
#ifndef COUNTER_SERVER_RPC_CALL_GATE_H_
#define COUNTER_SERVER_RPC_CALL_GATE_H_

#include <optional>

#include "server/rpc/call.h"

#include <grpcpp/support/status.h>

namespace counter::rpc {

class CallGate {
 public:
  virtual ~CallGate() = default;

  // Asked once about every call of a known method, before its handler. A status refuses the call
  // and is its answer. May add metadata.
  virtual std::optional<grpc::Status> Admit(Call& call) = 0;

  // Told exactly once about every call that Admit() was asked about, refused ones too, just before
  // `status` is sent. May add trailing metadata.
  virtual void Ended(Call& call, const grpc::Status& status) = 0;
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_CALL_GATE_H_
