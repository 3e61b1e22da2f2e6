#include "tests/integration/secured_server.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "absl/strings/match.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr char kCertificate[] = "cert.pem";
constexpr char kKey[] = "key.pem";
constexpr char kClientCa[] = "client-ca.pem";

}  // namespace

void ServerCertificates::Replace(const KeyPair& pair) const {
  ReplaceFile(File(kCertificate), pair.certificate);
  ReplaceFile(File(kKey), pair.key);
}

void ServerCertificates::ReplaceClientCa(absl::string_view pem) {
  ReplaceFile(File(kClientCa), pem);
  has_client_ca_ = true;
}

Settings ServerCertificates::settings() const {
  Settings settings = {{"TLS_CERTIFICATE_FILE", File(kCertificate)}, {"TLS_KEY_FILE", File(kKey)}};
  if (has_client_ca_) settings["TLS_CLIENT_CA_FILE"] = File(kClientCa);
  return settings;
}

Client ConnectSecurely(const CounterServer& server, const client::TlsOptions& tls) {
  // New credentials are a connection of their own: gRPC shares those of equal ones only.
  return Client::Connect({.target = server.target(),
                          .deadline = absl::Seconds(10) * Slowness(),
                          .retries = false,
                          .wait_for_ready = false,
                          .credentials = client::MakeCredentials(tls)});
}

std::optional<client::ErrorKind> FailureOf(const CounterServer& server,
                                           const client::TlsOptions& tls) {
  const auto answer = ConnectSecurely(server, tls).Count(Post(1));
  return answer.ok() ? std::nullopt : std::optional(answer.error().kind);
}

std::string AskSecurely(int port, const client::TlsOptions& tls, absl::string_view request) {
  namespace asio = boost::asio;
  namespace ssl = boost::asio::ssl;
  boost::system::error_code error;
  ssl::context context(ssl::context::tls_client);
  context.set_verify_mode(ssl::verify_peer);
  context.add_certificate_authority(asio::buffer(tls.ca), error);
  if (!tls.certificate.empty()) {
    context.use_certificate_chain(asio::buffer(tls.certificate), error);
    context.use_private_key(asio::buffer(tls.key), ssl::context::pem, error);
  }
  asio::io_context loop;
  ssl::stream<asio::ip::tcp::socket> stream(loop, context);
  stream.next_layer().connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)},
                              error);
  // gRPC's servers speak to nobody who does not offer it.
  if (absl::StartsWith(request, "PRI ")) {
    constexpr unsigned char kHttp2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(stream.native_handle(), kHttp2, sizeof kHttp2);
  }
  if (!error) stream.handshake(ssl::stream_base::client, error);
  if (!error) asio::write(stream, asio::buffer(request.data(), request.size()), error);
  std::string answer;
  if (!error) asio::read(stream, asio::dynamic_buffer(answer), error);
  return answer;
}

}  // namespace counter::testing
