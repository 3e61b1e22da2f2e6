// Connections that no client makes: K07 of the fault list, and more of HTTP than are taken. What
// the floods of K08 do to the packaged gRPC is in SECURITY.md; nothing of ours bounds them yet.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/integration/fixture.h"
#include "tests/integration/secured_server.h"
#include "tests/support/certificates.h"
#include "tests/support/http_client.h"
#include "tests/support/raw_http2.h"
#include "tests/support/tcp.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

enum FrameType : uint8_t { kData = 0, kHeaders = 1, kContinuation = 9 };
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;

using Header = std::pair<std::string, std::string>;

// The headers of a call, with some of them odd.
std::string CallHeaders(const std::string& te = "trailers", const std::string& scheme = "http") {
  std::string block;
  for (const Header& header : std::vector<Header>{{":method", "POST"},
                                                  {":scheme", scheme},
                                                  {":path", "/counter.v1.CounterService/GetCount"},
                                                  {":authority", "x"},
                                                  {"te", te},
                                                  {"content-type", "application/grpc"}})
    absl::StrAppend(&block, Http2Header(header.first, header.second));
  return block;
}

// Of more than the 8 KiB that gRPC takes.
std::string LargeHeaders() {
  std::string block;
  for (int i = 0; i < 120; ++i)
    absl::StrAppend(&block, Http2Header(absl::StrCat("a", i), std::string(100, 'b')));
  return block;
}

// Sends `bytes` on a connection of its own and reads until the server says nothing more.
void Provoke(int port, const std::vector<std::string>& pieces) {
  absl::StatusOr<LoopbackConnection> connection =
      LoopbackConnection::Open(port, absl::Now() + absl::Milliseconds(200) * Slowness());
  REQUIRE(connection.ok());
  for (const std::string& piece : pieces) {
    if (!connection->Send(piece).ok()) return;
  }
  while (true) {
    const absl::StatusOr<std::string> received = connection->Receive();
    if (!received.ok() || received->empty()) return;
  }
}

TEST_CASE("K07: an odd header and more of them than are taken do not end the process") {
  auto server = StartServer();
  const pid_t pid = server->process().pid();
  const std::string large = LargeHeaders();
  const std::vector<std::string> odd = {
      CallHeaders("x"), CallHeaders("trailers", "xyz"),
      absl::StrCat(CallHeaders(), Http2Header("grpclb_client_stats", "x"))};
  for (const std::string& headers : odd) {
    const std::string all = headers + large;
    Provoke(server->grpc_port(),
            {Http2Preface(), Http2Frame(kHeaders, kEndStream | kEndHeaders, 1, all)});
    Provoke(server->grpc_port(), {Http2Preface(), Http2Frame(kHeaders, kEndStream, 1, headers),
                                  Http2Frame(kContinuation, 0, 1, large.substr(0, 6000)),
                                  Http2Frame(kContinuation, kEndHeaders, 1, large.substr(6000))});
    Provoke(server->grpc_port(),
            {Http2Preface(), Http2Frame(kHeaders, kEndStream | kEndHeaders, 1,
                                        headers + Http2Header("big", std::string(9000, 'z')))});
    CHECK(server->process().Running());
  }
  CHECK(server->process().pid() == pid);
  CHECK(ConnectTo(*server).Like(1, Post(1)).ok());
}

TEST_CASE("K07: where callers need certificates, the attempt dies in the handshake") {
  const CertificateAuthority authority("authority");
  ServerCertificates certificates(authority.Issue());
  certificates.ReplaceClientCa(authority.pem());
  auto server = StartServer(certificates.settings());
  // In plaintext, and over TLS without a certificate.
  Provoke(server->grpc_port(), {Http2Preface(), Http2Frame(kHeaders, kEndStream | kEndHeaders, 1,
                                                           CallHeaders("x") + LargeHeaders())});
  // A call that would be answered goes first.
  const std::string answer = AskSecurely(
      server->grpc_port(), {.ca = authority.pem()},
      absl::StrCat(
          Http2Preface(), Http2Frame(kHeaders, kEndHeaders, 1, CallHeaders()),
          Http2Frame(kData, kEndStream, 1, std::string(5, '\0')),
          Http2Frame(kHeaders, kEndStream | kEndHeaders, 3, CallHeaders("x") + LargeHeaders())));
  CHECK(answer.empty());
  CHECK(server->process().Running());
  CHECK(MetricOf(*server, "grpc_server_started_total", {{"grpc_method", "GetCount"}}) == 0);
}

TEST_CASE("Connections over HTTP_CONNECTIONS_MAX take the place of idle ones, and gRPC goes on") {
  auto server = StartServer({{"HTTP_CONNECTIONS_MAX", "8"}});
  std::vector<LoopbackConnection> idle;
  for (int i = 0; i < 50; ++i) {
    auto connection =
        LoopbackConnection::Open(server->http_port(), absl::Now() + absl::Seconds(30));
    REQUIRE(connection.ok());
    idle.push_back(*std::move(connection));
  }
  CHECK(HttpClient(server->http_port(), absl::Seconds(10)).Get("/health").status == 200);
  CHECK(MetricOf(*server, "counter_http_connections") <= 8);
  CHECK(ConnectTo(*server).Like(1, Post(1)).ok());
}

}  // namespace
}  // namespace counter::testing
