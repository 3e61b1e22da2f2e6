#include "clients/cpp/health.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "clients/cpp/error_decoder.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace counter::client {
namespace {

namespace health_v1 = grpc::health::v1;

// Between two questions of WaitUntilServing, and the longest that one of them may take.
constexpr absl::Duration kPause = absl::Milliseconds(50);
constexpr absl::Duration kAttemptMax = absl::Seconds(1);
// Somebody who waits for a server wants to know at once.
constexpr int kReconnectMs = 100;

}  // namespace

HealthProbe::HealthProbe(const std::string& target,
                         const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  channel_ = grpc::CreateCustomChannel(
      target, credentials != nullptr ? credentials : grpc::InsecureChannelCredentials(), arguments);
}

Result<Health> HealthProbe::Check(const std::string& service, absl::Duration deadline) const {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
  health_v1::HealthCheckRequest request;
  request.set_service(service);
  health_v1::HealthCheckResponse response;
  const std::unique_ptr<health_v1::Health::Stub> stub = health_v1::Health::NewStub(channel_);
  const grpc::Status status = stub->Check(&context, request, &response);
  if (status.error_code() == grpc::NOT_FOUND) return Health::kServiceUnknown;
  if (!status.ok()) return DecodeError(status, /*not_applied=*/false, /*request_id=*/"");
  return response.status() == health_v1::HealthCheckResponse::SERVING ? Health::kServing
                                                                      : Health::kNotServing;
}

Result<Health> HealthProbe::WaitUntilServing(const std::string& service,
                                             absl::Duration deadline) const {
  const absl::Time end = absl::Now() + deadline;
  while (true) {
    const absl::Duration left = end - absl::Now();
    // The last question may still be answered when no time is left.
    Result<Health> health = Check(service, std::clamp(left, absl::Milliseconds(100), kAttemptMax));
    if (health.ok() && *health == Health::kServing) return health;
    if (absl::Now() + kPause >= end) return health;
    absl::SleepFor(kPause);
  }
}

}  // namespace counter::client
