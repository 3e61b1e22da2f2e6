#include "clients/cpp/client.h"

#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cpp/health.h"
#include "clients/cpp/scripted_server.h"
#include "clients/cpp/service_config.h"
#include "clients/cpp/token_cache.h"

namespace counter::client {
namespace {

constexpr char kToken[] = "token-1";

Client ConnectTo(const ScriptedServer& server, bool retries = true) {
  return Client::Connect({.target = server.target(), .retries = retries});
}

grpc::Status Unavailable() {
  return MakeStatus(grpc::UNAVAILABLE, "the store cannot be reached", "STORE_UNAVAILABLE");
}

TEST_CASE("A call that calls back does so once, elsewhere, and with what a blocking one answers") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest& request,
                      v1::LikeResponse& response) {
    response.set_status(v1::LIKE_STATUS_LIKED);
    response.set_count(request.user_id());
    return grpc::Status::OK;
  };
  const Client client = ConnectTo(server);
  struct Seen {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Result<LikeReply>> results;
    bool same_thread = false;
  };
  const auto seen = std::make_shared<Seen>();
  const auto done = [seen, caller = std::this_thread::get_id()](Result<LikeReply> result) {
    const std::lock_guard lock(seen->mutex);
    seen->same_thread = seen->same_thread || std::this_thread::get_id() == caller;
    seen->results.push_back(std::move(result));
    seen->changed.notify_one();
  };
  client.LikeAsync(7, {"post", 1}, done);
  client.LikeAsync(7, {"post", 1}, done, {.request_id = "not allowed"});
  std::unique_lock lock(seen->mutex);
  REQUIRE(seen->changed.wait_for(lock, std::chrono::seconds(20),
                                 [&] { return seen->results.size() == 2; }));
  CHECK_FALSE(seen->same_thread);
  for (const Result<LikeReply>& result : seen->results) {
    if (result.ok())
      CHECK(result->count == 7);
    else
      CHECK(result.error().kind == ErrorKind::kInvalidArgument);
  }
  CHECK(seen->results[0].ok() != seen->results[1].ok());
  CHECK(server.calls() == 1);
}

TEST_CASE("Like sends user and item and answers what changed, the count and the token") {
  ScriptedServer server;
  v1::LikeRequest seen;
  server.on_like = [&](grpc::ServerContext&, const v1::LikeRequest& request,
                       v1::LikeResponse& response) {
    seen = request;
    response.set_status(v1::LIKE_STATUS_LIKED);
    response.set_count(7);
    response.set_consistency_token(kToken);
    return grpc::Status::OK;
  };
  const Client client = ConnectTo(server);
  const Result<LikeReply> reply = client.Like(123, {"post", 456});
  REQUIRE(reply.ok());
  CHECK(reply->changed);
  CHECK(reply->count == 7);
  CHECK(reply->consistency_token == kToken);
  CHECK(seen.user_id() == 123);
  CHECK(seen.item().item_type() == "post");
  CHECK(seen.item().item_id() == 456);
}

TEST_CASE("A repeated like and an unlike of nothing say that nothing changed") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest&, v1::LikeResponse& response) {
    response.set_status(v1::LIKE_STATUS_ALREADY_LIKED);
    return grpc::Status::OK;
  };
  server.on_unlike = [](grpc::ServerContext&, const v1::UnlikeRequest& request,
                        v1::UnlikeResponse& response) {
    response.set_status(request.user_id() == 1 ? v1::UNLIKE_STATUS_UNLIKED
                                               : v1::UNLIKE_STATUS_NOT_LIKED);
    return grpc::Status::OK;
  };
  const Client client = ConnectTo(server);
  CHECK_FALSE(client.Like(1, {"post", 1}).value().changed);
  CHECK(client.Unlike(1, {"post", 1}).value().changed);
  CHECK_FALSE(client.Unlike(2, {"post", 1}).value().changed);
}

TEST_CASE("WriteLikes gives each mutation its own result, failed ones with their own error") {
  ScriptedServer server;
  v1::WriteLikesRequest seen;
  server.on_write_likes = [&](grpc::ServerContext&, const v1::WriteLikesRequest& request,
                              v1::WriteLikesResponse& response) {
    seen = request;
    for (const v1::Outcome outcome :
         {v1::OUTCOME_LIKED, v1::OUTCOME_ALREADY_LIKED, v1::OUTCOME_UNLIKED, v1::OUTCOME_NOT_LIKED})
      response.add_results()->set_outcome(outcome);
    response.mutable_results(0)->set_count(9);
    v1::MutationResult& failed = *response.add_results();
    failed.set_outcome(v1::OUTCOME_FAILED);
    *failed.mutable_error() =
        MakeRpcStatus(grpc::RESOURCE_EXHAUSTED, "100 likes a minute", "RATE_LIMITED", true);
    return grpc::Status::OK;
  };
  const Client client = ConnectTo(server);
  const Item item = {"post", 1};
  const std::vector<Mutation> mutations = {{1, item, Action::kLike},
                                           {2, item, Action::kLike},
                                           {3, item, Action::kUnlike},
                                           {4, item, Action::kUnlike},
                                           {5, item, Action::kLike}};
  const Result<WriteLikesReply> reply = client.WriteLikes(mutations);
  REQUIRE(reply.ok());
  REQUIRE(reply->results.size() == 5);
  CHECK(reply->results[0].value().changed);
  CHECK(reply->results[0].value().count == 9);
  CHECK_FALSE(reply->results[1].value().changed);
  CHECK(reply->results[2].value().changed);
  CHECK_FALSE(reply->results[3].value().changed);
  REQUIRE_FALSE(reply->results[4].ok());
  CHECK(reply->results[4].error().kind == ErrorKind::kRateLimited);
  CHECK(reply->results[4].error().not_applied);
  CHECK(seen.mutations(2).action() == v1::ACTION_UNLIKE);
  CHECK(seen.mutations(4).user_id() == 5);
}

TEST_CASE("A reply with another number of results than asked for is an error, not a guess") {
  ScriptedServer server;
  server.on_write_likes = [](grpc::ServerContext&, const v1::WriteLikesRequest&,
                             v1::WriteLikesResponse&) { return grpc::Status::OK; };
  server.on_has_liked = [](grpc::ServerContext&, const v1::HasLikedRequest&,
                           v1::HasLikedResponse& response) {
    response.add_liked(true);
    return grpc::Status::OK;
  };
  server.on_batch_get_counts = [](grpc::ServerContext&, const v1::BatchGetCountsRequest&,
                                  v1::BatchGetCountsResponse& response) {
    response.add_counts();
    return grpc::Status::OK;
  };
  const Client client = ConnectTo(server);
  CHECK(client.WriteLikes({{1, {"post", 1}}}).error().kind == ErrorKind::kInternal);
  CHECK(client.HasLiked(1, {}).error().kind == ErrorKind::kInternal);
  CHECK(client.Counts({}).error().kind == ErrorKind::kInternal);
}

TEST_CASE("Reads pass on consistency and tokens and give count, source and time") {
  ScriptedServer server;
  v1::GetCountRequest one;
  v1::BatchGetCountsRequest many;
  v1::HasLikedRequest has;
  server.on_get_count = [&](grpc::ServerContext&, const v1::GetCountRequest& request,
                            v1::GetCountResponse& response) {
    one = request;
    response.set_count(3);
    response.set_source(v1::SOURCE_PRIMARY);
    response.mutable_as_of_time()->set_seconds(1'700'000'000);
    response.mutable_as_of_time()->set_nanos(5'000'000);
    return grpc::Status::OK;
  };
  server.on_batch_get_counts = [&](grpc::ServerContext&, const v1::BatchGetCountsRequest& request,
                                   v1::BatchGetCountsResponse& response) {
    many = request;
    for (const v1::Item& item : request.items()) {
      v1::ItemCount& count = *response.add_counts();
      *count.mutable_item() = item;
      count.set_count(10 * item.item_id());
      count.set_source(v1::SOURCE_CACHE);
    }
    return grpc::Status::OK;
  };
  server.on_has_liked = [&](grpc::ServerContext&, const v1::HasLikedRequest& request,
                            v1::HasLikedResponse& response) {
    has = request;
    for (const v1::Item& item : request.items()) response.add_liked(item.item_id() % 2 == 0);
    return grpc::Status::OK;
  };
  const Client client = ConnectTo(server);

  const Result<CountReply> count = client.Count(
      {"post", 1}, {.consistency = Consistency::kStrong, .consistency_tokens = {kToken}});
  REQUIRE(count.ok());
  CHECK(count->count.count == 3);
  CHECK(count->count.item == Item{"post", 1});
  CHECK(count->count.source == Source::kPrimary);
  CHECK(count->count.as_of == absl::FromUnixMillis(1'700'000'000'005));
  CHECK(one.consistency() == v1::CONSISTENCY_STRONG);
  CHECK(one.consistency_token() == kToken);

  const Result<CountsReply> counts =
      client.Counts({{"reel", 2}, {"post", 1}}, {.consistency_tokens = {"a", "b"}});
  REQUIRE(counts.ok());
  REQUIRE(counts->counts.size() == 2);
  CHECK(counts->counts[0].item == Item{"reel", 2});
  CHECK(counts->counts[0].count == 20);
  CHECK(counts->counts[1].source == Source::kCache);
  CHECK(many.consistency() == v1::CONSISTENCY_CACHED);
  CHECK(many.consistency_tokens_size() == 2);

  const Result<HasLikedReply> liked = client.HasLiked(5, {{"post", 1}, {"post", 2}});
  REQUIRE(liked.ok());
  CHECK(liked->liked == std::vector<bool>{false, true});
  CHECK(has.user_id() == 5);
}

TEST_CASE("Count refuses two tokens before anything is sent") {
  ScriptedServer server;
  const Client client = ConnectTo(server);
  const Result<CountReply> count = client.Count({"post", 1}, {.consistency_tokens = {"a", "b"}});
  CHECK(count.error().kind == ErrorKind::kInvalidArgument);
  CHECK(server.calls() == 0);
}

TEST_CASE("An invalid request carries all field violations") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest&, v1::LikeResponse&) {
    google::rpc::BadRequest bad;
    for (const char* field : {"user_id", "item.item_id"}) {
      bad.add_field_violations()->set_field(field);
      bad.mutable_field_violations()->rbegin()->set_description("expected 1 to 2^63-1, got 0");
    }
    return MakeStatus(grpc::INVALID_ARGUMENT, "two fields are wrong", "INVALID_REQUEST", {&bad});
  };
  const Client client = ConnectTo(server);
  const Error error = client.Like(0, {"post", 0}).error();
  CHECK(error.kind == ErrorKind::kInvalidArgument);
  CHECK(error.grpc_code == grpc::INVALID_ARGUMENT);
  CHECK(error.reason == "INVALID_REQUEST");
  REQUIRE(error.violations.size() == 2);
  CHECK(error.violations[1].field == "item.item_id");
  CHECK(error.violations[1].description == "expected 1 to 2^63-1, got 0");
  CHECK(server.calls() == 1);
}

TEST_CASE("Rate limit and overload are told apart and say when to try again") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext& context, const v1::LikeRequest& request,
                      v1::LikeResponse&) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(2);
    retry.mutable_retry_delay()->set_nanos(500'000'000);
    google::rpc::QuotaFailure quota;
    quota.add_violations()->set_subject("user:1");
    context.AddTrailingMetadata("outcome", "not-applied");
    if (request.user_id() == 1)
      return MakeStatus(grpc::RESOURCE_EXHAUSTED, "100 a minute", "RATE_LIMITED", {&quota, &retry});
    return MakeStatus(grpc::RESOURCE_EXHAUSTED, "full", "OVERLOADED", {&retry});
  };
  const Client client = ConnectTo(server);
  const Error limited = client.Like(1, {"post", 1}).error();
  CHECK(limited.kind == ErrorKind::kRateLimited);
  CHECK(limited.retry_after == absl::Milliseconds(2500));
  REQUIRE(limited.quota.has_value());
  CHECK(limited.quota->subject == "user:1");
  CHECK(limited.not_applied);
  CHECK(limited.ToString() == "RATE_LIMITED: 100 a minute; retry after 2.5s; not applied");
  const Error overloaded = client.Like(2, {"post", 1}).error();
  CHECK(overloaded.kind == ErrorKind::kOverloaded);
  CHECK(overloaded.retry_after.has_value());
  CHECK(server.calls() == 2);  // Neither is repeated by the client.
}

TEST_CASE("A failure that did not come from the service keeps its code and has no reason") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest& request, v1::LikeResponse&) {
    // The details of somebody else, and details that cannot be read.
    if (request.user_id() == 1) return grpc::Status(grpc::RESOURCE_EXHAUSTED, "too large", "\xff");
    google::rpc::Status status;
    google::rpc::ErrorInfo info;
    info.set_domain("proxy.example");
    info.set_reason("RATE_LIMITED");
    status.add_details()->PackFrom(info);
    return grpc::Status(grpc::RESOURCE_EXHAUSTED, "of a proxy", status.SerializeAsString());
  };
  const Client client = ConnectTo(server);
  for (const int64_t user : {1, 2}) {
    const Error error = client.Like(user, {"post", 1}).error();
    CHECK(error.kind == ErrorKind::kResourceExhausted);
    CHECK(error.reason.empty());
    CHECK_FALSE(error.not_applied);
  }
  CHECK(client.Unlike(1, {"post", 1}).error().kind == ErrorKind::kUnimplemented);
}

TEST_CASE("UNAVAILABLE is tried four times, and nothing else is") {
  ScriptedServer server;
  std::atomic<grpc::StatusCode> code = grpc::UNAVAILABLE;
  server.on_like = [&](grpc::ServerContext&, const v1::LikeRequest&, v1::LikeResponse&) {
    return grpc::Status(code, "scripted");
  };
  const Client client = ConnectTo(server);
  const absl::Time before = absl::Now();
  CHECK(client.Like(1, {"post", 1}).error().kind == ErrorKind::kUnavailable);
  CHECK(server.calls() == 4);
  // 50 + 100 + 200 ms, each within 20 %.
  CHECK(absl::Now() - before >= absl::Milliseconds(250));
  int calls = 4;
  for (const grpc::StatusCode other :
       {grpc::INTERNAL, grpc::RESOURCE_EXHAUSTED, grpc::DEADLINE_EXCEEDED, grpc::CANCELLED,
        grpc::UNKNOWN, grpc::ABORTED}) {
    code = other;
    CHECK_FALSE(client.Like(1, {"post", 1}).ok());
    CHECK(server.calls() == ++calls);
  }
}

TEST_CASE("A call that succeeds at a later attempt is a success") {
  ScriptedServer server;
  server.on_like = [&](grpc::ServerContext&, const v1::LikeRequest&, v1::LikeResponse& response) {
    if (server.calls() < 3) return Unavailable();
    response.set_count(1);
    return grpc::Status::OK;
  };
  CHECK(ConnectTo(server).Like(1, {"post", 1}).value().count == 1);
  CHECK(server.calls() == 3);
}

TEST_CASE("Retries can be turned off") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest&, v1::LikeResponse&) {
    return Unavailable();
  };
  const Client client = ConnectTo(server, /*retries=*/false);
  const Error error = client.Like(1, {"post", 1}).error();
  CHECK(error.kind == ErrorKind::kUnavailable);
  CHECK(error.reason == "STORE_UNAVAILABLE");
  CHECK(server.calls() == 1);
}

TEST_CASE("Retries stop while most calls fail") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest&, v1::LikeResponse&) {
    return Unavailable();
  };
  const Client client = ConnectTo(server);
  std::vector<std::thread> callers;
  for (int i = 0; i < 40; ++i)
    callers.emplace_back([&client] { static_cast<void>(client.Like(1, {"post", 1}).ok()); });
  for (std::thread& caller : callers) caller.join();
  // 100 tokens, one a failure, none below 50: well below 40 calls of 4 attempts.
  CHECK(server.calls() < 100);
  CHECK(server.calls() >= 40);
}

TEST_CASE("A call ends at the client's deadline, or at its own") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext& context, const v1::LikeRequest&, v1::LikeResponse&) {
    const absl::Time end = absl::Now() + absl::Seconds(10);
    while (!context.IsCancelled() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status(grpc::CANCELLED, "the caller has gone");
  };
  const Client client =
      Client::Connect({.target = server.target(), .deadline = absl::Milliseconds(300)});
  absl::Time before = absl::Now();
  CHECK(client.Like(1, {"post", 1}).error().kind == ErrorKind::kDeadlineExceeded);
  CHECK(absl::Now() - before >= absl::Milliseconds(295));
  before = absl::Now();
  CHECK(client.Like(1, {"post", 1}, {.deadline = absl::Milliseconds(30)}).error().kind ==
        ErrorKind::kDeadlineExceeded);
  CHECK(absl::Now() - before < absl::Milliseconds(295));
}

TEST_CASE("Request id, trace and user-agent reach the server, and the request id comes back") {
  ScriptedServer server;
  std::multimap<std::string, std::string> seen;
  server.on_like = [&](grpc::ServerContext& context, const v1::LikeRequest& request,
                       v1::LikeResponse&) {
    seen.clear();
    for (const auto& [key, value] : context.client_metadata())
      seen.emplace(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
    context.AddInitialMetadata("x-request-id", "from-server");
    if (request.user_id() == 2) return grpc::Status(grpc::INTERNAL, "broken");
    return grpc::Status::OK;
  };
  const Client client = Client::Connect({.target = server.target(), .user_agent = "feed/1.2"});
  const CallOptions call = {.request_id = "a.B_c-1", .traceparent = "00-aa-bb-01"};
  CHECK(client.Like(1, {"post", 1}, call).value().request_id == "from-server");
  CHECK(seen.find("x-request-id")->second == "a.B_c-1");
  CHECK(seen.find("traceparent")->second == "00-aa-bb-01");
  CHECK(absl::StartsWith(seen.find("user-agent")->second, "feed/1.2 counter-cpp/0.1.0 grpc-c++/"));
  const Error error = client.Like(2, {"post", 1}).error();
  CHECK(error.request_id == "from-server");
  CHECK(seen.count("x-request-id") == 0);
}

TEST_CASE("A request id with forbidden characters is refused before anything is sent") {
  ScriptedServer server;
  const Client client = ConnectTo(server);
  for (const std::string& id : {std::string("a b"), std::string("a\nb"), std::string(65, 'a')})
    CHECK(client.Like(1, {"post", 1}, {.request_id = id}).error().kind ==
          ErrorKind::kInvalidArgument);
  CHECK(client.Like(1, {"post", 1}, {.traceparent = "a\r\nb"}).error().not_applied);
  CHECK(server.calls() == 0);
}

TEST_CASE("Where nobody listens a call waits until its deadline, or fails at once if told to") {
  std::string target;
  {
    const ScriptedServer gone;
    target = gone.target();
  }
  const Client patient = Client::Connect({.target = target});
  const absl::Time before = absl::Now();
  const Error late = patient.Like(1, {"post", 1}, {.deadline = absl::Milliseconds(300)}).error();
  CHECK(late.kind == ErrorKind::kDeadlineExceeded);
  CHECK(absl::Now() - before >= absl::Milliseconds(295));
  const Client hasty = Client::Connect({.target = target, .wait_for_ready = false});
  const Error error = hasty.Like(1, {"post", 1}).error();
  CHECK(error.kind == ErrorKind::kUnavailable);
  CHECK_FALSE(error.not_applied);
}

TEST_CASE("A client that reads its own writes passes the last token of each item, once") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest& request,
                      v1::LikeResponse& response) {
    response.set_consistency_token(
        absl::StrCat(request.item().item_type(), request.item().item_id(), "@", request.user_id()));
    return grpc::Status::OK;
  };
  std::vector<std::string> seen;
  server.on_batch_get_counts = [&](grpc::ServerContext&, const v1::BatchGetCountsRequest& request,
                                   v1::BatchGetCountsResponse& response) {
    seen.assign(request.consistency_tokens().begin(), request.consistency_tokens().end());
    for (const v1::Item& item : request.items()) *response.add_counts()->mutable_item() = item;
    return grpc::Status::OK;
  };
  const Client client = Client::Connect({.target = server.target(), .read_your_writes = true});
  REQUIRE(client.Like(1, {"post", 1}).ok());
  REQUIRE(client.Like(2, {"post", 1}).ok());
  REQUIRE(client.Like(3, {"reel", 1}).ok());
  REQUIRE(client.Counts({{"reel", 1}, {"post", 1}, {"post", 2}, {"reel", 1}}).ok());
  CHECK(seen == std::vector<std::string>{"reel1@3", "post1@2"});
  REQUIRE(client.Counts({{"post", 1}}, {.consistency_tokens = {"mine"}}).ok());
  CHECK(seen == std::vector<std::string>{"mine"});
}

TEST_CASE("Tokens of the items written longest ago make room") {
  TokenCache cache(2);
  cache.Keep({"post", 1}, "a");
  cache.Keep({"post", 2}, "b");
  cache.Keep({"post", 1}, "c");
  cache.Keep({"post", 3}, "d");
  CHECK(cache.Of({{"post", 1}, {"post", 2}, {"post", 3}}) == std::vector<std::string>{"c", "d"});
}

TEST_CASE(
    "A server whose health says NOT_SERVING gets no call, and gets them again when it serves") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest&, v1::LikeResponse&) {
    return grpc::Status::OK;
  };
  server.SetServing(false);
  const Client client = Client::Connect({.target = server.target(), .wait_for_ready = false});
  CHECK(client.Like(1, {"post", 1}).error().kind == ErrorKind::kUnavailable);
  CHECK(server.calls() == 0);
  const HealthProbe probe(server.target());
  CHECK(probe.Check("", absl::Seconds(5)).value() == Health::kNotServing);
  CHECK(probe.Check("unknown", absl::Seconds(5)).value() == Health::kServiceUnknown);
  CHECK(probe.WaitUntilServing("", absl::Milliseconds(100)).value() == Health::kNotServing);
  server.SetServing(true);
  CHECK(probe.WaitUntilServing("", absl::Seconds(5)).value() == Health::kServing);
  CHECK(client.Like(1, {"post", 1}).ok());
}

TEST_CASE("One client serves many threads") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest& request,
                      v1::LikeResponse& response) {
    response.set_count(request.user_id());
    return grpc::Status::OK;
  };
  const Client client = ConnectTo(server);
  std::atomic<int> right = 0;
  std::vector<std::thread> callers;
  for (int i = 1; i <= 8; ++i) {
    callers.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) {
        const Result<LikeReply> reply = client.Like(100 * i + n, {"post", 1});
        if (reply.ok() && reply->count == 100 * i + n) ++right;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(right == 400);
}

TEST_CASE("The service config is the published one, and says what the documentation says") {
  const boost::json::value config = boost::json::parse(kServiceConfigJson);
  std::ifstream file("clients/service_config.json");
  const std::string published{std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>()};
  CHECK(config == boost::json::parse(published));
  const boost::json::value& method = config.at("methodConfig").at(0);
  CHECK(method.at("name").at(0).at("service") == "counter.v1.CounterService");
  CHECK(method.at("waitForReady") == true);
  const boost::json::value& retry = method.at("retryPolicy");
  CHECK(retry.at("maxAttempts") == 4);
  CHECK(retry.at("initialBackoff") == "0.05s");
  CHECK(retry.at("maxBackoff") == "1s");
  CHECK(retry.at("backoffMultiplier") == 2);
  CHECK(retry.at("retryableStatusCodes") == boost::json::array{"UNAVAILABLE"});
  CHECK(config.at("loadBalancingConfig").at(0).at("round_robin").is_object());
  CHECK(config.at("healthCheckConfig").at("serviceName") == "calls");
}

}  // namespace
}  // namespace counter::client
