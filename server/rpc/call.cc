#include "server/rpc/call.h"

#include <chrono>
#include <utility>

#include "absl/strings/match.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security_constants.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

namespace counter::rpc {
namespace {

bool IsLegalHeader(const std::string& key, const std::string& value) {
  const grpc_slice key_slice = grpc_slice_from_static_buffer(key.data(), key.size());
  if (grpc_header_key_is_legal(key_slice) == 0) return false;
  if (absl::EndsWith(key, "-bin")) return true;
  const grpc_slice value_slice = grpc_slice_from_static_buffer(value.data(), value.size());
  return grpc_header_nonbin_value_is_legal(value_slice) != 0;
}

}  // namespace

std::optional<std::string> Call::Metadata(absl::string_view key) const {
  const auto& metadata = context_.client_metadata();
  const auto found = metadata.find(grpc::string_ref(key.data(), key.size()));
  if (found == metadata.end()) return std::nullopt;
  return std::string(found->second.data(), found->second.size());
}

std::vector<std::string> Call::PeerNames() const {
  std::vector<std::string> names;
  const std::shared_ptr<const grpc::AuthContext> peer = context_.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return names;
  for (const char* property : {GRPC_PEER_URI_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : peer->FindPropertyValues(property)) {
      names.emplace_back(value.data(), value.size());
    }
  }
  return names;
}

bool Call::AddInitialMetadata(const std::string& key, const std::string& value) {
  if (!IsLegalHeader(key, value)) return false;
  context_.AddInitialMetadata(key, value);
  return true;
}

bool Call::AddTrailingMetadata(const std::string& key, const std::string& value) {
  if (!IsLegalHeader(key, value)) return false;
  context_.AddTrailingMetadata(key, value);
  return true;
}

void Call::WakeWhenCancelled(std::shared_ptr<Wakeup> wakeup) {
  has_wakeup_ = true;
  {
    MutexLock lock(mutex_);
    if (!cancelled()) {
      wakeup_ = std::move(wakeup);
      return;
    }
  }
  wakeup->Wake();
}

void Call::Arrive(absl::Duration default_deadline) {
  arrived_ = Clock::System().MonotonicNow();
  limits_.cancellation = Cancellation::Make();
  const gpr_timespec deadline = context_.raw_deadline();
  has_caller_deadline_ = gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) != 0;
  if (!has_caller_deadline_) {
    limits_.deadline = arrived_ + default_deadline;
    return;
  }
  // Measured against the clock that the deadline is of, so that no jump of the wall clock after
  // this moment moves it.
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  limits_.deadline = arrived_ + (absl::Seconds(left.tv_sec) +
                                 absl::Nanoseconds(static_cast<int64_t>(left.tv_nsec)));
}

void Call::MarkCancelled() {
  std::shared_ptr<Wakeup> wakeup;
  {
    MutexLock lock(mutex_);
    limits_.cancellation.Cancel();
    wakeup = std::move(wakeup_);
  }
  if (wakeup != nullptr) wakeup->Wake();
}

void Call::ForgetWakeup() {
  if (!has_wakeup_) return;
  std::shared_ptr<Wakeup> forgotten;
  MutexLock lock(mutex_);
  forgotten.swap(wakeup_);
}

}  // namespace counter::rpc
