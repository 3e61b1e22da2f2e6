#include "server/rest/http_call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace counter::rest {
namespace {

std::optional<std::string> HeaderOf(const http::Request& request, absl::string_view name) {
  const std::string* sent = request.Header(name);
  return sent == nullptr ? std::nullopt : std::optional<std::string>(*sent);
}

bool IsDigits(absl::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

absl::StatusOr<CallerRef> AdmitCaller(const Edge& edge, absl::string_view method,
                                      const http::Request& request) {
  const Credentials credentials = {HeaderOf(request, "authorization"),
                                   [&request] { return request.peer_names; }};
  absl::StatusOr<CallerRef> caller = edge.callers.Admit(method, credentials);
  if (!caller.ok()) edge.admission.CountRefused(ReasonOf(caller.status()));
  return caller;
}

HttpCall::HttpCall(const Edge& edge, const HttpMethod& method, const http::Request& request,
                   absl::string_view timeout_header)
    : edge_(edge),
      name_(method.name),
      arrived_(request.arrived),
      request_id_(RequestIdOf(HeaderOf(request, kRequestIdKey))),
      trace_id_(TraceIdOf(HeaderOf(request, kTraceparentKey))) {
  admitted_ = Enter(method.method, request, timeout_header);
}

absl::Status HttpCall::Enter(absl::string_view method, const http::Request& request,
                             absl::string_view timeout_header) {
  absl::StatusOr<CallerRef> caller = AdmitCaller(edge_, method, request);
  if (!caller.ok()) return caller.status();
  caller_ = *std::move(caller);
  if (absl::Status set = SetLimits(request, timeout_header); !set.ok()) return set;
  return edge_.admission.Enter(limits_, *caller_);
}

absl::Status HttpCall::SetLimits(const http::Request& request, absl::string_view timeout_header) {
  limits_.cancellation = request.cancellation;
  limits_.deadline = arrived_ + edge_.default_deadline;
  const std::string* sent = request.Header(timeout_header);
  if (sent == nullptr) return absl::OkStatus();
  int64_t milliseconds = 0;
  if (!IsDigits(*sent) || !absl::SimpleAtoi(*sent, &milliseconds) || milliseconds > kTimeoutMsMax) {
    absl::Status error = MakeInvalidRequest(
        {{std::string(timeout_header),
          absl::StrCat("must be a whole number of milliseconds from 0 to ", kTimeoutMsMax)}});
    MarkNotApplied(error);
    return error;
  }
  limits_.deadline = arrived_ + absl::Milliseconds(milliseconds);
  return absl::OkStatus();
}

void HttpCall::Finish(http::Response& response, const absl::Status& status) {
  response.headers.emplace_back("X-Request-Id", request_id_);
  LogEndedCall({name_, request_id_, trace_id_, caller_->name, status.code(), status.message(),
                Between(arrived_, edge_.clock.MonotonicNow())});
  if (admitted_.ok()) edge_.admission.Leave(*caller_);
}

}  // namespace counter::rest
