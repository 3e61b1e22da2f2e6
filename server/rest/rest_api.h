// RestApi: the like counter as REST and JSON: the routes /v1/*, for callers who want no gRPC.
//
//   POST   /v1/like        {user_id, item_id, item_type}      -> {status, count, user_liked}
//   DELETE /v1/like, POST /v1/unlike                             likewise
//   POST   /v1/write_likes {mutations: [{user_id, item_id, item_type, action}]}
//                                                                -> {results: [a body as of
//                                                                   /v1/like, or of its error]}
//   GET    /v1/count       ?item_id=&item_type=               -> {item_id, item_type, count,
//   cached,
//                                                                 as_of}
//   POST   /v1/counts      {items: [{item_id, item_type}]}    -> {counts: {"post:456": n}, took_ms}
//   GET    /v1/counts      ?item_ids=1,2&item_type=              likewise
//   POST   /v1/has_liked   {user_id, item_ids, item_type}     -> {liked: {"456": true}}
//   GET    /v1/has_liked   ?user_id=&item_ids=&item_type=        likewise
//   GET    /v1/likes       ?user_id=&item_types=&page_size=&page_token=
//                                -> {likes: [{item_type, item_id, liked_at}], next_page_token}
//   GET    /v1/likers      ?item_id=&item_type=&page_size=&page_token=
//                                -> {likers: [{user_id, liked_at}], next_page_token}
//
// It is JSON <-> vocabulary and nothing else: WHAT a like means is in counter_service. It knows no
// gRPC and no protobuf. A call gets in by the same Admission as over gRPC. The promises are those
// of docs/contract.md.
//
// Threads: handlers start on the HTTP server's thread and go on where the service's tasks do.
// Ownership: borrows all; must outlive the server's Stop().
#ifndef COUNTER_SERVER_REST_REST_API_H_
#define COUNTER_SERVER_REST_REST_API_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/task.h"
#include "server/counter_service.h"
#include "server/http/http_server.h"
#include "server/item_types.h"
#include "server/rest/http_call.h"
#include "server/rest/request_fields.h"

namespace counter::rest {

// How many milliseconds a call may take; without it the default deadline holds.
inline constexpr char kTimeoutHeader[] = "x-timeout-ms";

class RestApi {
 public:
  struct Options {
    ItemTypes item_types;
    // As the header RateLimit-Policy tells them to those who like. 0: no limit.
    int rate_limit_requests = 0;
    absl::Duration rate_limit_window;
  };

  RestApi(CounterService& service, const Edge& edge, Options options)
      : service_(service), edge_(edge), options_(std::move(options)) {}

  // Call it once, before server.Start().
  void Register(http::HttpServer& server);

  // Which method of the service a route of REST is: "counter.v1.CounterService/Like" for
  // "POST /v1/like"; empty for what is no route of REST.
  static absl::string_view MethodOf(absl::string_view route);

 private:
  using Body = absl::StatusOr<std::string>;
  // Answers with the body of a 200, or why not.
  using Method = Task<Body> (RestApi::*)(const http::Request&, const HttpCall&);

  // One row of the table of all routes.
  struct Route {
    HttpMethod called;
    Method method;
    bool charges = false;  // The rate limit: the answer tells of it.
  };
  static const std::vector<Route>& Routes();

  Task<http::Response> Run(const Route& route, const http::Request& request);

  Task<Body> Like(const http::Request& request, const HttpCall& call);
  Task<Body> Unlike(const http::Request& request, const HttpCall& call);
  Task<Body> WriteLikes(const http::Request& request, const HttpCall& call);
  Task<Body> Count(const http::Request& request, const HttpCall& call);
  Task<Body> Counts(const http::Request& request, const HttpCall& call);
  Task<Body> HasLiked(const http::Request& request, const HttpCall& call);
  Task<Body> Likes(const http::Request& request, const HttpCall& call);
  Task<Body> Likers(const http::Request& request, const HttpCall& call);

  // OK, or everything that is wrong with a request whose item types are `types`, each with the name
  // of its field.
  struct NamedType {
    std::string field;
    std::string type;
  };
  absl::Status Check(std::vector<FieldViolation> violations,
                     const std::vector<NamedType>& types) const;
  // The same for a request whose other values `check` has looked at.
  static absl::Status Verdict(std::vector<FieldViolation> violations, const RequestCheck& check);
  void AddRateLimit(const absl::Status& status, http::Response& response) const;

  CounterService& service_;
  const Edge edge_;
  const Options options_;
};

}  // namespace counter::rest

#endif  // COUNTER_SERVER_REST_REST_API_H_
