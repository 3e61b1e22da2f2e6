// ServedCall: the life of one call object: posted, accepted, handled, finished, freed. What differs
// between unary and streaming calls is left to the classes of method.h.
//
// For the engine only.
//
// A call object is made when it is posted to gRPC, which fills it when a call comes. Then two tags
// are out: `done_` (the call is over for gRPC: the only moment from which one may ask whether it
// was cancelled) and, once the handler has ended, `finished_`. They come in either order, and the
// object is freed when both are back. A posted object that no call ever filled gets neither: it is
// freed when the server's shutdown returns it.
//
// Threads: all tags come back on the queue's thread; the handler may end on any thread, which then
//   starts Finish. Nothing of the object may be touched after that.
// Ownership: owns itself from Post() on.
#ifndef COUNTER_SERVER_RPC_SERVED_CALL_H_
#define COUNTER_SERVER_RPC_SERVED_CALL_H_

#include "base/task.h"
#include "server/rpc/call.h"
#include "server/rpc/queue.h"
#include "server/rpc/tag.h"

#include <grpcpp/support/status.h>

namespace counter::rpc::internal {

class Method;

class ServedCall : public Call, private EndedCall {
 public:
  // Offers this object to gRPC for the next call. Queue thread, or before the queue runs.
  void Post();

 protected:
  ServedCall(Method& method, Queue& queue);
  virtual ~ServedCall() = default;

  // Asks gRPC for the next call of this method.
  virtual void AskForCall(void* tag) = 0;
  // The handler's task.
  virtual Task<grpc::Status> Handle() = 0;
  // Sends the end of the call. The object may be gone when it returns.
  virtual void Finish(const grpc::Status& status, void* tag) = 0;

  Queue& queue() { return queue_; }

 private:
  // Forwards a tag's return to a member function.
  template <void (ServedCall::*step)(bool)>
  class Step final : public Tag {
   public:
    explicit Step(ServedCall& call) : call_(call) {}
    void Proceed(bool ok) override { (call_.*step)(ok); }

   private:
    ServedCall& call_;
  };

  void FinishNow() override { Finish(status_, finished_.Arm()); }
  static Detached RunHandler(ServedCall& call);

  void OnAccepted(bool ok);
  void OnDone(bool ok);
  void OnFinished(bool ok);
  // Tells the gate and sends the status. The object may be gone when it returns.
  void End(grpc::Status status);
  void ReturnTag();

  Method& method_;
  Queue& queue_;
  int tags_out_ = 2;
  grpc::Status status_;
  Step<&ServedCall::OnAccepted> accepted_{*this};
  Step<&ServedCall::OnDone> done_{*this};
  Step<&ServedCall::OnFinished> finished_{*this};
};

}  // namespace counter::rpc::internal

#endif  // COUNTER_SERVER_RPC_SERVED_CALL_H_
