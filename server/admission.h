// Admission: decides which calls get in, gives each an id, and counts how they end.
//
// A call is refused, before anything was done for it, while the server is shutting down
// (SHUTTING_DOWN), when its deadline has already passed (DEADLINE_EXCEEDED), or when as many calls
// as allowed are in flight (OVERLOADED, with a retry hint). The standard services (names that start
// with
// "/grpc.") are let in while draining and counted apart: their streams stand for as long as a
// client watches, and a health check must be answered when the server is full.
//
// Threads: any. Ownership: the owner keeps it, and what it borrows, until the server is drained.
#ifndef COUNTER_SERVER_ADMISSION_H_
#define COUNTER_SERVER_ADMISSION_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/error.h"
#include "server/rpc/call_gate.h"

namespace counter {

// Told of every call of this server's own services; for metrics. Any thread; must not block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void CallStarted(absl::string_view method) = 0;
  virtual void CallEnded(absl::string_view method, grpc::StatusCode code, absl::Duration took) = 0;
  virtual void CallRefused(ErrorReason reason) = 0;
};

// The id that a call is known by: the caller's `x-request-id` if it is 1 to 64 characters of
// [A-Za-z0-9._-], else 32 random hexadecimal digits.
inline constexpr char kRequestIdKey[] = "x-request-id";
std::string RequestIdOf(const std::optional<std::string>& from_caller);

class Admission final : public rpc::CallGate {
 public:
  struct Options {
    int calls_in_flight_max = 4096;                        // Of the product's own services.
    int standing_calls_max = 1024;                         // Of the standard services.
    absl::Duration retry_after = absl::Milliseconds(100);  // The hint of an OVERLOADED.
  };

  Admission(Options options, const Clock& clock, CallObserver& observer);

  // From now on calls of the product's own services are refused with SHUTTING_DOWN.
  void StopAdmitting() { stopped_.store(true, std::memory_order_relaxed); }

  // Calls of the product's own services that were admitted and have not ended.
  int calls_in_flight() const { return calls_in_flight_.load(std::memory_order_relaxed); }

  // Calls of the product's own services that have come so far, refused ones included.
  int64_t calls_arrived() const { return calls_arrived_.load(std::memory_order_relaxed); }

  std::optional<grpc::Status> Admit(rpc::Call& call) override;
  void Ended(rpc::Call& call, const grpc::Status& status) override;

 private:
  // OK, or why the call cannot be let in.
  absl::Status Check(const rpc::Call& call, int in_flight) const;

  const Options options_;
  const Clock& clock_;
  CallObserver& observer_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int64_t> calls_arrived_ = 0;
  std::atomic<int> calls_in_flight_ = 0;
  std::atomic<int> standing_calls_ = 0;
};

}  // namespace counter

#endif  // COUNTER_SERVER_ADMISSION_H_
