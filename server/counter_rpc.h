// CounterRpc: counter.v1.CounterService over the rpc engine: which method is which, and how an
// error ends a gRPC call. The messages are the business of counter_proto.
//
// Threads: handlers run on the engine's queue threads and go on where the service's tasks do.
// Ownership: borrows; all must outlive the server they are registered with.
#ifndef COUNTER_SERVER_COUNTER_RPC_H_
#define COUNTER_SERVER_COUNTER_RPC_H_

#include "proto/counter/v1/counter.grpc.pb.h"
#include "server/counter_proto.h"
#include "server/rpc/server.h"

namespace counter {

class CounterRpc {
 public:
  explicit CounterRpc(CounterProto& proto) : proto_(proto) {}

  // Where WatchCounts is added, too: it is no message in, message out (watch_rpc.h).
  v1::CounterService::AsyncService& async_service() { return async_service_; }

  // Adds the unary methods. Call it once, before server.Start().
  void Register(rpc::Server& server);

 private:
  CounterProto& proto_;
  v1::CounterService::AsyncService async_service_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_COUNTER_RPC_H_
