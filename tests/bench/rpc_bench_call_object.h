// CallObjectServer: the other form of the engine, kept so that the choice can be measured again
// (docs/decisions/0001-handlers-are-coroutines.md): each call is an object whose handler is given
// the object and calls Finish() on it when it is done, from any thread. It has the engine's duties
// for one unary method: re-posting, the done tag, the cancellation flag, the monotonic deadline.
//
// For the benchmark only. Threads: one a queue. Ownership: call objects own themselves.
#ifndef COUNTER_TESTS_BENCH_RPC_BENCH_CALL_OBJECT_H_
#define COUNTER_TESTS_BENCH_RPC_BENCH_CALL_OBJECT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/call_limits.h"
#include "server/rpc/tag.h"
#include "server/rpc/testing/echo.grpc.pb.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace counter::bench {

class CallObject;
using CallObjectHandler = std::function<void(CallObject&)>;

class CallObject {
 public:
  CallObject(rpc::testing::EchoService::AsyncService& service,
             grpc::ServerCompletionQueue& completions, const CallObjectHandler& handler,
             std::atomic<int>& objects)
      : service_(service), completions_(completions), handler_(handler), objects_(objects) {
    objects_.fetch_add(1, std::memory_order_relaxed);
    context_.AsyncNotifyWhenDone(done_.Arm());
    service_.RequestEcho(&context_, &request_, &responder_, &completions_, &completions_,
                         accepted_.Arm());
  }
  CallObject(const CallObject&) = delete;
  CallObject& operator=(const CallObject&) = delete;

  const rpc::testing::EchoRequest& request() const { return request_; }
  rpc::testing::EchoResponse& response() { return response_; }
  const CallLimits& limits() const { return limits_; }
  void Finish(const grpc::Status& status) { responder_.Finish(response_, status, finished_.Arm()); }

 private:
  template <void (CallObject::*step)(bool)>
  class Step final : public rpc::Tag {
   public:
    explicit Step(CallObject& call) : call_(call) {}
    void Proceed(bool ok) override { (call_.*step)(ok); }

   private:
    CallObject& call_;
  };

  ~CallObject() { objects_.fetch_sub(1, std::memory_order_relaxed); }

  void OnAccepted(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    new CallObject(service_, completions_, handler_, objects_);
    const MonotonicTime now = Clock::System().MonotonicNow();
    limits_.cancellation = Cancellation::Make();
    const gpr_timespec deadline = context_.raw_deadline();
    if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
      limits_.deadline = now + absl::Seconds(5);
    } else {
      const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
      limits_.deadline = now + (absl::Seconds(left.tv_sec) +
                                absl::Nanoseconds(static_cast<int64_t>(left.tv_nsec)));
    }
    handler_(*this);
  }
  void OnDone(bool /*ok*/) {
    if (context_.IsCancelled()) limits_.cancellation.Cancel();
    ReturnTag();
  }
  void OnFinished(bool /*ok*/) { ReturnTag(); }
  void ReturnTag() {
    if (--tags_out_ == 0) delete this;
  }

  rpc::testing::EchoService::AsyncService& service_;
  grpc::ServerCompletionQueue& completions_;
  const CallObjectHandler& handler_;
  std::atomic<int>& objects_;
  grpc::ServerContext context_;
  CallLimits limits_;
  rpc::testing::EchoRequest request_;
  rpc::testing::EchoResponse response_;
  grpc::ServerAsyncResponseWriter<rpc::testing::EchoResponse> responder_{&context_};
  int tags_out_ = 2;
  Step<&CallObject::OnAccepted> accepted_{*this};
  Step<&CallObject::OnDone> done_{*this};
  Step<&CallObject::OnFinished> finished_{*this};
};

class CallObjectServer {
 public:
  CallObjectServer(int queues, int waiting_calls, CallObjectHandler handler)
      : handler_(std::move(handler)) {
    grpc::ServerBuilder builder;
    // As the engine sets them.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1024);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    for (int i = 0; i < queues; ++i) completions_.push_back(builder.AddCompletionQueue());
    server_ = builder.BuildAndStart();
    for (const auto& completions : completions_) {
      for (int i = 0; i < waiting_calls; ++i) {
        new CallObject(service_, *completions, handler_, objects_);
      }
      threads_.emplace_back([&queue = *completions] {
        void* tag = nullptr;
        bool ok = false;
        while (queue.Next(&tag, &ok)) rpc::Tag::Returned(tag).Proceed(ok);
      });
    }
  }
  CallObjectServer(const CallObjectServer&) = delete;
  CallObjectServer& operator=(const CallObjectServer&) = delete;
  ~CallObjectServer() {
    server_->Shutdown();
    while (objects_.load() > 0) std::this_thread::yield();
    for (const auto& completions : completions_) completions->Shutdown();
    for (std::thread& thread : threads_) thread.join();
  }

  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                     grpc::InsecureChannelCredentials(), arguments);
  }

 private:
  const CallObjectHandler handler_;
  rpc::testing::EchoService::AsyncService service_;
  std::atomic<int> objects_ = 0;
  int port_ = 0;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> completions_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;
};

}  // namespace counter::bench

#endif  // COUNTER_TESTS_BENCH_RPC_BENCH_CALL_OBJECT_H_
