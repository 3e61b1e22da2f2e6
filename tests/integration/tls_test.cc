// TLS on the gRPC listener: K09 (its TLS part) and K10 of the fault list.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "tests/integration/fixture.h"
#include "tests/integration/secured_server.h"
#include "tests/support/certificates.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using client::ErrorKind;
using client::TlsOptions;

absl::Duration Patience() { return absl::Seconds(20) * Slowness(); }

// Ends with an error, and says so for a message.
std::string Named(std::optional<ErrorKind> failure) {
  return failure.has_value() ? client::ErrorKindName(*failure) : "OK";
}

TlsOptions As(const CertificateAuthority& servers, const KeyPair& caller) {
  return {.ca = servers.pem(), .certificate = caller.certificate, .key = caller.key};
}

double Refused(const CounterServer& server) {
  return MetricOf(server, "counter_files_refused", {{"files", "tls"}});
}

TEST_CASE("A call over TLS is answered to who trusts the server's authority, and to nobody else") {
  const CertificateAuthority authority("authority");
  const CertificateAuthority stranger("stranger");
  const ServerCertificates certificates(authority.Issue());
  auto server = StartServer(certificates.settings());
  const auto liked = ConnectSecurely(*server, {.ca = authority.pem()}).Like(1, Post(1));
  REQUIRE(liked.ok());
  CHECK(liked->count == 1);
  CHECK(Named(FailureOf(*server, {.ca = stranger.pem()})) == "UNAVAILABLE");
  StopServer(*server);
}

TEST_CASE("K09: a plaintext client on the TLS port fails within 2 s, and logs cannot be flooded") {
  const CertificateAuthority authority("authority");
  const ServerCertificates certificates(authority.Issue());
  auto server = StartServer(certificates.settings());
  const size_t log_before = server->Log().size();
  constexpr int kAttempts = 30;
  for (int i = 0; i < kAttempts; ++i) {
    const Client plain = Client::Connect({.target = server->target(),
                                          .deadline = absl::Seconds(2) * Slowness(),
                                          .retries = false,
                                          .wait_for_ready = false,
                                          .user_agent = absl::StrCat("attempt", i)});
    const auto answer = plain.Count(Post(1));
    REQUIRE_FALSE(answer.ok());
    CHECK(answer.error().kind == ErrorKind::kUnavailable);
  }
  // Of gRPC's two lines or more an attempt, one a second is let through.
  CHECK(server->Log().size() - log_before < 5'000);
  CHECK(!FailureOf(*server, {.ca = authority.pem()}).has_value());
}

TEST_CASE("TLS 1.2 and 1.3 are spoken, 1.1 is not") {
  const CertificateAuthority authority("authority");
  const ServerCertificates certificates(authority.Issue());
  auto server = StartServer(certificates.settings());
  const auto connects = [&](const char* version) {
    return RunOpenssl({"s_client", "-connect", server->target(), "-alpn", "h2", "-cipher",
                       "DEFAULT@SECLEVEL=0", version}) == 0;
  };
  CHECK(connects("-tls1_3"));
  CHECK(connects("-tls1_2"));
  CHECK_FALSE(connects("-tls1_1"));
}

TEST_CASE("Where callers must have certificates, no certificate or a stranger's gets no answer") {
  const CertificateAuthority servers("servers");
  const CertificateAuthority callers("callers");
  const CertificateAuthority strangers("strangers");
  ServerCertificates certificates(servers.Issue());
  certificates.ReplaceClientCa(callers.pem());
  auto server = StartServer(certificates.settings());
  CHECK(Named(FailureOf(*server, As(servers, callers.Issue("DNS:feed")))) == "OK");
  CHECK(Named(FailureOf(*server, {.ca = servers.pem()})) == "UNAVAILABLE");
  CHECK(Named(FailureOf(*server, As(servers, strangers.Issue("DNS:feed")))) == "UNAVAILABLE");
  // One who could have asked for a page in plaintext is not let in by it either.
  CHECK(MetricOf(*server, "grpc_server_started_total", {{"grpc_method", "GetCount"}}) == 1);
}

TEST_CASE("K10: a rotated certificate is served to new connections, and no call fails") {
  const CertificateAuthority old_authority("old");
  const CertificateAuthority new_authority("new");
  const ServerCertificates certificates(old_authority.Issue());
  auto server = StartServer(certificates.settings());
  std::atomic<bool> done = false;
  std::atomic<int> calls = 0;
  std::atomic<int> failed = 0;
  std::jthread caller([&] {
    // Trusts both meanwhile; one connection that stays, and fresh ones.
    const TlsOptions both = {.ca = old_authority.pem() + new_authority.pem()};
    const Client standing = ConnectSecurely(*server, both);
    for (int64_t user = 1; !done; ++user) {
      const Client fresh = ConnectSecurely(*server, both);
      if (!standing.Like(user, Post(1)).ok()) ++failed;
      if (!fresh.Like(user, Post(2)).ok()) ++failed;
      calls += 2;
    }
  });
  REQUIRE(Named(FailureOf(*server, {.ca = new_authority.pem()})) == "UNAVAILABLE");
  certificates.Replace(new_authority.Issue());
  CHECK(Eventually(Patience(),
                   [&] { return !FailureOf(*server, {.ca = new_authority.pem()}).has_value(); }));
  CHECK(Named(FailureOf(*server, {.ca = old_authority.pem()})) == "UNAVAILABLE");
  done = true;
  caller.join();
  CHECK(calls > 0);
  CHECK(failed == 0);
}

TEST_CASE("K10: a pair that cannot be served leaves the former one in use, and a metric says so") {
  const CertificateAuthority authority("authority");
  const ServerCertificates certificates(authority.Issue());
  auto server = StartServer(certificates.settings());
  const TlsOptions trusting = {.ca = authority.pem()};
  REQUIRE(Refused(*server) == 0);
  const KeyPair one = authority.Issue();
  const KeyPair other = authority.Issue();
  const std::vector<KeyPair> unusable = {
      {one.certificate, other.key}, {"garbage", "garbage"}, {"", ""}};
  for (size_t i = 0; i < Sized<size_t>(1, unusable.size()); ++i) {
    certificates.Replace(unusable[i]);
    CHECK(Eventually(Patience(), [&] { return Refused(*server) == 1; }));
    CHECK(Named(FailureOf(*server, trusting)) == "OK");
    certificates.Replace(one);
    CHECK(Eventually(Patience(), [&] { return Refused(*server) == 0; }));
  }
  CHECK(Named(FailureOf(*server, trusting)) == "OK");
}

TEST_CASE("K10: an authority that is taken away is not believed at the next handshake") {
  const CertificateAuthority servers("servers");
  const CertificateAuthority old_callers("old");
  const CertificateAuthority new_callers("new");
  ServerCertificates certificates(servers.Issue());
  certificates.ReplaceClientCa(old_callers.pem() + new_callers.pem());
  auto server = StartServer(certificates.settings());
  const TlsOptions former = As(servers, old_callers.Issue("DNS:feed"));
  const TlsOptions current = As(servers, new_callers.Issue("DNS:feed"));
  REQUIRE(Named(FailureOf(*server, former)) == "OK");
  certificates.ReplaceClientCa(new_callers.pem());
  CHECK(Eventually(Patience(), [&] { return FailureOf(*server, former).has_value(); }));
  CHECK(Named(FailureOf(*server, former)) == "UNAVAILABLE");
  CHECK(Named(FailureOf(*server, current)) == "OK");
}

TEST_CASE("The metrics say when the certificate that is served expires") {
  const CertificateAuthority authority("authority");
  const ServerCertificates certificates(authority.Issue("DNS:localhost", /*days=*/2));
  auto server = StartServer(certificates.settings());
  const auto days_left = [&] {
    return absl::ToDoubleHours(absl::FromUnixSeconds(static_cast<int64_t>(MetricOf(
                                   *server, "counter_tls_certificate_expiry_timestamp_seconds"))) -
                               absl::Now()) /
           24;
  };
  CHECK(days_left() == Approx(2).margin(0.1));
  certificates.Replace(authority.Issue("DNS:localhost", /*days=*/7));
  CHECK(Eventually(Patience(), [&] { return days_left() > 6; }));
}

TEST_CASE("REST is HTTPS where there is TLS, and asks callers for certificates where gRPC does") {
  const CertificateAuthority authority("authority");
  const CertificateAuthority strangers("strangers");
  const bool asks_callers = GENERATE(false, true);
  CAPTURE(asks_callers);
  ServerCertificates certificates(authority.Issue());
  if (asks_callers) certificates.ReplaceClientCa(authority.pem());
  auto server = StartServer(certificates.settings());
  const std::string health = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const auto ask = [&](const TlsOptions& tls) {
    return AskSecurely(server->http_port(), tls, health);
  };
  CHECK(absl::StartsWith(ask(As(authority, authority.Issue("DNS:feed"))), "HTTP/1.1 200"));
  CHECK(absl::StartsWith(ask({.ca = authority.pem()}), "HTTP/1.1 200") == !asks_callers);
  CHECK(ask({.ca = strangers.pem()}).empty());
  if (asks_callers) CHECK(ask(As(authority, strangers.Issue("DNS:feed"))).empty());
  // In plaintext there is nothing to be had.
  CHECK(HttpClient(server->http_port(), absl::Seconds(5)).Get("/health").status == 0);

  const CertificateAuthority next("next");
  REQUIRE(ask(As(next, authority.Issue("DNS:feed"))).empty());
  certificates.Replace(next.Issue());
  CHECK(Eventually(Patience(), [&] {
    return absl::StartsWith(ask(As(next, authority.Issue("DNS:feed"))), "HTTP/1.1 200");
  }));
  StopServer(*server);
}

TEST_CASE("A TLS connection that says nothing holds up no drain") {
  const CertificateAuthority authority("authority");
  const ServerCertificates certificates(authority.Issue());
  auto server = StartServer(certificates.settings());
  HttpClient grpc(server->grpc_port());
  HttpClient http(server->http_port());
  REQUIRE(grpc.SendRaw("\x16\x03\x01"));
  REQUIRE(http.SendRaw("\x16\x03\x01"));
  StopServer(*server);
}

// Fails the case unless a server with these settings gives up and says all of `words`.
void RequireRefusal(const Settings& settings, const std::vector<std::string>& words) {
  CounterServer::Options options;
  options.env = settings;
  absl::StatusOr<std::unique_ptr<CounterServer>> server =
      CounterServer::StartUnready(std::move(options));
  REQUIRE(server.ok());
  const auto exit = (*server)->WaitExit(absl::Seconds(5) * Slowness());
  const std::string log = (*server)->Log();
  CAPTURE(log);
  REQUIRE(exit.has_value());
  CHECK(exit->signal == 0);
  CHECK(exit->code != 0);
  // A refusal is for people to read, so here the text counts.
  for (const std::string& word : words) CHECK(absl::StrContains(log, word));
}

TEST_CASE("A server does not start with certificates that it could not serve") {
  const CertificateAuthority authority("authority");
  const KeyPair pair = authority.Issue();
  const ServerCertificates certificates({pair.certificate, authority.Issue().key});
  RequireRefusal(certificates.settings(), {"does not belong"});
  Settings gone = certificates.settings();
  gone["TLS_KEY_FILE"] = certificates.File("nothing");
  RequireRefusal(gone, {certificates.File("nothing")});
  RequireRefusal({{"TLS_KEY_FILE", gone["TLS_CERTIFICATE_FILE"]}}, {"TLS_CERTIFICATE_FILE"});
  RequireRefusal({{"TLS_CLIENT_CA_FILE", gone["TLS_CERTIFICATE_FILE"]}}, {"TLS_CLIENT_CA_FILE"});
}

TEST_CASE("A listener without TLS that others can reach needs a word of the operator") {
  for (const char* name : {"GRPC_LISTEN", "HTTP_LISTEN", "METRICS_LISTEN"}) {
    CAPTURE(name);
    RequireRefusal({{name, "0.0.0.0:0"}}, {name, "ALLOW_PLAINTEXT"});
    RequireRefusal({{name, "0.0.0.0:0"}, {"ALLOW_PLAINTEXT", "nobody"}}, {"ALLOW_PLAINTEXT"});
    auto server = StartServer({{name, "0.0.0.0:0"}, {"ALLOW_PLAINTEXT", "grpc,http,metrics"}});
    CHECK(ConnectTo(*server).Like(1, Post(1)).ok());
  }
}

TEST_CASE("K09: reflection lists the services over TLS and to callers with certificates") {
  const CertificateAuthority authority("authority");
  const bool asks_callers = GENERATE(false, true);
  CAPTURE(asks_callers);
  ServerCertificates certificates(authority.Issue());
  if (asks_callers) certificates.ReplaceClientCa(authority.pem());
  auto server = StartServer(certificates.settings());
  const KeyPair caller = authority.Issue("DNS:ops");
  const auto channel = grpc::CreateChannel(
      server->target(), grpc::SslCredentials({authority.pem(), caller.key, caller.certificate}));
  using Reflection = grpc::reflection::v1::ServerReflection;
  const auto stub = Reflection::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + Patience()));
  const auto stream = stub->ServerReflectionInfo(&context);
  grpc::reflection::v1::ServerReflectionRequest request;
  request.set_list_services("*");
  grpc::reflection::v1::ServerReflectionResponse response;
  REQUIRE(stream->Write(request));
  REQUIRE(stream->Read(&response));
  CHECK(absl::StrContains(response.ShortDebugString(), "counter.v1.CounterService"));
  stream->WritesDone();
  CHECK(stream->Finish().ok());
}

}  // namespace
}  // namespace counter::testing
