#include "server/rest/rest_api.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "server/callers/callers.h"
#include "server/request_check.h"
#include "server/rest/error_body.h"

namespace counter::rest {
namespace {

// A browser sends other types to any server without asking it first.
bool IsJson(const http::Request& request) {
  const std::string* type = request.Header("content-type");
  if (type == nullptr) return false;
  absl::string_view name = *type;
  name = absl::StripAsciiWhitespace(name.substr(0, name.find(';')));
  return absl::EqualsIgnoreCase(name, kJsonType);
}

RequestFields FieldsOf(const http::Request& request) {
  return request.method == "GET" ? RequestFields::FromQuery(request.query)
                                 : RequestFields::FromJson(request.body);
}

http::Response Ok(std::string body) {
  http::Response response;
  response.content_type = kJsonType;
  response.body = std::move(body);
  return response;
}

std::string WriteBody(const char* status, int64_t count, bool liked) {
  return absl::StrCat("{\"status\":\"", status, "\",\"count\":", count,
                      ",\"user_liked\":", liked ? "true" : "false", "}");
}

std::string LikedAnswerBody(const WriteAnswer& answer) {
  return WriteBody(answer.changed ? "liked" : "already_liked", answer.count, true);
}

std::string UnlikedAnswerBody(const WriteAnswer& answer) {
  return WriteBody(answer.changed ? "unliked" : "not_liked", answer.count, false);
}

using WriteAnswers = absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>;

// What became of one mutation of a batch, as the call for it alone would say it.
std::string ResultBody(bool is_like, const absl::StatusOr<WriteAnswer>& answer) {
  if (!answer.ok()) return ErrorBody(answer.status());
  return is_like ? LikedAnswerBody(*answer) : UnlikedAnswerBody(*answer);
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

// Of a like, whose time is kept in whole seconds.
std::string SecondsText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

// Item types have passed the check, so that no text in a body needs escaping.
std::string CountsBody(const std::vector<ItemRef>& items, const std::vector<CountAnswer>& counts,
                       absl::Duration took) {
  std::string body = "{\"counts\":{";
  absl::flat_hash_set<std::string> written;
  for (size_t i = 0; i < items.size(); ++i) {
    std::string key = absl::StrCat(items[i].type, ":", items[i].id);
    if (written.contains(key)) continue;
    absl::StrAppend(&body, written.empty() ? "" : ",", "\"", key, "\":", counts[i].count);
    written.insert(std::move(key));
  }
  absl::StrAppendFormat(&body, "},\"took_ms\":%.2f}", absl::ToDoubleMilliseconds(took));
  return body;
}

std::string LikedBody(const std::vector<ItemRef>& items, const std::vector<bool>& liked) {
  std::string body = "{\"liked\":{";
  absl::flat_hash_set<int64_t> written;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!written.insert(items[i].id).second) continue;
    absl::StrAppend(&body, written.size() == 1 ? "" : ",", "\"", items[i].id,
                    "\":", liked[i] ? "true" : "false");
  }
  return absl::StrCat(body, "}}");
}

std::vector<ItemRef> ItemsOf(const std::string& type, const std::vector<int64_t>& ids) {
  std::vector<ItemRef> items;
  items.reserve(ids.size());
  for (int64_t id : ids) items.push_back({type, id});
  return items;
}

}  // namespace

const std::vector<RestApi::Route>& RestApi::Routes() {
  static const auto* const routes = new std::vector<Route>{
      {{"POST /v1/like", "counter.v1.CounterService/Like"}, &RestApi::Like, /*charges=*/true},
      {{"DELETE /v1/like", "counter.v1.CounterService/Unlike"}, &RestApi::Unlike},
      {{"POST /v1/unlike", "counter.v1.CounterService/Unlike"}, &RestApi::Unlike},
      {{"POST /v1/write_likes", "counter.v1.CounterService/WriteLikes"},
       &RestApi::WriteLikes,
       /*charges=*/true},
      {{"GET /v1/count", "counter.v1.CounterService/GetCount"}, &RestApi::Count},
      {{"POST /v1/counts", "counter.v1.CounterService/BatchGetCounts"}, &RestApi::Counts},
      {{"GET /v1/counts", "counter.v1.CounterService/BatchGetCounts"}, &RestApi::Counts},
      {{"POST /v1/has_liked", "counter.v1.CounterService/HasLiked"}, &RestApi::HasLiked},
      {{"GET /v1/has_liked", "counter.v1.CounterService/HasLiked"}, &RestApi::HasLiked},
      {{"GET /v1/likes", "counter.v1.CounterService/ListLikes"}, &RestApi::Likes},
      {{"GET /v1/likers", "counter.v1.CounterService/ListLikers"}, &RestApi::Likers}};
  return *routes;
}

absl::string_view RestApi::MethodOf(absl::string_view route) {
  for (const Route& known : Routes()) {
    if (known.called.name == route) return known.called.method;
  }
  return "";
}

void RestApi::Register(http::HttpServer& server) {
  for (const Route& route : Routes()) {
    const std::pair<std::string, std::string> name = absl::StrSplit(route.called.name, ' ');
    server.AddRoute(name.first, name.second,
                    [this, &route](const http::Request& request) { return Run(route, request); });
  }
}

Task<http::Response> RestApi::Run(const Route& route, const http::Request& request) {
  if (request.method != "GET" && !IsJson(request)) {
    co_return RefusalResponse(415, "The body must be JSON, with Content-Type: application/json.");
  }
  HttpCall call(edge_, route.called, request, kTimeoutHeader);
  absl::Status status = call.admitted();
  http::Response response;
  if (status.ok()) {
    Task<Body> task = (this->*route.method)(request, call);
    Body body = co_await std::move(task);
    status = body.status();
    if (status.ok()) response = Ok(*std::move(body));
  }
  if (!status.ok()) response = ErrorResponse(status);
  if (route.charges) AddRateLimit(status, response);
  call.Finish(response, status);
  co_return response;
}

// Fields of the IETF's draft-ietf-httpapi-ratelimit-headers.
void RestApi::AddRateLimit(const absl::Status& status, http::Response& response) const {
  if (options_.rate_limit_requests == 0) return;
  response.headers.emplace_back(
      "RateLimit-Policy", absl::StrCat("\"likes\";q=", options_.rate_limit_requests,
                                       ";w=", absl::ToInt64Seconds(options_.rate_limit_window)));
  if (ReasonOf(status) != ErrorReason::kRateLimited) return;
  const absl::Duration after = RetryAfterOf(status).value_or(options_.rate_limit_window);
  response.headers.emplace_back(
      "RateLimit",
      absl::StrCat("\"likes\";r=0;t=", absl::ToInt64Seconds(absl::Ceil(after, absl::Seconds(1)))));
}

absl::Status RestApi::Check(std::vector<FieldViolation> violations,
                            const std::vector<NamedType>& types) const {
  RequestCheck check(options_.item_types);
  for (const NamedType& named : types) check.ItemAt(named.field, {named.type, 1});
  return Verdict(std::move(violations), check);
}

absl::Status RestApi::Verdict(std::vector<FieldViolation> violations, const RequestCheck& check) {
  if (!check.ok()) {
    // Where the item is not an object of its own, its type is a field of the request.
    for (FieldViolation& violation : FieldViolationsOf(check.error())) {
      violation.field = std::string(absl::StripPrefix(violation.field, "."));
      violations.push_back(std::move(violation));
    }
  }
  if (violations.empty()) return absl::OkStatus();
  absl::Status error = MakeInvalidRequest(violations);
  MarkNotApplied(error);
  return error;
}

Task<RestApi::Body> RestApi::Like(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  const int64_t user_id = fields.Id("user_id");
  const ItemRef item = {fields.ItemType("item_type"), fields.Id("item_id")};
  const absl::Status checked = Check(fields.violations(), {{"", item.type}});
  if (!checked.ok()) co_return checked;
  const absl::Status allowed = CheckUser(call.caller(), user_id);
  if (!allowed.ok()) co_return allowed;
  Task<absl::StatusOr<WriteAnswer>> like = service_.Like(user_id, item, call.limits());
  const absl::StatusOr<WriteAnswer> answer = co_await std::move(like);
  if (!answer.ok()) co_return answer.status();
  co_return LikedAnswerBody(*answer);
}

Task<RestApi::Body> RestApi::Unlike(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  const int64_t user_id = fields.Id("user_id");
  const ItemRef item = {fields.ItemType("item_type"), fields.Id("item_id")};
  const absl::Status checked = Check(fields.violations(), {{"", item.type}});
  if (!checked.ok()) co_return checked;
  const absl::Status allowed = CheckUser(call.caller(), user_id);
  if (!allowed.ok()) co_return allowed;
  Task<absl::StatusOr<WriteAnswer>> unlike = service_.Unlike(user_id, item, call.limits());
  const absl::StatusOr<WriteAnswer> answer = co_await std::move(unlike);
  if (!answer.ok()) co_return answer.status();
  co_return UnlikedAnswerBody(*answer);
}

// A mutation that is wrong is refused alone, and here, where its fields have the names of REST.
Task<RestApi::Body> RestApi::WriteLikes(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  const std::vector<MutationFields> sent = fields.Mutations("mutations");
  const absl::Status checked = Check(fields.violations(), {});
  if (!checked.ok()) co_return checked;
  std::vector<MutationRef> mutations;
  std::vector<absl::Status> refused;
  mutations.reserve(sent.size());
  refused.reserve(sent.size());
  for (const MutationFields& one : sent) {
    const std::string field = absl::StrCat("mutations[", refused.size(), "]");
    absl::Status verdict = Check(one.violations, {{field, one.mutation.item.type}});
    if (verdict.ok()) verdict = CheckUser(call.caller(), one.mutation.user_id);
    refused.push_back(std::move(verdict));
    mutations.push_back(one.mutation);
  }
  Task<WriteAnswers> write = service_.WriteLikes(mutations, std::move(refused), call.limits());
  const WriteAnswers answers = co_await std::move(write);
  if (!answers.ok()) co_return answers.status();
  std::string body = "{\"results\":[";
  for (size_t i = 0; i < mutations.size(); ++i) {
    if (i > 0) body += ',';
    body += ResultBody(mutations[i].action == kActionLike, (*answers)[i]);
  }
  co_return absl::StrCat(body, "]}");
}

Task<RestApi::Body> RestApi::Count(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  const ItemRef item = {fields.ItemType("item_type"), fields.Id("item_id")};
  const absl::Status checked = Check(fields.violations(), {{"", item.type}});
  if (!checked.ok()) co_return checked;
  CountsRequest read;
  read.single = true;
  read.items = {item};
  Task<absl::StatusOr<std::vector<CountAnswer>>> counts =
      service_.Counts(std::move(read), call.limits());
  const absl::StatusOr<std::vector<CountAnswer>> answers = co_await std::move(counts);
  if (!answers.ok()) co_return answers.status();
  const CountAnswer& answer = answers->front();
  co_return absl::StrCat("{\"item_id\":", item.id, ",\"item_type\":\"", item.type,
                         "\",\"count\":", answer.count,
                         ",\"cached\":", answer.source == AnswerSource::kCache ? "true" : "false",
                         ",\"as_of\":\"", TimeText(answer.as_of), "\"}");
}

Task<RestApi::Body> RestApi::Counts(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  std::vector<ItemRef> items;
  std::vector<NamedType> types;
  if (request.method == "GET") {
    types.push_back({"", fields.ItemType("item_type")});
    items = ItemsOf(types.front().type, fields.Ids("item_ids"));
  } else {
    items = fields.Items("items");
    for (size_t i = 0; i < items.size(); ++i) {
      types.push_back({absl::StrCat("items[", i, "]"), items[i].type});
    }
  }
  const absl::Status checked = Check(fields.violations(), types);
  if (!checked.ok()) co_return checked;
  CountsRequest read;
  read.items = items;
  Task<absl::StatusOr<std::vector<CountAnswer>>> counts =
      service_.Counts(std::move(read), call.limits());
  const absl::StatusOr<std::vector<CountAnswer>> answers = co_await std::move(counts);
  if (!answers.ok()) co_return answers.status();
  co_return CountsBody(items, *answers, Between(request.arrived, edge_.clock.MonotonicNow()));
}

Task<RestApi::Body> RestApi::HasLiked(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  LikedRequest read;
  read.user_id = fields.Id("user_id");
  const std::string type = fields.ItemType("item_type");
  read.items = ItemsOf(type, fields.Ids("item_ids"));
  const absl::Status checked = Check(fields.violations(), {{"", type}});
  if (!checked.ok()) co_return checked;
  const absl::Status allowed = CheckUser(call.caller(), read.user_id);
  if (!allowed.ok()) co_return allowed;
  const std::vector<ItemRef> items = read.items;
  Task<absl::StatusOr<LikedAnswer>> has_liked = service_.HasLiked(std::move(read), call.limits());
  const absl::StatusOr<LikedAnswer> answer = co_await std::move(has_liked);
  if (!answer.ok()) co_return answer.status();
  co_return LikedBody(items, answer->liked);
}

Task<RestApi::Body> RestApi::Likes(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  LikesListRequest read;
  read.user_id = fields.Id("user_id");
  read.item_types = fields.Names("item_types");
  read.page_size = fields.PageSize("page_size");
  read.page_token = fields.Text("page_token");
  RequestCheck check(options_.item_types);
  check.TypesAt("item_types", read.item_types);
  check.PageSizeAt("page_size", read.page_size);
  const absl::Status checked = Verdict(fields.violations(), check);
  if (!checked.ok()) co_return checked;
  const absl::Status allowed = CheckUser(call.caller(), read.user_id);
  if (!allowed.ok()) co_return allowed;
  Task<absl::StatusOr<LikesAnswer>> list = service_.ListLikes(std::move(read), call.limits());
  const absl::StatusOr<LikesAnswer> answer = co_await std::move(list);
  if (!answer.ok()) co_return answer.status();
  std::string body = "{\"likes\":[";
  for (const LikedItem& like : answer->likes) {
    absl::StrAppend(&body, body.back() == '[' ? "" : ",", "{\"item_type\":\"", like.item.type,
                    "\",\"item_id\":", like.item.id, ",\"liked_at\":\"", SecondsText(like.liked_at),
                    "\"}");
  }
  co_return absl::StrCat(body, "],\"next_page_token\":\"", answer->next_page_token, "\"}");
}

Task<RestApi::Body> RestApi::Likers(const http::Request& request, const HttpCall& call) {
  RequestFields fields = FieldsOf(request);
  LikersListRequest read;
  read.item = {fields.ItemType("item_type"), fields.Id("item_id")};
  read.page_size = fields.PageSize("page_size");
  read.page_token = fields.Text("page_token");
  RequestCheck check(options_.item_types);
  check.ItemAt("", {read.item.type, 1});
  check.PageSizeAt("page_size", read.page_size);
  const absl::Status checked = Verdict(fields.violations(), check);
  if (!checked.ok()) co_return checked;
  const absl::Status allowed = CheckAllUsers(call.caller());
  if (!allowed.ok()) co_return allowed;
  Task<absl::StatusOr<LikersAnswer>> list = service_.ListLikers(std::move(read), call.limits());
  const absl::StatusOr<LikersAnswer> answer = co_await std::move(list);
  if (!answer.ok()) co_return answer.status();
  std::string body = "{\"likers\":[";
  for (const ItemLiker& liker : answer->likers) {
    absl::StrAppend(&body, body.back() == '[' ? "" : ",", "{\"user_id\":", liker.user_id,
                    ",\"liked_at\":\"", SecondsText(liker.liked_at), "\"}");
  }
  co_return absl::StrCat(body, "],\"next_page_token\":\"", answer->next_page_token, "\"}");
}

}  // namespace counter::rest
