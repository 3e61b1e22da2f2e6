// ConnectApi: counter.v1.CounterService by the Connect protocol (connectrpc.com/docs/protocol), as
// browsers and `curl` speak it: POST /counter.v1.CounterService/Like with a message as protobuf or
// as protobuf's JSON, and GET for the methods without side effects.
//
// All methods are unary. Messages are not compressed: a request that is gets `unimplemented`, as
// the protocol wants it. Errors are Connect's JSON with the details that gRPC has; what gRPC sends
// as the trailer `outcome` is the header `Trailer-Outcome`.
//
// It is bytes <-> messages; what the messages mean is in counter_proto. A call gets in by the same
// Admission as over gRPC.
//
// Threads: handlers start on the HTTP server's thread and go on where the service's tasks do.
// Ownership: borrows all; must outlive the server's Stop().
#ifndef COUNTER_SERVER_CONNECT_CONNECT_API_H_
#define COUNTER_SERVER_CONNECT_CONNECT_API_H_

#include "server/counter_proto.h"
#include "server/http/http_server.h"
#include "server/rest/http_call.h"

namespace counter {

class ConnectApi {
 public:
  ConnectApi(CounterProto& proto, const rest::Edge& edge) : proto_(proto), edge_(edge) {}

  // Adds the routes. Call it once, before server.Start().
  void Register(http::HttpServer& server);

 private:
  template <class Request, class Response>
  using Method = Task<absl::Status> (CounterProto::*)(const ProtoCall&, const Request&, Response&);

  template <class Request, class Response>
  void Add(http::HttpServer& server, const char* path, Method<Request, Response> method,
           bool is_read);

  template <class Request, class Response>
  Task<http::Response> Run(const char* path, Method<Request, Response> method,
                           const http::Request& request);

  CounterProto& proto_;
  const rest::Edge edge_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_CONNECT_CONNECT_API_H_
