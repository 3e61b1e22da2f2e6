// Call: one call as its handler and the gate see it: who calls what, within which limits, and the
// metadata in both directions.
//
// Use it inside a handler; it is not for keeping: it is gone some time after the handler's task has
// ended. What must outlive the handler (a store's queue) copies limits().
//
// Threads: a Call is for one thread at a time, the one on which the handler runs just now;
//   cancelled(), limits() and Cancel() may be called from any thread while the handler runs.
// Ownership: the engine owns it.
#ifndef COUNTER_SERVER_RPC_CALL_H_
#define COUNTER_SERVER_RPC_CALL_H_

#include <any>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "server/rpc/wakeup.h"

#include <grpcpp/server_context.h>

namespace counter::rpc {

class Call {
 public:
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // "/package.Service/Method".
  absl::string_view method() const { return method_; }

  // When a queue thread took the call.
  MonotonicTime arrived() const { return arrived_; }

  // The caller's deadline, or arrival plus the default for a call that came without one, and the
  // flag that says that the caller has gone.
  const CallLimits& limits() const { return limits_; }
  bool has_caller_deadline() const { return has_caller_deadline_; }
  bool cancelled() const { return limits_.cancellation.cancelled(); }

  // The first value of that key (lower case) among what the caller sent.
  std::optional<std::string> Metadata(absl::string_view key) const;

  // Both return false and add nothing if gRPC would not send it (gRPC ends the process over a bad
  // header): keys are of [a-z0-9._-], values printable ASCII unless the key ends in "-bin".
  // Initial metadata requires that nothing was sent yet on this call.
  bool AddInitialMetadata(const std::string& key, const std::string& value);
  bool AddTrailingMetadata(const std::string& key, const std::string& value);

  // The names in the certificate that the caller has shown and that was verified: URIs first, then
  // those of DNS. None without TLS, or where callers are not asked for certificates.
  std::vector<std::string> PeerNames() const;

  // "ipv4:127.0.0.1:41234".
  std::string peer() const { return context_.peer(); }

  // Room for what the gate wants to remember from Admit() to Ended().
  std::any& gate_data() { return gate_data_; }

  // Ends the call for the caller with CANCELLED; operations in flight fail soon after.
  void Cancel() { context_.TryCancel(); }

  // Wakes `wakeup` once when the caller has gone, on the call's queue thread; at once if it has
  // gone already. At most one wakeup a call.
  void WakeWhenCancelled(std::shared_ptr<Wakeup> wakeup);

 protected:
  explicit Call(absl::string_view method) : method_(method) {}
  ~Call() = default;

  // The call has come: fixes the limits.
  void Arrive(absl::Duration default_deadline);
  // The caller has gone: sets the flag, wakes.
  void MarkCancelled();
  // The handler has ended: nobody is to be woken any more.
  void ForgetWakeup();

  grpc::ServerContext context_;

 private:
  const absl::string_view method_;
  MonotonicTime arrived_;
  CallLimits limits_;
  bool has_caller_deadline_ = false;
  std::any gate_data_;

  // Of the handler: most calls never have one, and their end need not lock.
  bool has_wakeup_ = false;
  Mutex mutex_;
  // Shared with the handler, which may end on another thread while the wakeup is being woken.
  std::shared_ptr<Wakeup> wakeup_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_CALL_H_
