// How an error of the product goes out over REST: an HTTP status, a JSON body and headers.
//
//   {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "...",
//              "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", ...}, ...]},
//    "detail": "..."}
//
// `details` are those of gRPC in their JSON form; `detail` repeats the message where callers of
// FastAPI look for it. Pure functions; any thread.
#ifndef COUNTER_SERVER_REST_ERROR_BODY_H_
#define COUNTER_SERVER_REST_ERROR_BODY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/http/http.h"

namespace counter::rest {

inline constexpr char kJsonType[] = "application/json";

// Requires !error.ok(). An error that was not made by MakeError() (base/error.h) goes out as
// INTERNAL without its text.
http::Response ErrorResponse(const absl::Status& error);

// The body alone, as it stands for one mutation of a batch.
std::string ErrorBody(const absl::Status& error);

// A refusal that no call of the API made: a path that does not exist, a body that is too large.
http::Response RefusalResponse(int status, const std::string& why);

// Adds `Retry-After`, in whole seconds, if the error says when to try again.
void AddRetryAfter(const absl::Status& error, http::Response& response);

// Adds `WWW-Authenticate` if the caller should say who it is.
void AddChallenge(const absl::Status& error, http::Response& response);

// OVERLOADED is the server's state and so 503; RATE_LIMITED is the caller's and so 429.
int HttpStatusOf(const absl::Status& error);

}  // namespace counter::rest

#endif  // COUNTER_SERVER_REST_ERROR_BODY_H_
