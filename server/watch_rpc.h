// WatchRpc: the method WatchCounts over the rpc engine: a snapshot of the counts, then each change.
//
// A watch stands until its caller goes, its deadline comes, or the server drains. A message holds
// the newest count of every item that has a newer one than the caller was told, so a caller that
// reads slowly gets fewer messages and not older ones; one message at most waits for it.
//
// When the server drains, watches end with SHUTTING_DOWN. Those whose caller has not read their
// last message within kGoodbye are cancelled: they do not hold up the drain.
//
// Threads: handlers start on the engine's queue threads and go on where they are woken.
// Ownership: borrows; all must outlive the server that it is registered with.
#ifndef COUNTER_SERVER_WATCH_RPC_H_
#define COUNTER_SERVER_WATCH_RPC_H_

#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/task.h"
#include "proto/counter/v1/counter.grpc.pb.h"
#include "server/counter_service.h"
#include "server/rpc/server.h"
#include "server/watch_hub.h"

namespace counter {

class WatchRpc {
 public:
  static constexpr absl::Duration kGoodbye = absl::Milliseconds(500);

  WatchRpc(CounterService& service, WatchHub& hub) : service_(service), hub_(hub) {}

  // Adds the method to the service that `async_service` is of. Call it once, before Start().
  void Register(rpc::Server& server, v1::CounterService::AsyncService& async_service);

 private:
  using Request = v1::WatchCountsRequest;
  using Response = v1::WatchCountsResponse;
  using Writer = rpc::StreamWriter<Response>;
  // A call that is known while it lasts.
  class Standing;

  Task<grpc::Status> Watch(rpc::Call& call, const Request& request, Writer& writer);
  // Tells the caller until one of the two has gone; why the watch ended.
  Task<absl::Status> Follow(rpc::Call& call, const WatchedCounts& watched, Writer& writer);
  void EndWatches();

  CounterService& service_;
  WatchHub& hub_;
  Mutex mutex_;
  CondVar ended_;
  std::set<rpc::Call*> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter

#endif  // COUNTER_SERVER_WATCH_RPC_H_
