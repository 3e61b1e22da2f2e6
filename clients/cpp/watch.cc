#include "clients/cpp/watch.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "clients/cpp/calls.h"
#include "clients/cpp/error_decoder.h"
#include "clients/cpp/watch_impl.h"

namespace counter::client {
namespace {

Error StoppedError() {
  Error error;
  error.kind = ErrorKind::kCancelled;
  error.grpc_code = grpc::StatusCode::CANCELLED;
  error.message = "the watch was stopped";
  return error;
}

// The watch would go on when its time is over: `why` it has to wait is all that there is to say.
Error OutOfTimeError(const Error& why) {
  Error error;
  error.kind = ErrorKind::kDeadlineExceeded;
  error.grpc_code = grpc::StatusCode::DEADLINE_EXCEEDED;
  error.message = "the watch's deadline has passed while it waited to go on: " + why.message;
  error.request_id = why.request_id;
  return error;
}

}  // namespace

Watch::Watch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Watch::Watch(Watch&& other) noexcept = default;
Watch& Watch::operator=(Watch&& other) noexcept = default;
Watch::~Watch() = default;

Result<CountsUpdate> Watch::Next() { return impl_->Next(); }
void Watch::Stop() { impl_->Stop(); }

Watch::Impl::Impl(Call call, std::vector<Item> items, WatchState state)
    : call_(std::move(call)),
      items_(std::move(items)),
      state_(std::move(state)),
      failed_(call_.refused) {}

Watch::Impl::~Impl() {
  Stop();
  if (reader_ != nullptr) (void)Close();
}

Result<CountsUpdate> Watch::Impl::Next() {
  while (!failed_.has_value()) {
    Result<CountsUpdate> message = Receive();
    if (message.ok()) {
      std::optional<CountsUpdate> update = state_.Take(*std::move(message));
      if (update.has_value()) return *std::move(update);
      continue;
    }
    const std::optional<absl::Duration> pause = state_.PauseAfter(message.error());
    if (!pause.has_value()) {
      failed_ = message.error();
    } else if (!Rest(*pause)) {
      failed_ = OutOfTimeError(message.error());
    }
  }
  return *failed_;
}

void Watch::Impl::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_stopped_ = true;
  if (context_ != nullptr) context_->TryCancel();
  stopping_.notify_all();
}

Result<CountsUpdate> Watch::Impl::Receive() {
  if (reader_ == nullptr && !Open()) return StoppedError();
  v1::WatchCountsResponse response;
  if (reader_->Read(&response)) return Calls::DecodeUpdate(response);
  return Close();
}

bool Watch::Impl::Open() {
  auto context = std::make_unique<grpc::ClientContext>();
  call_.describe(*context);
  if (call_.ends.has_value()) context->set_deadline(absl::ToChronoTime(*call_.ends));
  grpc::ClientContext& opened = *context;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopped_) return false;
    context_ = std::move(context);
  }
  // It may wait for a server; Stop reaches it all the same.
  reader_ = call_.stub.WatchCounts(&opened, Calls::Watch(items_, state_.Begin()));
  return true;
}

Error Watch::Impl::Close() {
  grpc::Status status = reader_->Finish();
  if (status.ok()) status = {grpc::StatusCode::UNAVAILABLE, "the server ended the watch"};
  reader_ = nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::unique_ptr<grpc::ClientContext> context = std::move(context_);
  return is_stopped_ ? StoppedError() : DecodeError(status, false, RequestIdOf(*context));
}

bool Watch::Impl::Rest(absl::Duration pause) {
  bool is_out_of_time = false;
  if (call_.ends.has_value()) {
    const absl::Duration left = *call_.ends - absl::Now();
    is_out_of_time = left <= pause;
    pause = std::min(pause, left);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  const bool is_stopped =
      stopping_.wait_for(lock, absl::ToChronoNanoseconds(pause), [this] { return is_stopped_; });
  return is_stopped || !is_out_of_time;
}

}  // namespace counter::client
