// Who calls and what they may, on the real server: by token and by certificate, over gRPC, REST and
// Connect.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cpp/health.h"
#include "counter/v1/counter.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "tests/integration/fixture.h"
#include "tests/integration/secured_server.h"
#include "tests/support/certificates.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// Tokens of callers; long enough to be taken.
constexpr char kFeed[] = "feed-token-feed-token-feed-token-1";
constexpr char kKiosk[] = "kiosk-token-kiosk-token-kiosk-tok-1";
constexpr char kOps[] = "ops-token-ops-token-ops-token-ops-1";

constexpr char kTable[] = R"(
caller feed  san spiffe://example/feed
caller kiosk users 1000-1999
caller ops
allow counter.v1.CounterService/* feed
allow counter.v1.CounterService/Like kiosk
allow counter.v1.CounterService/WriteLikes kiosk
allow counter.v1.CounterService/HasLiked kiosk
allow counter.v1.CounterService/ListLikes kiosk
allow counter.v1.CounterService/ListLikers kiosk
allow counter.v1.CounterService/GetCount anyone
allow grpc.reflection.v1.ServerReflection/ServerReflectionInfo ops
allow pages/live ops
)";

// The two files that say who may do what.
class CallerFiles {
 public:
  CallerFiles() {
    ReplaceFile(table(), kTable);
    ReplaceFile(tokens(), absl::StrCat("feed ", kFeed, "\nkiosk ", kKiosk, "\nops ", kOps, "\n"));
  }
  std::string table() const { return folder_.File("callers"); }
  std::string tokens() const { return folder_.File("tokens"); }
  Settings settings() const {
    return {{"CALLERS_FILE", table()}, {"CALLER_TOKENS_FILE", tokens()}};
  }

 private:
  TempDir folder_;
};

// One call over gRPC with `token`, if there is one.
template <class Request, class Response>
grpc::Status Call(v1::CounterService::Stub& stub,
                  grpc::Status (v1::CounterService::Stub::*method)(grpc::ClientContext*,
                                                                   const Request&, Response*),
                  const std::string& authorization, const Request& request, Response& response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10) * Slowness()));
  if (!authorization.empty()) context.AddMetadata("authorization", authorization);
  return (stub.*method)(&context, request, &response);
}

class Callers {
 public:
  explicit Callers(const CounterServer& server)
      : stub_(v1::CounterService::NewStub(ChannelTo(server))) {}

  grpc::Status Like(const std::string& authorization, int64_t user) {
    v1::LikeResponse response;
    return Call(*stub_, &v1::CounterService::Stub::Like, authorization,
                LikeRequestOf(user, Post(1)), response);
  }
  grpc::Status Unlike(const std::string& authorization, int64_t user) {
    v1::UnlikeResponse response;
    return Call(*stub_, &v1::CounterService::Stub::Unlike, authorization,
                UnlikeRequestOf(user, Post(1)), response);
  }
  grpc::Status GetCount(const std::string& authorization) {
    v1::GetCountRequest request;
    *request.mutable_item() = item_;
    v1::GetCountResponse response;
    return Call(*stub_, &v1::CounterService::Stub::GetCount, authorization, request, response);
  }
  grpc::Status HasLiked(const std::string& authorization, int64_t user) {
    v1::HasLikedRequest request;
    request.set_user_id(user);
    *request.add_items() = item_;
    v1::HasLikedResponse response;
    return Call(*stub_, &v1::CounterService::Stub::HasLiked, authorization, request, response);
  }
  grpc::Status ListLikes(const std::string& authorization, int64_t user) {
    v1::ListLikesRequest request;
    request.set_user_id(user);
    v1::ListLikesResponse response;
    return Call(*stub_, &v1::CounterService::Stub::ListLikes, authorization, request, response);
  }
  grpc::Status ListLikers(const std::string& authorization) {
    v1::ListLikersRequest request;
    *request.mutable_item() = item_;
    v1::ListLikersResponse response;
    return Call(*stub_, &v1::CounterService::Stub::ListLikers, authorization, request, response);
  }
  v1::WriteLikesResponse WriteLikes(const std::string& authorization,
                                    const std::vector<int64_t>& users) {
    v1::WriteLikesRequest request;
    for (const int64_t user : users) {
      v1::Mutation& mutation = *request.add_mutations();
      mutation.set_user_id(user);
      *mutation.mutable_item() = item_;
      mutation.set_action(v1::ACTION_LIKE);
    }
    v1::WriteLikesResponse response;
    const grpc::Status status =
        Call(*stub_, &v1::CounterService::Stub::WriteLikes, authorization, request, response);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return response;
  }

 private:
  static v1::Item MakeItem() {
    v1::Item item;
    item.set_item_type("post");
    item.set_item_id(1);
    return item;
  }

  const v1::Item item_ = MakeItem();
  std::unique_ptr<v1::CounterService::Stub> stub_;
};

std::string Bearer(const char* token) { return absl::StrCat("Bearer ", token); }

// The code and, for what the service itself says, its reason.
std::string Told(const grpc::Status& status) {
  constexpr const char* kReasons[] = {"UNAUTHENTICATED", "CALLER_NOT_ALLOWED", "USER_NOT_ALLOWED"};
  if (status.ok()) return "OK";
  for (const char* reason : kReasons) {
    if (absl::StrContains(status.error_details(), reason))
      return absl::StrCat(status.error_code(), " ", reason);
  }
  return absl::StrCat(status.error_code(), " ", status.error_message());
}
constexpr char kWhoAreYou[] = "16 UNAUTHENTICATED";
constexpr char kNotThis[] = "7 CALLER_NOT_ALLOWED";
constexpr char kNotForThem[] = "7 USER_NOT_ALLOWED";

TEST_CASE("A table of callers denies what it does not allow, by who says what") {
  const CallerFiles files;
  auto server = StartServer(files.settings());
  Callers callers(*server);
  CHECK(Told(callers.Like(Bearer(kFeed), 1)) == "OK");
  CHECK(Told(callers.Like(absl::StrCat("bearer  ", kFeed), 2)) == "OK");
  CHECK(Told(callers.Like("", 3)) == kWhoAreYou);
  for (const std::string& wrong :
       {std::string("Bearer "), std::string("Bearer x"), Bearer(kFeed) + "x", std::string(kFeed),
        absl::StrCat("Basic ", kFeed), std::string("Bearer feed")}) {
    CAPTURE(wrong);
    CHECK(Told(callers.Like(wrong, 4)) == kWhoAreYou);
  }
  CHECK(Told(callers.Unlike(Bearer(kKiosk), 1000)) == kNotThis);
  CHECK(Told(callers.Like(Bearer(kOps), 5)) == kNotThis);
  // Open to anyone, but who says something wrong is told so.
  CHECK(Told(callers.GetCount("")) == "OK");
  CHECK(Told(callers.GetCount("Bearer x")) == kWhoAreYou);
  CHECK(MetricOf(*server, "counter_calls_refused_total", {{"reason", "UNAUTHENTICATED"}}) == 8);
  CHECK(MetricOf(*server, "counter_calls_refused_total", {{"reason", "CALLER_NOT_ALLOWED"}}) == 2);
  // Nothing of what was refused was done: users 1 and 2 alone.
  CHECK(callers.WriteLikes(Bearer(kFeed), {1}).results(0).count() == 2);
}

TEST_CASE("A caller with a range of users acts for them and for nobody else") {
  const CallerFiles files;
  auto server = StartServer(files.settings());
  Callers callers(*server);
  for (const int64_t user : {1000, 1999}) CHECK(Told(callers.Like(Bearer(kKiosk), user)) == "OK");
  for (const int64_t user : {int64_t{-1}, int64_t{0}, int64_t{999}, int64_t{2000}, INT64_MAX}) {
    CAPTURE(user);
    CHECK(Told(callers.Like(Bearer(kKiosk), user)) == kNotForThem);
    CHECK(Told(callers.HasLiked(Bearer(kKiosk), user)) == kNotForThem);
    CHECK(Told(callers.ListLikes(Bearer(kKiosk), user)) == kNotForThem);
  }
  CHECK(Told(callers.HasLiked(Bearer(kKiosk), 1000)) == "OK");
  CHECK(Told(callers.ListLikes(Bearer(kKiosk), 1000)) == "OK");
  // It would tell of everybody.
  CHECK(Told(callers.ListLikers(Bearer(kKiosk))) == kNotForThem);
  // A mutation for somebody else is refused alone, in its place.
  const v1::WriteLikesResponse batch = callers.WriteLikes(Bearer(kKiosk), {5, 1001, 2000, 1002});
  REQUIRE(batch.results_size() == 4);
  for (const int refused : {0, 2}) {
    CHECK(batch.results(refused).outcome() == v1::OUTCOME_FAILED);
    CHECK(batch.results(refused).error().code() == grpc::PERMISSION_DENIED);
  }
  for (const int taken : {1, 3}) CHECK(batch.results(taken).outcome() == v1::OUTCOME_LIKED);
  CHECK(callers.WriteLikes(Bearer(kFeed), {1000}).results(0).count() == 4);
}

TEST_CASE("The same rules hold over REST and Connect") {
  const CallerFiles files;
  auto server = StartServer(files.settings());
  HttpClient http(server->http_port());
  const auto call = [&](const char* method, const char* target, const std::string& body,
                        const std::string& authorization) {
    HttpClient::Headers headers = {{"Content-Type", "application/json"}};
    if (!authorization.empty()) headers.emplace_back("Authorization", authorization);
    return http.Call(method, target, body, headers);
  };
  const std::string like = R"({"user_id":7,"item_id":1})";
  const auto nobody = call("POST", "/v1/like", like, "");
  CHECK(nobody.status == 401);
  CHECK(absl::StrContains(nobody.body, "\"UNAUTHENTICATED\""));
  CHECK(absl::StrContains(nobody.body, "not-applied"));
  CHECK_FALSE(nobody.Header("www-authenticate").empty());
  CHECK(call("POST", "/v1/like", like, "Bearer x").status == 401);
  CHECK(call("POST", "/v1/like", like, Bearer(kOps)).status == 403);
  CHECK(call("POST", "/v1/like", like, Bearer(kKiosk)).status == 403);
  CHECK(call("POST", "/v1/like", R"({"user_id":1001,"item_id":1})", Bearer(kKiosk)).status == 200);
  CHECK(call("POST", "/v1/like", like, Bearer(kFeed)).status == 200);
  CHECK(call("GET", "/v1/count?item_id=1", "", "").status == 200);
  CHECK(call("GET", "/v1/likes?user_id=7", "", Bearer(kKiosk)).status == 403);
  CHECK(call("GET", "/v1/has_liked?user_id=7&item_ids=1", "", Bearer(kKiosk)).status == 403);
  const auto batch = call("POST", "/v1/write_likes",
                          R"({"mutations":[{"user_id":7,"item_id":2,"action":"like"},)"
                          R"({"user_id":1001,"item_id":2,"action":"like"}]})",
                          Bearer(kKiosk));
  CHECK(batch.status == 200);
  CHECK(absl::StrContains(batch.body, "USER_NOT_ALLOWED"));
  CHECK(absl::StrContains(batch.body, "\"liked\""));

  const std::string message = R"({"userId":"8","item":{"itemType":"post","itemId":"1"}})";
  constexpr char kConnect[] = "/counter.v1.CounterService/Like";
  const auto stranger = call("POST", kConnect, message, "");
  CHECK(stranger.status == 401);
  CHECK(absl::StrContains(stranger.body, "\"unauthenticated\""));
  CHECK(call("POST", kConnect, message, Bearer(kOps)).status == 403);
  CHECK(call("POST", kConnect, message, Bearer(kKiosk)).status == 403);
  CHECK(call("POST", kConnect, message, Bearer(kFeed)).status == 200);

  // The live page names items: its events are for who may see them. Health is open.
  const auto refused = [&](const char* reason) {
    return MetricOf(*server, "counter_calls_refused_total", {{"reason", reason}});
  };
  const double strangers = refused("UNAUTHENTICATED");
  const double denied = refused("CALLER_NOT_ALLOWED");
  CHECK(call("GET", "/live", "", "").status == 401);
  CHECK(call("GET", "/live", "", Bearer(kFeed)).status == 403);
  CHECK(refused("UNAUTHENTICATED") == strangers + 1);
  CHECK(refused("CALLER_NOT_ALLOWED") == denied + 1);
  CHECK(call("GET", "/health", "", "").status == 200);
}

TEST_CASE("What is wrong with a mutation is named by its place, whoever others were refused for") {
  const CallerFiles files;
  auto server = StartServer(files.settings());
  // Users 5 and 2000 are not the kiosk's; posts 0 and -1 are nobody's.
  v1::WriteLikesRequest request;
  for (const auto& [user, post] : std::vector<std::pair<int64_t, int64_t>>{
           {5, 1}, {1001, 1}, {2000, 1}, {1002, 0}, {1003, -1}}) {
    v1::Mutation& mutation = *request.add_mutations();
    mutation.set_user_id(user);
    mutation.mutable_item()->set_item_type("post");
    mutation.mutable_item()->set_item_id(post);
    mutation.set_action(v1::ACTION_LIKE);
  }
  v1::WriteLikesResponse response;
  const auto stub = v1::CounterService::NewStub(ChannelTo(*server));
  REQUIRE(
      Call(*stub, &v1::CounterService::Stub::WriteLikes, Bearer(kKiosk), request, response).ok());
  REQUIRE(response.results_size() == 5);
  const auto details = [&](int i) { return response.results(i).error().ShortDebugString(); };
  CHECK(absl::StrContains(details(0), "USER_NOT_ALLOWED"));
  CHECK(response.results(1).outcome() == v1::OUTCOME_LIKED);
  CHECK(absl::StrContains(details(2), "USER_NOT_ALLOWED"));
  CHECK(absl::StrContains(details(3), "mutations[3].item.item_id"));
  CHECK(absl::StrContains(details(4), "mutations[4].item.item_id"));
  CHECK(response.results(1).count() == 1);

  HttpClient http(server->http_port());
  const auto answer =
      http.Call("POST", "/v1/write_likes",
                R"({"mutations":[{"user_id":5,"item_id":1,"action":"like"},)"
                R"({"user_id":1001,"item_id":0,"action":"like"}]})",
                {{"Content-Type", "application/json"}, {"Authorization", Bearer(kKiosk)}});
  CHECK(answer.status == 200);
  CHECK(absl::StrContains(answer.body, "USER_NOT_ALLOWED"));
  CHECK(absl::StrContains(answer.body, "mutations[1].item_id"));
}

TEST_CASE("Reflection obeys the table as any method, and health is open") {
  const CallerFiles files;
  auto server = StartServer(files.settings());
  const auto channel = ChannelTo(*server);
  using Reflection = grpc::reflection::v1::ServerReflection;
  const auto stub = Reflection::NewStub(channel);
  const auto reflect = [&](const char* token) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10) * Slowness()));
    if (token != nullptr) context.AddMetadata("authorization", Bearer(token));
    const auto stream = stub->ServerReflectionInfo(&context);
    grpc::reflection::v1::ServerReflectionRequest request;
    request.set_list_services("*");
    stream->Write(request);
    stream->WritesDone();
    grpc::reflection::v1::ServerReflectionResponse response;
    stream->Read(&response);
    return Told(stream->Finish());
  };
  CHECK(reflect(nullptr) == kWhoAreYou);
  CHECK(reflect(kFeed) == kNotThis);
  CHECK(reflect(kOps) == "OK");
  const auto health = client::HealthProbe(server->target()).Check("calls", absl::Seconds(10));
  REQUIRE(health.ok());
  CHECK(*health == client::Health::kServing);
}

TEST_CASE("A certificate says who calls; a token that comes with it goes before") {
  const CertificateAuthority authority("authority");
  ServerCertificates certificates(authority.Issue());
  certificates.ReplaceClientCa(authority.pem());
  const CallerFiles files;
  Settings settings = certificates.settings();
  for (const auto& [name, value] : files.settings()) settings[name] = value;
  auto server = StartServer(settings);
  const auto like = [&](const char* san, const std::string& token) {
    const KeyPair caller = authority.Issue(san);
    const auto liked = ConnectSecurely(*server, {.ca = authority.pem(),
                                                 .certificate = caller.certificate,
                                                 .key = caller.key,
                                                 .bearer_token = token})
                           .Like(1, Post(1));
    return liked.ok() ? std::string("OK") : liked.error().reason;
  };
  CHECK(like("DNS:other,URI:spiffe://example/feed", "") == "OK");
  CHECK(like("DNS:feed", "") == "CALLER_NOT_ALLOWED");
  CHECK(like("URI:spiffe://example/feed", kOps) == "CALLER_NOT_ALLOWED");
  CHECK(like("URI:spiffe://example/feed", "x") == "UNAUTHENTICATED");
  CHECK(like("DNS:other", kFeed) == "OK");

  const auto rest = [&](const char* san) {
    const KeyPair caller = authority.Issue(san);
    return AskSecurely(
        server->http_port(),
        {.ca = authority.pem(), .certificate = caller.certificate, .key = caller.key},
        "GET /v1/likes?user_id=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  };
  CHECK(absl::StartsWith(rest("URI:spiffe://example/feed"), "HTTP/1.1 200"));
  CHECK(absl::StartsWith(rest("DNS:other"), "HTTP/1.1 403"));
}

TEST_CASE("counterctl comes in with certificate and token, by options and by environment") {
  const CertificateAuthority authority("authority");
  ServerCertificates certificates(authority.Issue());
  certificates.ReplaceClientCa(authority.pem());
  const CallerFiles files;
  ReplaceFile(files.table(),
              absl::StrCat(kTable, "allow counter.admin.v1.AdminService/Audit ops\n"));
  Settings settings = certificates.settings();
  settings["ADMIN_LISTEN"] = "127.0.0.1:0";
  for (const auto& [name, value] : files.settings()) settings[name] = value;
  auto server = StartServer(settings);
  const TempDir folder;
  const KeyPair caller = authority.Issue("DNS:other");
  WriteFile(folder.File("ca"), authority.pem());
  WriteFile(folder.File("pem"), caller.certificate);
  WriteFile(folder.File("key"), caller.key);
  WriteFile(folder.File("token"), absl::StrCat(kFeed, "\n"));
  const std::string admin = absl::StrCat("127.0.0.1:", server->admin_port());
  std::vector<std::string> words = {"like", "1", "post:1"};
  const auto run = [&](const std::vector<std::string>& options, const Settings& environment) {
    Process::Options process;
    process.argv = {FromEnvironment("COUNTERCTL"), "--server", server->target(), "--deadline",
                    "10s"};
    process.argv.insert(process.argv.end(), options.begin(), options.end());
    process.argv.insert(process.argv.end(), words.begin(), words.end());
    process.env = Process::BaseEnv();
    for (const auto& [name, value] : environment) process.env[name] = value;
    auto started = Process::Start(process);
    REQUIRE(started.ok());
    const auto exit = started->Wait(absl::Seconds(30) * Slowness());
    REQUIRE(exit.has_value());
    return exit->code;
  };
  const std::vector<std::string> shown = {
      "--ca", folder.File("ca"), "--certificate", folder.File("pem"), "--key", folder.File("key")};
  std::vector<std::string> with_token = shown;
  with_token.insert(with_token.end(), {"--token-file", folder.File("token")});
  CHECK(run(with_token, {}) == 0);
  CHECK(run(shown, {{"COUNTER_TOKEN", kFeed}}) == 0);
  CHECK(run({}, {{"COUNTER_CA_FILE", folder.File("ca")},
                 {"COUNTER_CERTIFICATE_FILE", folder.File("pem")},
                 {"COUNTER_KEY_FILE", folder.File("key")},
                 {"COUNTER_TOKEN_FILE", folder.File("token")}}) == 0);
  CHECK(run(shown, {}) == 64 + grpc::PERMISSION_DENIED);
  CHECK(run(shown, {{"COUNTER_TOKEN", kOps}}) == 64 + grpc::PERMISSION_DENIED);
  CHECK(run(shown, {{"COUNTER_TOKEN", "x"}}) == 64 + grpc::UNAUTHENTICATED);
  // In plaintext no token is sent; nor is one that no header can hold.
  CHECK(run({"--token-file", folder.File("token")}, {}) == 64);
  CHECK(run(shown, {{"COUNTER_TOKEN", "a\nb"}}) == 64);
  CHECK(run({"--ca", folder.File("nothing")}, {}) == 64);

  // AdminService asks the same table.
  words = {"admin", "audit", "--admin-server", admin};
  CHECK(run(shown, {{"COUNTER_TOKEN", kOps}}) == 0);
  CHECK(run(shown, {{"COUNTER_TOKEN", kFeed}}) == 64 + grpc::PERMISSION_DENIED);
  words = {"admin", "erase-user", "1", "--yes", "--admin-server", admin};
  CHECK(run(shown, {{"COUNTER_TOKEN", kOps}}) == 64 + grpc::PERMISSION_DENIED);
}

TEST_CASE("Changed files count within seconds; a file with a fault changes nothing and is told") {
  const CallerFiles files;
  auto server = StartServer(files.settings());
  Callers callers(*server);
  const absl::Duration patience = absl::Seconds(20) * Slowness();
  const auto told = [&] {
    return MetricOf(*server, "counter_files_refused", {{"files", "callers"}});
  };
  REQUIRE(Told(callers.Like(Bearer(kOps), 1)) == kNotThis);
  ReplaceFile(files.table(), absl::StrCat(kTable, "allow counter.v1.CounterService/Like ops\n"));
  CHECK(Eventually(patience, [&] { return callers.Like(Bearer(kOps), 1).ok(); }));

  ReplaceFile(files.table(), "allow nothing to nobody\n");
  CHECK(Eventually(patience, [&] { return told() == 1; }));
  CHECK(Told(callers.Like(Bearer(kOps), 2)) == "OK");
  ReplaceFile(files.table(), kTable);
  CHECK(Eventually(patience, [&] { return told() == 0; }));
  CHECK(Told(callers.Like(Bearer(kOps), 2)) == kNotThis);

  // A token that is taken away is nobody's.
  ReplaceFile(files.tokens(), absl::StrCat("feed ", kFeed, "\n"));
  CHECK(Eventually(patience, [&] { return Told(callers.Like(Bearer(kOps), 2)) == kWhoAreYou; }));
  CHECK(Told(callers.Like(Bearer(kFeed), 2)) == "OK");
}

TEST_CASE("A server does not start with a table or tokens that have a fault, and names the line") {
  const CallerFiles files;
  const std::map<std::string, std::string> faults = {
      {files.table(), "caller feed\nallow counter.v1.CounterService/Lick feed\n"},
      {files.tokens(), "feed secret\n"}};
  for (const auto& [path, text] : faults) {
    const std::string before = ReadFile(path);
    ReplaceFile(path, text);
    CounterServer::Options options;
    options.env = files.settings();
    auto server = CounterServer::StartUnready(std::move(options));
    REQUIRE(server.ok());
    const auto exit = (*server)->WaitExit(absl::Seconds(5) * Slowness());
    const std::string log = (*server)->Log();
    CAPTURE(log);
    REQUIRE(exit.has_value());
    CHECK(exit->code != 0);
    CHECK(absl::StrContains(log, " line "));
    CHECK_FALSE(absl::StrContains(log, "secret"));
    ReplaceFile(path, before);
  }
}

TEST_CASE("A caller's own limit of calls is its own") {
  const CallerFiles files;
  ReplaceFile(files.table(),
              "caller feed calls 1\ncaller ops\ncaller kiosk\n"
              "allow counter.v1.CounterService/* feed ops\n");
  auto server = StartServer(files.settings());
  CHECK(MetricOf(*server, "counter_caller_calls_in_flight", {{"caller", "feed"}}) == 0);
  const auto channel = ChannelTo(*server);
  v1::CounterService::Stub stub(channel);
  // Many at once: more than one of them meets another.
  grpc::CompletionQueue queue;
  struct Pending {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::WriteLikesResponse>> reader;
    v1::WriteLikesResponse response;
    grpc::Status status;
  };
  v1::WriteLikesRequest request;
  for (int64_t user = 1; user <= 500; ++user) {
    v1::Mutation& mutation = *request.add_mutations();
    mutation.set_user_id(user);
    mutation.mutable_item()->set_item_type("post");
    mutation.mutable_item()->set_item_id(user);
    mutation.set_action(v1::ACTION_LIKE);
  }
  std::vector<Pending> pending(32);
  for (size_t i = 0; i < pending.size(); ++i) {
    Pending& one = pending[i];
    one.context.AddMetadata("authorization", Bearer(i % 2 == 0 ? kFeed : kOps));
    one.context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30) * Slowness()));
    one.reader = stub.AsyncWriteLikes(&one.context, request, &queue);
    one.reader->Finish(&one.response, &one.status, &one);
  }
  int refused_feed = 0;
  int refused_ops = 0;
  for (size_t i = 0; i < pending.size(); ++i) {
    void* tag = nullptr;
    bool ok = false;
    REQUIRE(queue.Next(&tag, &ok));
    auto* one = static_cast<Pending*>(tag);
    if (one->status.error_code() != grpc::RESOURCE_EXHAUSTED) continue;
    CHECK(absl::StrContains(one->status.error_details(), "caller:feed"));
    ++((one - pending.data()) % 2 == 0 ? refused_feed : refused_ops);
  }
  CHECK(refused_feed > 0);
  CHECK(refused_ops == 0);
  CHECK(MetricOf(*server, "counter_caller_calls_in_flight", {{"caller", "feed"}}) == 0);
}

// A watch of one post that stands until the object goes; Stands() says whether it was let in.
class CallersWatch {
 public:
  CallersWatch(v1::CounterService::Stub& stub, const std::string& token) {
    if (!token.empty()) context_.AddMetadata("authorization", Bearer(token.c_str()));
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    v1::WatchCountsRequest request;
    request.add_items()->set_item_id(1);
    request.mutable_items(0)->set_item_type("post");
    reader_ = stub.WatchCounts(&context_, request);
    v1::WatchCountsResponse snapshot;
    stands_ = reader_->Read(&snapshot);
    if (!stands_) status_ = reader_->Finish();
  }
  ~CallersWatch() {
    context_.TryCancel();
    if (stands_) reader_->Finish();
  }
  CallersWatch(const CallersWatch&) = delete;
  CallersWatch& operator=(const CallersWatch&) = delete;

  bool stands() const { return stands_; }
  const grpc::Status& status() const { return status_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchCountsResponse>> reader_;
  bool stands_ = false;
  grpc::Status status_;
};

TEST_CASE("A caller's watches are bounded, its own way or all callers', and take nobody's place") {
  const CallerFiles files;
  ReplaceFile(files.table(),
              "caller feed watches 3\ncaller ops\ncaller kiosk\n"
              "allow counter.v1.CounterService/WatchCounts anyone\n");
  Settings settings = files.settings();
  settings["CALLER_WATCHES_MAX"] = "2";
  auto server = StartServer(settings);
  v1::CounterService::Stub stub(ChannelTo(*server));
  std::vector<std::unique_ptr<CallersWatch>> watches;
  for (const auto& [token, name, most] : std::vector<std::tuple<std::string, std::string, int>>{
           {kFeed, "feed", 3}, {kOps, "ops", 2}, {"", "anyone", 2}}) {
    CAPTURE(name);
    for (int i = 0; i < most; ++i) {
      watches.push_back(std::make_unique<CallersWatch>(stub, token));
      CHECK(watches.back()->stands());
    }
    const CallersWatch refused(stub, token);
    CHECK(refused.status().error_code() == grpc::RESOURCE_EXHAUSTED);
    CHECK(absl::StrContains(refused.status().error_details(), "OVERLOADED"));
    CHECK(absl::StrContains(refused.status().error_details(), absl::StrCat("caller:", name)));
    CHECK(MetricOf(*server, "counter_caller_watches", {{"caller", name}}) == most);
  }
  watches.clear();
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
    return MetricOf(*server, "counter_caller_watches", {{"caller", "feed"}}) == 0;
  }));
  CHECK(CallersWatch(stub, kFeed).stands());
}

}  // namespace
}  // namespace counter::testing
