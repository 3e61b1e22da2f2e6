// HealthProbe: asks a server's standard health service (grpc.health.v1) whether it takes calls.
//
// Use it to wait for a server or to look at one. It is not needed before calls: Client leaves
// servers alone that do not take calls, by itself.
//
// Threads: any number at once. Errors are values.
#ifndef COUNTER_CLIENTS_CPP_HEALTH_H_
#define COUNTER_CLIENTS_CPP_HEALTH_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "clients/cpp/error.h"

namespace grpc {
class Channel;
class ChannelCredentials;
}  // namespace grpc

namespace counter::client {

enum class Health {
  kServing,
  kNotServing,      // It answers, but is starting, draining or without its store.
  kServiceUnknown,  // It answers, but does not know the service that was asked for.
};

class HealthProbe {
 public:
  // Null credentials: plain text.
  explicit HealthProbe(const std::string& target,
                       const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr);

  // `service`: "" or "counter.v1.CounterService" for readiness (the store can serve), "calls" for
  // whether it takes calls (it is not shutting down), or "liveness". An error if no answer came
  // within `deadline` from now.
  Result<Health> Check(const std::string& service, absl::Duration deadline) const;

  // Asks again and again until the answer is kServing or `deadline` has passed; the last answer.
  Result<Health> WaitUntilServing(const std::string& service, absl::Duration deadline) const;

 private:
  // Shared because gRPC's stubs and calls hold it too.
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_HEALTH_H_
