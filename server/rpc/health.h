// HealthService: the standard grpc.health.v1.Health, from a table of service names.
//
// Use it to tell load balancers and probes what may be sent here. It measures nothing: whoever
// knows calls Set(). "" is the server as a whole, by convention.
//
// Check() of an unknown name is NOT_FOUND; Watch() of one answers SERVICE_UNKNOWN and goes on, as
// the protocol wants it. Watches send every change (not every Set), and end with UNAVAILABLE when
// the server drains, after the last change was sent: they never hold up the drain.
//
// Threads: Set() from any thread; watches that it wakes go on inside it. Register() before
//   Server::Start().
// Ownership: outlives the server.
#ifndef COUNTER_SERVER_RPC_HEALTH_H_
#define COUNTER_SERVER_RPC_HEALTH_H_

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/task.h"
#include "server/rpc/server.h"

#include "grpc/health/v1/health.grpc.pb.h"

namespace counter::rpc {

class HealthService {
 public:
  // Watches at one time; more are refused with RESOURCE_EXHAUSTED.
  static constexpr int kWatchesMax = 1000;

  void Register(Server& server);

  // Makes the name known, if it is not yet.
  void Set(const std::string& service_name, bool serving);

 private:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;

  // What a watch has to know after each wake.
  struct View {
    Response::ServingStatus status;
    bool draining;
  };
  // A watch that is to be woken; takes itself off the list at its end.
  class Watching;

  Task<grpc::Status> Check(Call& call, const Request& request, Response& response);
  Task<grpc::Status> Watch(Call& call, const Request& request, StreamWriter<Response>& writer);
  View Look(const std::string& service_name) const;
  void EndWatches();
  void WakeAll();

  grpc::health::v1::Health::AsyncService service_;
  mutable Mutex mutex_;
  std::map<std::string, bool> serving_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  // Shared: a watch may end while it is being woken.
  std::set<std::shared_ptr<Wakeup>> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_HEALTH_H_
