#include "server/rpc/served_call.h"

#include <optional>
#include <utility>

#include "server/rpc/method.h"

namespace counter::rpc::internal {

ServedCall::ServedCall(Method& method, Queue& queue)
    : Call(method.name()), method_(method), queue_(queue) {}

void ServedCall::Post() {
  queue_.CountPosted();
  context_.AsyncNotifyWhenDone(done_.Arm());
  AskForCall(accepted_.Arm());
}

void ServedCall::OnAccepted(bool ok) {
  if (!ok) {
    // The server is shutting down and no call came. The done tag never comes either.
    Queue& queue = queue_;
    delete this;
    queue.CountFreed();
    return;
  }
  // Before anything else: what waits inside gRPC is seen by no gate and has no bound there.
  method_.Post(queue_);
  queue_.CountAccepted();
  Arrive(queue_.terms().default_deadline);
  if (CallGate* gate = queue_.terms().gate; gate != nullptr) {
    const std::optional<grpc::Status> refusal = gate->Admit(*this);
    if (refusal.has_value()) {
      End(*refusal);
      return;
    }
  }
  RunHandler(*this);
}

Detached ServedCall::RunHandler(ServedCall& call) {
  grpc::Status status;
  {
    // The handler's frame must be gone before End(): it refers to the call.
    Task<grpc::Status> handler = call.Handle();
    status = co_await std::move(handler);
  }
  call.End(std::move(status));
}

void ServedCall::End(grpc::Status status) {
  ForgetWakeup();
  if (CallGate* gate = queue_.terms().gate; gate != nullptr) gate->Ended(*this, status);
  status_ = std::move(status);
  queue_.FinishSoon(*this);
}

void ServedCall::OnDone(bool /*ok*/) {
  if (context_.IsCancelled()) MarkCancelled();
  ReturnTag();
}

void ServedCall::OnFinished(bool /*ok*/) { ReturnTag(); }

void ServedCall::ReturnTag() {
  if (--tags_out_ > 0) return;
  Queue& queue = queue_;
  delete this;
  queue.CountEnded();
  queue.CountFreed();
}

}  // namespace counter::rpc::internal
