#include "server/rpc/health.h"

#include <optional>
#include <utility>
#include <vector>

#include "server/rpc/wakeup.h"

namespace counter::rpc {

class HealthService::Watching {
 public:
  explicit Watching(HealthService& health) : health_(health) {
    MutexLock lock(health_.mutex_);
    admitted_ = static_cast<int>(health_.watches_.size()) < kWatchesMax;
    if (admitted_) health_.watches_.insert(wakeup_);
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() {
    MutexLock lock(health_.mutex_);
    health_.watches_.erase(wakeup_);
  }

  bool admitted() const { return admitted_; }
  const std::shared_ptr<Wakeup>& wakeup() const { return wakeup_; }

 private:
  HealthService& health_;
  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  bool admitted_ = false;
};

void HealthService::Register(Server& server) {
  using Async = grpc::health::v1::Health::AsyncService;
  // Probes are few: a handful of waiting calls is plenty.
  const MethodOptions few{.waiting_calls = 4};
  server.AddUnary(
      service_, &Async::RequestCheck, "/grpc.health.v1.Health/Check",
      [this](Call& call, const Request& request, Response& response) {
        return Check(call, request, response);
      },
      few);
  server.AddServerStream(
      service_, &Async::RequestWatch, "/grpc.health.v1.Health/Watch",
      [this](Call& call, const Request& request, StreamWriter<Response>& writer) {
        return Watch(call, request, writer);
      },
      few);
  server.OnDrain([this] { EndWatches(); });
}

void HealthService::Set(const std::string& service_name, bool serving) {
  {
    MutexLock lock(mutex_);
    serving_[service_name] = serving;
  }
  WakeAll();
}

Task<grpc::Status> HealthService::Check(Call& /*call*/, const Request& request,
                                        Response& response) {
  const View view = Look(request.service());
  if (view.status == Response::SERVICE_UNKNOWN) {
    co_return grpc::Status(grpc::StatusCode::NOT_FOUND, "no service of that name is served here");
  }
  response.set_status(view.status);
  co_return grpc::Status::OK;
}

Task<grpc::Status> HealthService::Watch(Call& call, const Request& request,
                                        StreamWriter<Response>& writer) {
  const Watching watching(*this);
  if (!watching.admitted()) {
    co_return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watches; use Check");
  }
  call.WakeWhenCancelled(watching.wakeup());
  std::optional<Response::ServingStatus> sent;
  Response response;
  while (!call.cancelled()) {
    const View view = Look(request.service());
    if (view.status != sent) {
      sent = view.status;
      response.set_status(view.status);
      if (!co_await writer.Write(response)) break;
    } else if (view.draining) {
      co_return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down");
    } else {
      co_await watching.wakeup()->Wait();
    }
  }
  co_return grpc::Status::CANCELLED;
}

HealthService::View HealthService::Look(const std::string& service_name) const {
  MutexLock lock(mutex_);
  const auto found = serving_.find(service_name);
  if (found == serving_.end()) return {Response::SERVICE_UNKNOWN, draining_};
  return {found->second ? Response::SERVING : Response::NOT_SERVING, draining_};
}

void HealthService::EndWatches() {
  {
    MutexLock lock(mutex_);
    draining_ = true;
  }
  WakeAll();
}

void HealthService::WakeAll() {
  std::vector<std::shared_ptr<Wakeup>> watches;
  {
    MutexLock lock(mutex_);
    watches.assign(watches_.begin(), watches_.end());
  }
  for (const auto& wakeup : watches) wakeup->Wake();
}

}  // namespace counter::rpc
