// Error and Result: what a call of the Counter client ends with.
//
// Values; const methods are thread-safe. No exception is thrown by the client.
#ifndef COUNTER_CLIENTS_CPP_ERROR_H_
#define COUNTER_CLIENTS_CPP_ERROR_H_

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace counter::client {

// What kind of failure it was; the same names in every language's client.
enum class ErrorKind {
  kInvalidArgument,    // The request is wrong: see violations. Do not repeat it unchanged.
  kRateLimited,        // The user's likes per window are used up; nothing was applied.
                       // retry_after says when the window ends.
  kOverloaded,         // The server has as much work as it may hold; nothing was applied.
                       // retry_after says when to try again.
  kUnavailable,        // No server could be reached, or its store could not. Repeated already.
  kDeadlineExceeded,   // The call's time was used up.
  kCancelled,          // The caller gave up.
  kUnimplemented,      // This server does not offer the method.
  kResourceExhausted,  // Another limit than the two above, for example a message that is too large.
  kFailedPrecondition,
  kOutOfRange,
  kNotFound,
  kUnauthenticated,
  kPermissionDenied,
  kInternal,  // A fault of the server; report it with the request id.
};
// "RATE_LIMITED"; for logs and messages.
const char* ErrorKindName(ErrorKind kind);

// A field of the request that is wrong: its path ("items[3].item_id"), and what came and what was
// expected.
struct FieldViolation {
  std::string field;
  std::string description;
};

// A quota that was exceeded: whose ("user:123"), and a sentence with the limit.
struct QuotaViolation {
  std::string subject;
  std::string description;
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  int grpc_code = 0;  // The canonical code of gRPC, 1 to 16.
  // The value of counter.v1.ErrorReason, "STORE_UNAVAILABLE". Empty if the failure did not come
  // from the service itself: from gRPC, from a proxy, from this client.
  std::string reason;
  std::string message;  // For people.

  std::vector<FieldViolation> violations;     // Of kInvalidArgument: all of them.
  std::optional<QuotaViolation> quota;        // Of kRateLimited.
  std::optional<absl::Duration> retry_after;  // Of kRateLimited and kOverloaded.

  // Of a write: it is certain that nothing was applied. Otherwise a write that failed was applied
  // zero or one time; repeating it is safe either way.
  bool not_applied = false;

  // The server's name of the call, to report it by; empty if it never answered.
  std::string request_id;

  // One line: kind, message (which names the first violations), what to do, request id.
  std::string ToString() const;
};

// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function returns either one as it is.
  Result(T value) : outcome_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : outcome_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return outcome_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Requires ok(); ends the process otherwise.
  const T& value() const& { return *Checked(); }
  T&& value() && { return std::move(*Checked()); }
  const T& operator*() const& { return *Checked(); }
  T&& operator*() && { return std::move(*Checked()); }
  const T* operator->() const { return Checked(); }

  // Requires !ok(); ends the process otherwise.
  const Error& error() const {
    const Error* error = std::get_if<1>(&outcome_);
    if (error == nullptr) std::abort();
    return *error;
  }

 private:
  const T* Checked() const {
    const T* value = std::get_if<0>(&outcome_);
    if (value == nullptr) std::abort();
    return value;
  }
  T* Checked() {
    T* value = std::get_if<0>(&outcome_);
    if (value == nullptr) std::abort();
    return value;
  }

  std::variant<T, Error> outcome_;
};

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_ERROR_H_
