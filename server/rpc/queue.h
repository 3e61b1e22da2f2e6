// Queue: one completion queue of gRPC, the one thread that serves it, and the count of the calls
// that live on it. It knows nothing of methods.
//
// For the engine only. A call object is on exactly one queue from the moment it is posted until it
// is freed; both, and every change of the counts, happen on the queue's thread (or before it runs).
//
// Threads: as each function says.
// Ownership: the server owns its queues; they outlive their calls, the server outlives them.
#ifndef COUNTER_SERVER_RPC_QUEUE_H_
#define COUNTER_SERVER_RPC_QUEUE_H_

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/tag.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

namespace counter::rpc::internal {

// What every call of a server has in common.
struct CallTerms {
  absl::Duration default_deadline;
  CallGate* gate = nullptr;  // Null admits everything.
};

// A call whose handler has ended: what is left is to send the end of it.
class EndedCall {
 public:
  // Queue thread; the object may be gone when it returns.
  virtual void FinishNow() = 0;

 protected:
  ~EndedCall() = default;
};

class Queue {
 public:
  Queue(std::unique_ptr<grpc::ServerCompletionQueue> completions, const CallTerms& terms);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  // Shuts the queue down and empties it, if that has not happened yet.
  ~Queue();

  grpc::ServerCompletionQueue& completions() { return *completions_; }
  const CallTerms& terms() const { return terms_; }

  // Starts the thread. Requires that what is posted from outside has been posted.
  void Start(int number);

  // Call objects come and go. Queue thread only (or before Start).
  void CountPosted() { ++call_objects_; }
  void CountAccepted() { live_calls_.store(live_calls() + 1, std::memory_order_release); }
  void CountEnded() { live_calls_.store(live_calls() - 1, std::memory_order_release); }
  void CountFreed();

  // Calls that have come and are not freed yet. Any thread; what the calls that it does not count
  // any more have done is seen by the asking thread.
  int live_calls() const { return live_calls_.load(std::memory_order_acquire); }

  // Ends the call on the queue's thread, together with what else has ended by then: gRPC would hand
  // the writes of two threads from one to the other. Any thread; the object may be gone when this
  // returns.
  void FinishSoon(EndedCall& call);

  // Waits until the thread has taken what had come to the queue. Requires that it serves and that
  // this is another thread.
  void CatchUp();

  // Waits until no call object is left, so that nobody can start an operation here any more.
  // Requires that the gRPC server is shutting down and that this is not the queue's thread.
  void WaitUntilEmpty();
  // Requires that the queue is empty or was never started. Not on the queue's thread.
  void Stop();

 private:
  // What comes back when calls are to be finished.
  class FinishTag final : public Tag {
   public:
    explicit FinishTag(Queue& queue) : queue_(queue) {}
    void Proceed(bool ok) override;

   private:
    Queue& queue_;
  };

  void Serve();
  void FinishAll();

  const std::unique_ptr<grpc::ServerCompletionQueue> completions_;
  const CallTerms terms_;
  FinishTag finish_tag_{*this};
  // Wakes the thread from outside. Set again only when its tag has come back.
  grpc::Alarm alarm_;
  Mutex mutex_;
  std::vector<EndedCall*> ended_ ABSL_GUARDED_BY(mutex_);
  std::vector<EndedCall*> finishing_;  // Of the thread; kept for its memory.
  int call_objects_ = 0;
  std::atomic<int> live_calls_ = 0;
  // A posted call that is taken posts the next one before it goes on, so the number of objects
  // comes to zero only once: when the server is shutting down and fails what is posted.
  Notification empty_;
  std::thread thread_;
  bool stopped_ = false;
};

}  // namespace counter::rpc::internal

#endif  // COUNTER_SERVER_RPC_QUEUE_H_
