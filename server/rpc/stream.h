// StreamWriter and StreamReader: the two directions of a streaming call, as its handler sees them.
//
//   while (co_await reader.Read(request)) {
//     if (!co_await writer.Write(Answer(request))) break;
//   }
//
// They are not queues: each waits until gRPC has taken or brought one message, so a slow caller
// slows its handler and memory stays bounded. But small messages are taken at once until the
// caller's window (64 KB at first) is full, and a queue thread that always has something ready does
// not look at its sockets: a handler with an endless supply should wait for something in between.
//
// Threads: for the handler only, one operation at a time; the handler goes on on the call's queue
//   thread.
// Ownership: both borrow the call's stream and end with the handler.
#ifndef COUNTER_SERVER_RPC_STREAM_H_
#define COUNTER_SERVER_RPC_STREAM_H_

#include <coroutine>

#include "server/rpc/tag.h"

#include <grpcpp/support/async_stream.h>

namespace counter::rpc {
namespace internal {

// An operation of gRPC that a coroutine waits for. Arm() is the last that touches it: once the
// operation has started it may be over, and the object gone. Trivially destructible, as a temporary
// of a co_await expression must be with gcc 12.
class StreamOperation : public Tag {
 public:
  void Proceed(bool ok) final {
    ok_ = ok;
    waiting_.resume();
  }
  bool await_ready() const noexcept { return false; }
  bool await_resume() const noexcept { return ok_; }

 protected:
  std::coroutine_handle<> waiting_;

 private:
  bool ok_ = false;
};

}  // namespace internal

template <class Response>
class StreamWriter {
 public:
  explicit StreamWriter(grpc::internal::AsyncWriterInterface<Response>& stream)
      : stream_(&stream) {}

  // `co_await Write(response)` is false when the caller has gone and nothing more can be sent.
  [[nodiscard]] auto Write(const Response& response) {
    struct Operation final : internal::StreamOperation {
      Operation(grpc::internal::AsyncWriterInterface<Response>& to, const Response& what)
          : stream(to), message(what) {}
      void await_suspend(std::coroutine_handle<> waiting) {
        this->waiting_ = waiting;
        auto& to = stream;
        const Response& what = message;
        to.Write(what, this->Arm());
      }
      grpc::internal::AsyncWriterInterface<Response>& stream;
      const Response& message;
    };
    return Operation(*stream_, response);
  }

 private:
  grpc::internal::AsyncWriterInterface<Response>* stream_;
};

template <class Request>
class StreamReader {
 public:
  explicit StreamReader(grpc::internal::AsyncReaderInterface<Request>& stream) : stream_(&stream) {}

  // `co_await Read(request)` is false when the caller has sent all, or has gone.
  [[nodiscard]] auto Read(Request& request) {
    struct Operation final : internal::StreamOperation {
      Operation(grpc::internal::AsyncReaderInterface<Request>& from, Request& into)
          : stream(from), message(into) {}
      void await_suspend(std::coroutine_handle<> waiting) {
        this->waiting_ = waiting;
        auto& from = stream;
        Request* into = &message;
        from.Read(into, this->Arm());
      }
      grpc::internal::AsyncReaderInterface<Request>& stream;
      Request& message;
    };
    return Operation(*stream_, request);
  }

 private:
  grpc::internal::AsyncReaderInterface<Request>* stream_;
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_STREAM_H_
