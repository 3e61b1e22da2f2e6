#include "server/rpc/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/quiet_thread.h"
#include "server/rpc/tls_credentials.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

namespace counter::rpc {
namespace {

// "package.Service" of "/package.Service/Method".
std::string ServiceOf(const std::string& method) { return method.substr(1, method.rfind('/') - 1); }

absl::Status CheckOptions(const Server::Options& options) {
  if (options.queues < 1 || options.waiting_calls < 1) {
    return absl::InvalidArgumentError("expected at least one queue and one waiting call");
  }
  return absl::OkStatus();
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void Configure(grpc::ServerBuilder& builder, const Server::Options& options) {
  builder.SetMaxReceiveMessageSize(options.receive_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams_max);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(options.client_ping_interval_min));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             Milliseconds(options.handshake_timeout));
  if (options.memory_bytes_max > 0) {
    grpc::ResourceQuota quota("server");
    quota.Resize(static_cast<size_t>(options.memory_bytes_max));
    builder.SetResourceQuota(quota);
  }
}

}  // namespace

Server::Server(Options options) : options_(std::move(options)) {}

Server::~Server() { Drain(absl::ZeroDuration()); }

void Server::AddMethod(grpc::Service& service, std::unique_ptr<internal::Method> method) {
  if (std::find(services_.begin(), services_.end(), &service) == services_.end()) {
    services_.push_back(&service);
  }
  methods_.push_back(std::move(method));
}

std::vector<std::string> Server::service_names() const {
  std::vector<std::string> names;
  for (const auto& method : methods_) {
    std::string name = ServiceOf(method->name());
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

absl::Status Server::CheckHandlers() const {
  std::set<std::string> handled;
  for (const auto& method : methods_) {
    if (!handled.insert(method->name()).second) {
      return absl::InternalError(absl::StrCat("two handlers for ", method->name()));
    }
  }
  std::vector<std::string> missing;
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const std::string& name : service_names()) {
    const google::protobuf::ServiceDescriptor* service = pool->FindServiceByName(name);
    if (service == nullptr) return absl::InternalError(absl::StrCat("no service is named ", name));
    for (int i = 0; i < service->method_count(); ++i) {
      std::string method = absl::StrCat("/", name, "/", service->method(i)->name());
      if (handled.erase(method) == 0) missing.push_back(std::move(method));
    }
  }
  if (!missing.empty()) {
    return absl::InternalError(
        absl::StrCat("methods without a handler: ", absl::StrJoin(missing, ", ")));
  }
  if (!handled.empty()) {
    return absl::InternalError(
        absl::StrCat("handlers without a method: ", absl::StrJoin(handled, ", ")));
  }
  return absl::OkStatus();
}

absl::Status Server::Start() {
  if (absl::Status checked = CheckOptions(options_); !checked.ok()) return checked;
  if (absl::Status checked = CheckHandlers(); !checked.ok()) return checked;

  absl::StatusOr<std::unique_ptr<Listener>> listener =
      Listener::Open({options_.listen, options_.connections, options_.keepalive_timeout});
  if (!listener.ok()) return listener.status();

  grpc::ServerBuilder builder;
  Configure(builder, options_);
  credentials_ = options_.tls == nullptr ? grpc::InsecureServerCredentials()
                                         : internal::MakeTlsCredentials(options_.tls);
  using Connections = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  acceptor_ =
      builder.experimental().AddExternalConnectionAcceptor(Connections::FROM_FD, credentials_);
  for (grpc::Service* service : services_) builder.RegisterService(service);
  const internal::CallTerms terms{options_.default_deadline, options_.gate};
  for (int i = 0; i < options_.queues; ++i) {
    queues_.push_back(std::make_unique<internal::Queue>(builder.AddCompletionQueue(), terms));
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    queues_.clear();
    return absl::InternalError("gRPC refused to start; its log says why");
  }
  listener_ = *std::move(listener);
  port_ = listener_->port();

  int number = 0;
  for (const auto& queue : queues_) {
    for (const auto& method : methods_) {
      for (int i = 0; i < method->waiting_calls(); ++i) method->Post(*queue);
    }
    queue->Start(number++);
  }
  listener_->Start([this](int connection, int listening) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection;
    parameters.listener_fd = listening;
    acceptor_->HandleNewConnection(&parameters);
  });
  return absl::OkStatus();
}

Listener::Stats Server::connections() const {
  return listener_ == nullptr ? Listener::Stats() : listener_->stats();
}

int Server::live_calls() const {
  int live = 0;
  for (const auto& queue : queues_) live += queue->live_calls();
  return live;
}

void Server::CatchUp() {
  for (const auto& queue : queues_) queue->CatchUp();
}

// What has no call any more gets a moment to go by itself. A call may still come in between the
// look and gRPC's own end of taking calls, so the moment begins anew with each.
void Server::SendConnectionsAway(absl::Duration budget, const std::atomic<bool>& is_over) {
  constexpr absl::Duration kLook = absl::Milliseconds(10);
  const Clock& clock = Clock::System();
  const MonotonicTime end = clock.MonotonicNow() + budget;
  MonotonicTime now = clock.MonotonicNow();
  MonotonicTime quiet_since = now;
  while (now < end && Between(quiet_since, now) < kGoodbye) {
    if (is_over) return;
    absl::SleepFor(kLook);
    now = clock.MonotonicNow();
    if (live_calls() > 0) quiet_since = now;
  }
  listener_->CloseAllAfter(now < end ? absl::ZeroDuration() : kGoodbye);
}

void Server::Drain(absl::Duration budget) {
  if (server_ == nullptr || std::exchange(drained_, true)) return;
  listener_->StopAccepting();
  for (const auto& hook : drain_hooks_) hook();
  std::atomic<bool> is_over = false;
  std::thread farewell =
      StartThreadWithoutSignals([this, budget, &is_over] { SendConnectionsAway(budget, is_over); });
  // Fails all posted call objects, then waits for the calls in flight and cancels what is left. The
  // queue threads go on: the goodbyes to the clients need them.
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoNanoseconds(budget));
  is_over = true;
  farewell.join();
  // Handlers that still run will start Finish: no queue is shut before the last of them is through.
  for (const auto& queue : queues_) queue->WaitUntilEmpty();
  for (const auto& queue : queues_) queue->Stop();
}

}  // namespace counter::rpc
