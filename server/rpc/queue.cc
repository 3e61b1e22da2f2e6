#include "server/rpc/queue.h"

#include <pthread.h>

#include <string>
#include <utility>

#include "server/rpc/tag.h"

namespace counter::rpc::internal {

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

void Queue::Serve() {
  void* tag = nullptr;
  bool ok = false;
  while (completions_->Next(&tag, &ok)) Tag::Returned(tag).Proceed(ok);
}

}  // namespace counter::rpc::internal
