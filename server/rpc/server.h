// Server: gRPC on raw completion queues: methods with coroutine handlers, one port, an orderly end.
//
// Use it for everything that is served over gRPC. It has never heard of what the methods mean: who
// gets in is the gate's business (call_gate.h), what is answered the handlers'.
//
//   rpc::Server server(options);
//   server.AddUnary(service, &Service::AsyncService::RequestEcho, "/pkg.Service/Echo", handler);
//   absl::Status started = server.Start();
//   ...
//   server.Drain(absl::Seconds(10));
//
// Unknown methods are answered UNIMPLEMENTED, requests that are too large RESOURCE_EXHAUSTED and
// those that cannot be parsed INTERNAL, by gRPC itself; the gate does not hear of them.
//
// Threads: Add...(), OnDrain(), Start() and Drain() by one thread at a time, none of them a queue
//   thread; the rest from any thread. Handlers and the gate run on the queue threads.
// Ownership: the services, the gate and what the handlers refer to outlive the server. The
//   destructor drains with no budget.
#ifndef COUNTER_SERVER_RPC_SERVER_H_
#define COUNTER_SERVER_RPC_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/tls_identity.h"
#include "server/rpc/call.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/connection_counts.h"
#include "server/rpc/listener.h"
#include "server/rpc/method.h"
#include "server/rpc/queue.h"
#include "server/rpc/stream.h"

#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace counter::rpc {

struct MethodOptions {
  // Call objects offered to gRPC a queue; 0 takes the server's.
  int waiting_calls = 0;
};

class Server {
 public:
  struct Options {
    // "127.0.0.1:0"; port 0 takes a free one.
    std::string listen;
    // Completion queues, one thread each.
    int queues = 1;
    // Call objects offered to gRPC a method and queue. Each taken one is replaced at once, so this
    // bounds a burst between two turns of a queue thread, not the calls in flight.
    int waiting_calls = 64;
    int receive_bytes_max = 4 << 20;
    // Calls in flight on one connection; more wait at the client.
    int streams_max = 1024;
    // Open at once; a further connection is closed at once.
    ConnectionCounts::Limits connections;
    // What gRPC may hold in its buffers for all connections; 0 sets no bound.
    int64_t memory_bytes_max = 0;
    // Asked for the identity at each connection. Null: plaintext. What is connected stays when it
    // changes; whether callers must show certificates is fixed at Start().
    TlsSource tls = nullptr;
    // For calls that come without a deadline.
    absl::Duration default_deadline = absl::Seconds(5);
    // An idle connection is pinged this often, and closed when no answer comes.
    absl::Duration keepalive_time = absl::Minutes(1);
    absl::Duration keepalive_timeout = absl::Seconds(20);
    // Clients may ping this often, with or without calls; gRPC's own clients go down to 10 s. Who
    // pings more often is disconnected (ENHANCE_YOUR_CALM).
    absl::Duration client_ping_interval_min = absl::Seconds(5);
    // From a connection's first byte to the end of its handshakes, HTTP/2's included.
    absl::Duration handshake_timeout = absl::Seconds(10);
    // Not owned; null admits everything.
    CallGate* gate = nullptr;
  };

  explicit Server(Options options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Before Start() only. `service` is the generated AsyncService, `request` its RequestXxx,
  // `method` the full name. Every method of a service needs a handler: gRPC would keep the calls of
  // the others waiting.
  template <class Service, class Owner, class Request, class Response>
  void AddUnary(Service& service,
                void (Owner::*request)(grpc::ServerContext*, Request*,
                                       grpc::ServerAsyncResponseWriter<Response>*,
                                       grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*),
                std::string method, std::type_identity_t<UnaryHandler<Request, Response>> handler,
                MethodOptions options = {}) {
    Add<internal::UnaryCall<Request, Response>>(service, request, std::move(method),
                                                std::move(handler), options);
  }

  template <class Service, class Owner, class Request, class Response>
  void AddServerStream(
      Service& service,
      void (Owner::*request)(grpc::ServerContext*, Request*, grpc::ServerAsyncWriter<Response>*,
                             grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*),
      std::string method, std::type_identity_t<ServerStreamHandler<Request, Response>> handler,
      MethodOptions options = {}) {
    Add<internal::ServerStreamCall<Request, Response>>(service, request, std::move(method),
                                                       std::move(handler), options);
  }

  template <class Service, class Owner, class Request, class Response>
  void AddBidi(Service& service,
               void (Owner::*request)(grpc::ServerContext*,
                                      grpc::ServerAsyncReaderWriter<Response, Request>*,
                                      grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*),
               std::string method, std::type_identity_t<BidiHandler<Request, Response>> handler,
               MethodOptions options = {}) {
    Add<internal::BidiCall<Request, Response>>(service, request, std::move(method),
                                               std::move(handler), options);
  }

  // Called once at the beginning of Drain(), in the order of registration: for handlers that would
  // wait for ever. Before Start() only.
  void OnDrain(std::function<void()> hook) { drain_hooks_.push_back(std::move(hook)); }

  // Refuses a taken port and an address that is not ours, naming it; two servers never share a
  // port. A server that could not start cannot be started again.
  absl::Status Start();

  // The port that is listened on; 0 before Start().
  int port() const { return port_; }
  // The full names of the services, in the order of registration.
  std::vector<std::string> service_names() const;
  // Calls that have come and are not freed yet.
  int live_calls() const;
  // All 0 before Start().
  Listener::Stats connections() const;

  // Waits until each queue's thread has taken what had come to its queue: that no call comes means
  // something only if somebody is there to see it. Requires that it serves; on no queue's thread.
  void CatchUp();

  // Takes no new connections and calls (GOAWAY), lets the calls in flight go on for up to `budget`,
  // then cancels them, waits until their handlers have ended and joins the threads. After it
  // live_calls() is 0 and no handler runs. Does nothing if not started or drained already.
  // Connections that are still there kGoodbye after the last call, or after the budget, are broken
  // off: a peer that floods, drips or takes nothing does not hold up the end.
  //
  // A call whose caller has not heard of the GOAWAY yet is ended by gRPC as CANCELLED, before the
  // gate and any handler. So that callers see a clean UNAVAILABLE instead, let the gate refuse for
  // a moment before.
  void Drain(absl::Duration budget);
  static constexpr absl::Duration kGoodbye = absl::Seconds(1);

 private:
  template <class Served, class Service, class Request, class Handler>
  void Add(Service& service, Request request, std::string method, Handler handler,
           MethodOptions options) {
    auto ask = [&service, request](auto... arguments) { (service.*request)(arguments...); };
    AddMethod(service, std::make_unique<typename Served::Method>(
                           std::move(method), WaitingCalls(options), ask, std::move(handler)));
  }
  int WaitingCalls(const MethodOptions& options) const {
    return options.waiting_calls > 0 ? options.waiting_calls : options_.waiting_calls;
  }
  void AddMethod(grpc::Service& service, std::unique_ptr<internal::Method> method);
  absl::Status CheckHandlers() const;
  void SendConnectionsAway(absl::Duration budget, const std::atomic<bool>& is_over);

  const Options options_;
  std::vector<std::unique_ptr<internal::Method>> methods_;
  std::vector<grpc::Service*> services_;
  std::vector<std::function<void()>> drain_hooks_;
  std::vector<std::unique_ptr<internal::Queue>> queues_;
  // gRPC asks it for certificates for as long as the server takes connections.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
  int port_ = 0;
  bool drained_ = false;
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_SERVER_H_
