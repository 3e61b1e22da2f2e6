// HttpCall: one call of the API that came over HTTP, from admission to its answer: its caller, its
// id, its deadline, its place among the calls in flight, its line in the log. REST and Connect
// share it.
//
//   HttpCall call(edge, {"POST /v1/like", "counter.v1.CounterService/Like"}, request,
//                 kTimeoutHeader);
//   if (!call.admitted().ok()) ...            // answer with that error
//   ... work within call.limits() ...
//   call.Finish(response, status);            // exactly once, as the last thing
//
// Threads: one at a time. Ownership: borrows everything; lives in the handler's coroutine.
#ifndef COUNTER_SERVER_REST_HTTP_CALL_H_
#define COUNTER_SERVER_REST_HTTP_CALL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "server/admission.h"
#include "server/callers/callers.h"
#include "server/http/http.h"

namespace counter::rest {

// What every call of the server shares.
struct Edge {
  const Callers& callers;
  Admission& admission;
  const Clock& clock;
  absl::Duration default_deadline;
};

// What a call is called: in the log, and where callers are allowed methods.
struct HttpMethod {
  absl::string_view name;    // "POST /v1/like".
  absl::string_view method;  // "counter.v1.CounterService/Like".
};

// Who makes a request of `method`, by its token or certificate; or why it is not let in, which is
// counted. The first thing of every HttpCall, and all that is asked of what is no call.
absl::StatusOr<CallerRef> AdmitCaller(const Edge& edge, absl::string_view method,
                                      const http::Request& request);

class HttpCall {
 public:
  // The longest time that a caller may ask for, in milliseconds.
  static constexpr int64_t kTimeoutMsMax = 9'999'999'999;

  // `timeout_header` holds the milliseconds that the caller gives the call.
  HttpCall(const Edge& edge, const HttpMethod& method, const http::Request& request,
           absl::string_view timeout_header);
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  // OK, or why the call was refused: kInvalidRequest for a header that makes no sense, or as
  // Callers and Admission say.
  const absl::Status& admitted() const { return admitted_; }
  const CallLimits& limits() const { return limits_; }
  const Caller& caller() const { return *caller_; }

  // Adds the call's headers to the response; the call is in flight no more.
  void Finish(http::Response& response, const absl::Status& status);

 private:
  absl::Status Enter(absl::string_view method, const http::Request& request,
                     absl::string_view timeout_header);
  absl::Status SetLimits(const http::Request& request, absl::string_view timeout_header);

  const Edge edge_;
  const absl::string_view name_;
  const MonotonicTime arrived_;
  const std::string request_id_;
  const std::string trace_id_;
  CallLimits limits_;
  CallerRef caller_ = UnknownCaller();
  absl::Status admitted_;
};

}  // namespace counter::rest

#endif  // COUNTER_SERVER_REST_HTTP_CALL_H_
