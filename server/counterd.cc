#include "server/counterd.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/tls_identity.h"
#include "server/admin/admin_listener.h"
#include "server/admission.h"
#include "server/backends.h"
#ifdef COUNTER_BROKEN_ON_PURPOSE  // In //server:counterd_broken alone, which only tests can build.
#include "server/broken_backends.h"
#endif
#include "server/check/check_readings.h"
#include "server/check/copy_checker.h"
#include "server/check/sampled_writes.h"
#include "server/config/print.h"
#include "server/counter_proto.h"
#include "server/counter_rpc.h"
#include "server/counter_service.h"
#include "server/gateway.h"
#include "server/hot_items.h"
#include "server/http/http_server.h"
#include "server/http/operator_routes.h"
#include "server/metrics/disk_readings.h"
#include "server/metrics/metrics.h"
#include "server/metrics_observers.h"
#include "server/readiness.h"
#include "server/ready_file.h"
#include "server/rpc/health.h"
#include "server/rpc/reflection.h"
#include "server/rpc/server.h"
#include "server/rpc_gate.h"
#include "server/security.h"
#include "server/serving_readings.h"
#include "server/version.h"
#include "server/watch_hub.h"
#include "server/watch_rpc.h"

namespace counter {
namespace {

// The service names that health answers for, beside "". "" and the service's own name are
// readiness, and so is /health: the store can serve. A liveness probe must never depend on the
// store, nor must what clients look at before they call: cached reads go on without it.
constexpr char kServiceName[] = "counter.v1.CounterService";
constexpr char kLiveness[] = "liveness";
constexpr char kTakesCalls[] = "calls";

// What gRPC may hold in its buffers for all connections together.
constexpr int64_t kRpcMemoryBytesMax = int64_t{256} << 20;

rpc::Server::Options RpcOptions(const Config& config, TlsSource tls, rpc::CallGate& gate) {
  rpc::Server::Options options;
  options.listen = config.grpc_listen.ToString();
  options.queues = config.rpc_queues;
  options.connections = {config.grpc_connections_max, config.grpc_connections_per_address_max};
  options.receive_bytes_max = config.receive_bytes_max;
  options.memory_bytes_max = kRpcMemoryBytesMax;
  options.default_deadline = config.default_deadline;
  options.tls = std::move(tls);
  options.gate = &gate;
  return options;
}

// The methods whose calls are counted one by one.
std::vector<GrpcMethod> MethodNames() {
  std::vector<GrpcMethod> names;
  for (const char* service_name : {kServiceName, AdminListener::kServiceName}) {
    const google::protobuf::ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service_name);
    for (int i = 0; i < service->method_count(); ++i) {
      const google::protobuf::MethodDescriptor& method = *service->method(i);
      const GrpcMethod::Type type =
          method.client_streaming() ? (method.server_streaming() ? GrpcMethod::Type::kBidiStream
                                                                 : GrpcMethod::Type::kClientStream)
                                    : (method.server_streaming() ? GrpcMethod::Type::kServerStream
                                                                 : GrpcMethod::Type::kUnary);
      names.emplace_back(absl::StrCat("/", service_name, "/", method.name()), type);
    }
  }
  return names;
}

std::string Address(const ListenAddress& listen, int port) {
  return ListenAddress{listen.host, port}.ToString();
}

// The server and everything in it, in the order in which it is made; it ends in the reverse order.
class Counterd {
 public:
  explicit Counterd(const LoadedConfig& loaded)
      : config_(loaded.config), summary_(SummarizeConfig(loaded)) {}

  // Serves until a signal; then drains. Returns why it could not start.
  absl::Status Run(Termination& termination, const LogWriter& log);

 private:
  absl::Status Start(const LogWriter& log);
  absl::Status StartOperatorListener();
  absl::Status StartGateway();
  absl::Status StartAdminListener();
  absl::Status SayReady() const;
  void Drain();
  void SendCallersAway(absl::Duration budget);

  const Config& config_;
  const std::string summary_;
  Metrics metrics_{MethodNames(), kVersion};
  CallMetrics call_metrics_{metrics_};
  HotItems hot_items_{Clock::System()};
  SampledWrites sampled_writes_{Clock::System(),
                                {.writes_per_second = config_.check_writes_per_second}};
  ServiceMetrics service_metrics_{metrics_, hot_items_, sampled_writes_};
  StoreMetrics store_metrics_{metrics_};
  std::unique_ptr<Security> security_;
  std::unique_ptr<Backends> backends_;
  std::unique_ptr<CopyChecker> checker_;
  std::unique_ptr<CounterService> service_;
  std::unique_ptr<CounterProto> counter_proto_;
  std::unique_ptr<CounterRpc> counter_rpc_;
  std::unique_ptr<WatchHub> watch_hub_;
  std::unique_ptr<WatchRpc> watch_rpc_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<RpcGate> rpc_gate_;
  rpc::HealthService health_;
  rpc::ReflectionService reflection_;
  std::unique_ptr<rpc::Server> rpc_server_;
  std::unique_ptr<http::HttpServer> operator_listener_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<AdminListener> admin_listener_;
  std::unique_ptr<Readiness> readiness_;
};

absl::Status Counterd::Run(Termination& termination, const LogWriter& log) {
  absl::Status started = Start(log);
  if (started.ok()) {
    const int signal = termination.Wait();
    Log(LogLevel::kInfo, "Shutting down; a second signal ends it at once.", {{"signal", signal}});
  }
  Drain();
  return started;
}

absl::Status Counterd::Start(const LogWriter& log) {
  absl::StatusOr<std::unique_ptr<Security>> security = Security::Open(config_);
  if (!security.ok()) return security.status();
  security_ = *std::move(security);
  absl::StatusOr<std::unique_ptr<Backends>> backends = Backends::Open(config_, store_metrics_);
  if (!backends.ok()) return backends.status();
  backends_ = *std::move(backends);
#ifdef COUNTER_BROKEN_ON_PURPOSE
  backends_ = BreakOnPurpose(std::move(backends_));
#endif
  checker_ = std::make_unique<CopyChecker>(
      CopyReader::Parts{backends_->store(), backends_->copies(), backends_->checked_caches(),
                        Clock::System()},
      sampled_writes_, ItemTypes(config_.item_types), CopyChecker::Options());
  service_ = std::make_unique<CounterService>(
      ItemTypes(config_.item_types),
      CounterService::Parts{backends_->store(), backends_->count_cache(), backends_->recent_likes(),
                            backends_->rate_limiter(), Clock::System(), service_metrics_},
      CounterService::Options{.items_in_flight_max = config_.items_in_flight_max});

  admission_ = std::make_unique<Admission>(
      Admission::Options{.calls_in_flight_max = config_.calls_in_flight_max,
                         .watches_max = config_.watches_max,
                         .caller_watches_max = config_.caller_watches_max},
      Clock::System(), call_metrics_);
  rpc_gate_ = std::make_unique<RpcGate>(security_->callers(), *admission_, Clock::System(),
                                        call_metrics_, call_metrics_);
  rpc_server_ = std::make_unique<rpc::Server>(RpcOptions(config_, security_->tls(), *rpc_gate_));
  counter_proto_ = std::make_unique<CounterProto>(*service_);
  counter_rpc_ = std::make_unique<CounterRpc>(*counter_proto_);
  counter_rpc_->Register(*rpc_server_);
  watch_hub_ = std::make_unique<WatchHub>(
      *service_, Clock::System(),
      WatchHub::Options{.interval = absl::Milliseconds(config_.watch_interval_ms),
                        .items_max = config_.watched_items_max});
  watch_rpc_ = std::make_unique<WatchRpc>(*service_, *watch_hub_);
  watch_rpc_->Register(*rpc_server_, counter_rpc_->async_service());
  health_.Register(*rpc_server_);
  health_.Set(kLiveness, true);
  health_.Set(kTakesCalls, true);
  health_.Set("", false);
  health_.Set(kServiceName, false);
  if (config_.reflection) reflection_.Register(*rpc_server_);
  metrics_.OnScrape([this, &log] {
    metrics_.calls_in_flight().Set(admission_->calls_in_flight());
    metrics_.log_lines_lost().RaiseTo(log.lines_lost());
    metrics_.store_available().Set(backends_->store().Health().ok() ? 1 : 0);
  });
  metrics_.AddReadings([this] { return LimitReadings(config_); });
  metrics_.AddReadings([this] { return ServiceReadings(*service_); });
  if (!config_.database_url.has_value())
    metrics_.AddReadings([this] { return DiskReadings(config_.data_dir); });
  metrics_.AddReadings([this] { return backends_->Readings(); });
  metrics_.AddReadings([this] { return WatchReadings(*watch_hub_); });
  metrics_.AddReadings([this] { return AdminReadings(admin_listener_.get()); });
  metrics_.AddReadings([this] {
    return ConnectionReadings(rpc_server_->connections(), config_.grpc_connections_max);
  });
  metrics_.AddReadings([this] { return CheckReadings(*checker_); });
  metrics_.AddReadings([this] { return security_->Readings(); });
  watch_hub_->Start();
  checker_->Start();

  if (absl::Status started = rpc_server_->Start(); !started.ok()) return started;
  security_->Start();
  readiness_ = std::make_unique<Readiness>(backends_->store(), [this](bool ready) {
    health_.Set("", ready);
    health_.Set(kServiceName, ready);
  });
  // Before the listener that asks for its numbers.
  if (absl::Status started = StartAdminListener(); !started.ok()) return started;
  if (absl::Status started = StartOperatorListener(); !started.ok()) return started;
  if (absl::Status started = StartGateway(); !started.ok()) return started;
  return SayReady();
}

absl::Status Counterd::StartOperatorListener() {
  if (!config_.metrics_listen.has_value()) return absl::OkStatus();
  http::HttpServer::Options options;
  options.host = config_.metrics_listen->host;
  options.port = config_.metrics_listen->port;
  operator_listener_ = std::make_unique<http::HttpServer>(options);
  http::AddMetricsRoute(*operator_listener_, Metrics::kContentType,
                        [this] { return metrics_.Expose(); });
  http::AddHealthRoute(*operator_listener_, [this] {
    const bool ready = readiness_->ready();
    return http::Health{ready,
                        {{"store", backends_->store().Health().ok() ? "ok" : "unavailable"}}};
  });
  return operator_listener_->Start();
}

absl::Status Counterd::StartGateway() {
  if (!config_.http_listen.has_value()) return absl::OkStatus();
  gateway_ = std::make_unique<Gateway>(Gateway::Parts{
      config_, security_->tls(), *service_, *counter_proto_, security_->callers(), *admission_,
      metrics_, hot_items_, backends_->store(), backends_->recent_likes(), [this] {
        return Gateway::Dependencies{backends_->store().Health().ok(), backends_->RedisAnswers()};
      }});
  return gateway_->Start();
}

absl::Status Counterd::StartAdminListener() {
  if (!config_.admin_listen.has_value()) return absl::OkStatus();
  AdminListener::Options options;
  options.service.audited_items_per_second = config_.audited_items_per_second;
  options.service.likes_per_second = config_.admin_likes_per_second;
  options.server.listen = config_.admin_listen->ToString();
  options.server.tls = security_->tls();
  options.server.receive_bytes_max = config_.receive_bytes_max;
  options.reflection = config_.reflection;
  admin_listener_ = std::make_unique<AdminListener>(
      AdminListener::Parts{{backends_->store(), backends_->maintenance(), backends_->count_cache(),
                            *service_, *checker_, Clock::System()},
                           ItemTypes(config_.item_types),
                           security_->callers(),
                           call_metrics_,
                           call_metrics_},
      std::move(options));
  return admin_listener_->Start();
}

absl::Status Counterd::SayReady() const {
  std::vector<std::pair<std::string, std::string>> listeners;
  listeners.emplace_back("grpc", Address(config_.grpc_listen, rpc_server_->port()));
  if (operator_listener_ != nullptr) {
    listeners.emplace_back("metrics", Address(*config_.metrics_listen, operator_listener_->port()));
  }
  const std::string http =
      gateway_ == nullptr ? "off" : Address(*config_.http_listen, gateway_->port());
  if (gateway_ != nullptr) listeners.emplace_back("http", http);
  const std::string admin =
      admin_listener_ == nullptr ? "off" : Address(*config_.admin_listen, admin_listener_->port());
  if (admin_listener_ != nullptr) listeners.emplace_back("admin", admin);
  Log(LogLevel::kInfo, "Counter is serving.",
      {{"version", kVersion},
       {"grpc", listeners[0].second},
       {"tls", config_.has_tls()},
       {"http", http},
       {"metrics", operator_listener_ != nullptr ? listeners[1].second : "off"},
       {"admin", admin},
       {"data_dir", config_.data_dir},
       {"settings", summary_}});
  return config_.ready_file.empty() ? absl::OkStatus()
                                    : WriteReadyFile(config_.ready_file, listeners);
}

void Counterd::Drain() {
  // NOT_SERVING first, so that callers who watch health go elsewhere; then a word to those who do
  // not; then GOAWAY, and what is in flight may finish.
  const MonotonicTime end = Clock::System().MonotonicNow() + config_.drain;
  metrics_.draining().Set(1);
  if (readiness_ != nullptr) {
    health_.Set(kTakesCalls, false);
    readiness_->Stop();
    SendCallersAway(config_.drain);
  }
  const absl::Duration left =
      std::max(Between(Clock::System().MonotonicNow(), end), absl::ZeroDuration());
  std::thread gateway_drain([this, left] {
    if (gateway_ != nullptr) gateway_->Drain(left);
  });
  std::thread admin_drain([this, left] {
    if (admin_listener_ != nullptr) admin_listener_->Drain(left);
  });
  if (rpc_server_ != nullptr) rpc_server_->Drain(left);
  gateway_drain.join();
  admin_drain.join();
  if (gateway_ != nullptr) gateway_->Stop();
  if (operator_listener_ != nullptr) operator_listener_->Stop();
  if (watch_hub_ != nullptr) watch_hub_->Stop();
  if (checker_ != nullptr) checker_->Stop();
  if (backends_ != nullptr) backends_->Stop();
  if (security_ != nullptr) security_->Stop();
}

// Until nobody has come for a while, or `most` is over.
void WaitUntilQuiet(rpc::Server& server, const Admission& admission, absl::Duration most) {
  constexpr absl::Duration kQuiet = absl::Milliseconds(100);
  constexpr absl::Duration kLook = absl::Milliseconds(10);
  const Clock& clock = Clock::System();
  const MonotonicTime end = clock.MonotonicNow() + most;
  int64_t arrived = admission.calls_arrived();
  MonotonicTime quiet_since = clock.MonotonicNow();
  while (clock.MonotonicNow() < std::min(end, quiet_since + kQuiet)) {
    absl::SleepFor(kLook);
    // On a machine that is too busy calls have come that nobody has seen yet.
    server.CatchUp();
    const int64_t arrived_now = admission.calls_arrived();
    if (arrived_now != arrived) quiet_since = clock.MonotonicNow();
    arrived = arrived_now;
  }
}

// First lets those leave by themselves who watch health: a crowd that is refused meanwhile uses up
// what its clients spend on repeating. Then refuses what still comes as SHUTTING_DOWN, which
// clients repeat elsewhere, until nobody comes any more: gRPC's own goodbye breaks off, as
// CANCELLED and without a word, the calls that it crosses on the way.
void Counterd::SendCallersAway(absl::Duration budget) {
  constexpr absl::Duration kLeaveMax = absl::Seconds(1);
  constexpr absl::Duration kRefuseMax = absl::Seconds(2);
  WaitUntilQuiet(*rpc_server_, *admission_, std::min(kLeaveMax, budget / 4));
  admission_->StopAdmitting();
  WaitUntilQuiet(*rpc_server_, *admission_, std::min(kRefuseMax, budget / 2));
}

}  // namespace

absl::Status RunCounterd(const LoadedConfig& loaded, Termination& termination,
                         const LogWriter& log) {
  return Counterd(loaded).Run(termination, log);
}

}  // namespace counter
