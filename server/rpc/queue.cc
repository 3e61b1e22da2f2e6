#include "server/rpc/queue.h"

#include <pthread.h>

#include <string>
#include <utility>

#include "server/rpc/tag.h"

#include <grpc/support/time.h>

namespace counter::rpc::internal {
namespace {

// The queue that this thread serves.
thread_local const Queue* served_here = nullptr;

}  // namespace

Queue::Queue(std::unique_ptr<grpc::ServerCompletionQueue> completions, const CallTerms& terms)
    : completions_(std::move(completions)), terms_(terms) {}

Queue::~Queue() { Stop(); }

void Queue::Start(int number) {
  if (call_objects_ == 0) empty_.Notify();
  thread_ = std::thread([this] { Serve(); });
  pthread_setname_np(thread_.native_handle(), ("rpc-queue-" + std::to_string(number)).c_str());
}

void Queue::CountFreed() {
  if (--call_objects_ == 0) empty_.Notify();
}

void Queue::WaitUntilEmpty() { empty_.Wait(); }

void Queue::Stop() {
  if (std::exchange(stopped_, true)) return;
  completions_->Shutdown();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Serve();
  }
}

void Queue::FinishSoon(EndedCall& call) {
  if (served_here == this) return call.FinishNow();
  bool is_first = false;
  {
    MutexLock lock(mutex_);
    is_first = ended_.empty();
    ended_.push_back(&call);
  }
  // Until the alarm has come back there are calls in the list, so nobody sets it twice.
  if (is_first) alarm_.Set(completions_.get(), gpr_time_0(GPR_CLOCK_REALTIME), finish_tag_.Arm());
}

void Queue::CatchUp() {
  // Its turn comes as that of a call which has ended.
  struct Turn final : EndedCall {
    void FinishNow() override { taken.Notify(); }
    Notification taken;
  };
  Turn turn;
  FinishSoon(turn);
  turn.taken.Wait();
}

void Queue::FinishTag::Proceed(bool /*ok*/) { queue_.FinishAll(); }

void Queue::FinishAll() {
  {
    MutexLock lock(mutex_);
    finishing_.swap(ended_);
  }
  for (EndedCall* call : finishing_) call->FinishNow();
  finishing_.clear();
}

void Queue::Serve() {
  served_here = this;
  void* tag = nullptr;
  bool ok = false;
  while (completions_->Next(&tag, &ok)) Tag::Returned(tag).Proceed(ok);
}

}  // namespace counter::rpc::internal
