// Method: one method that a server offers: its name, its handler and how gRPC is asked for its next
// call. One class a kind (unary, server streaming, bidi streaming) and one for its calls.
//
// For the engine only; users give handlers to Server.
//
// Threads: Post() on the queue's thread, or before the queue runs; handlers run on queue threads.
// Ownership: the server owns its methods; they outlive all calls.
#ifndef COUNTER_SERVER_RPC_METHOD_H_
#define COUNTER_SERVER_RPC_METHOD_H_

#include <functional>
#include <string>
#include <utility>

#include "base/task.h"
#include "server/rpc/served_call.h"
#include "server/rpc/stream.h"

#include <google/protobuf/arena.h>

#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

namespace counter::rpc {

// A handler is called once a call on a queue thread; its task may end on any thread. Its references
// live until the task has ended. It must not block, and must come to an end soon after its limits
// are used up or its caller has gone: Server::Drain() waits for it.
template <class Request, class Response>
using UnaryHandler = std::function<Task<grpc::Status>(Call&, const Request&, Response&)>;
template <class Request, class Response>
using ServerStreamHandler =
    std::function<Task<grpc::Status>(Call&, const Request&, StreamWriter<Response>&)>;
template <class Request, class Response>
using BidiHandler =
    std::function<Task<grpc::Status>(Call&, StreamReader<Request>&, StreamWriter<Response>&)>;

namespace internal {

class Method {
 public:
  Method(std::string name, int waiting_calls)
      : name_(std::move(name)), waiting_calls_(waiting_calls) {}
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;

  const std::string& name() const { return name_; }
  int waiting_calls() const { return waiting_calls_; }

  // Offers gRPC one more call object on that queue.
  virtual void Post(Queue& queue) = 0;

 private:
  const std::string name_;
  const int waiting_calls_;
};

// What is generic about the three kinds: a method owns its handler and `ask`, the generated
// RequestXxx bound to its service; its calls borrow both.
template <class Served, class Ask, class Handler>
class MethodOf final : public Method {
 public:
  MethodOf(std::string name, int waiting_calls, Ask ask, Handler handler)
      : Method(std::move(name), waiting_calls),
        ask_(std::move(ask)),
        handler_(std::move(handler)) {}

  void Post(Queue& queue) override { (new Served(*this, queue))->Post(); }

  const Ask& ask() const { return ask_; }
  const Handler& handler() const { return handler_; }

 private:
  const Ask ask_;
  const Handler handler_;
};

template <class Request, class Response>
class UnaryCall final : public ServedCall {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Response>;
  using Ask = std::function<void(grpc::ServerContext*, Request*, Responder*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*)>;
  using Method = MethodOf<UnaryCall, Ask, UnaryHandler<Request, Response>>;

  UnaryCall(Method& method, Queue& queue) : ServedCall(method, queue), method_(method) {}

 private:
  void AskForCall(void* tag) override {
    grpc::ServerCompletionQueue* completions = &queue().completions();
    method_.ask()(&context_, &request_, &responder_, completions, completions, tag);
  }
  Task<grpc::Status> Handle() override { return method_.handler()(*this, request_, response_); }
  void Finish(const grpc::Status& status, void* tag) override {
    responder_.Finish(response_, status, tag);
  }

  Method& method_;
  // Lists have a message an element, which all go at once.
  google::protobuf::Arena arena_;
  Request& request_ = *google::protobuf::Arena::CreateMessage<Request>(&arena_);
  Response& response_ = *google::protobuf::Arena::CreateMessage<Response>(&arena_);
  Responder responder_{&context_};
};

template <class Request, class Response>
class ServerStreamCall final : public ServedCall {
 public:
  using Stream = grpc::ServerAsyncWriter<Response>;
  using Ask = std::function<void(grpc::ServerContext*, Request*, Stream*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*)>;
  using Method = MethodOf<ServerStreamCall, Ask, ServerStreamHandler<Request, Response>>;

  ServerStreamCall(Method& method, Queue& queue) : ServedCall(method, queue), method_(method) {}

 private:
  void AskForCall(void* tag) override {
    grpc::ServerCompletionQueue* completions = &queue().completions();
    method_.ask()(&context_, &request_, &stream_, completions, completions, tag);
  }
  Task<grpc::Status> Handle() override { return method_.handler()(*this, request_, writer_); }
  void Finish(const grpc::Status& status, void* tag) override { stream_.Finish(status, tag); }

  Method& method_;
  Request request_;
  Stream stream_{&context_};
  StreamWriter<Response> writer_{stream_};
};

template <class Request, class Response>
class BidiCall final : public ServedCall {
 public:
  using Stream = grpc::ServerAsyncReaderWriter<Response, Request>;
  using Ask = std::function<void(grpc::ServerContext*, Stream*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*)>;
  using Method = MethodOf<BidiCall, Ask, BidiHandler<Request, Response>>;

  BidiCall(Method& method, Queue& queue) : ServedCall(method, queue), method_(method) {}

 private:
  void AskForCall(void* tag) override {
    grpc::ServerCompletionQueue* completions = &queue().completions();
    method_.ask()(&context_, &stream_, completions, completions, tag);
  }
  Task<grpc::Status> Handle() override { return method_.handler()(*this, reader_, writer_); }
  void Finish(const grpc::Status& status, void* tag) override { stream_.Finish(status, tag); }

  Method& method_;
  Stream stream_{&context_};
  StreamReader<Request> reader_{stream_};
  StreamWriter<Response> writer_{stream_};
};

}  // namespace internal
}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_METHOD_H_
