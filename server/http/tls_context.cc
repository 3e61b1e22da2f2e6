#include "server/http/tls_context.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/buffer.hpp>

namespace counter::http {
namespace {

namespace ssl = boost::asio::ssl;
using Error = boost::system::error_code;

std::unique_ptr<ssl::context> MakeContext(const TlsIdentity& identity) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(native, 0);
  Error error;
  context->use_certificate_chain(boost::asio::buffer(identity.certificate), error);
  if (!error) context->use_private_key(boost::asio::buffer(identity.key), ssl::context::pem, error);
  if (!error && !identity.client_ca.empty()) {
    context->add_certificate_authority(boost::asio::buffer(identity.client_ca), error);
    if (!error) {
      context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
    }
  }
  if (error) return nullptr;
  return context;
}

std::string TextOf(const ASN1_IA5STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

}  // namespace

ssl::context* TlsContext::Current() {
  std::shared_ptr<const TlsIdentity> identity = source_();
  if (identity != identity_) {
    std::unique_ptr<ssl::context> fresh = MakeContext(*identity);
    if (fresh != nullptr) context_ = std::move(fresh);
    identity_ = std::move(identity);
  }
  return context_.get();
}

std::vector<std::string> PeerNamesOf(SSL* connection) {
  std::vector<std::string> names;
  X509* const certificate = SSL_get1_peer_certificate(connection);
  if (certificate == nullptr) return names;
  auto* const alternatives = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (const int type : {GEN_URI, GEN_DNS}) {
    for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
      const GENERAL_NAME* const name = sk_GENERAL_NAME_value(alternatives, i);
      if (name->type == type) names.push_back(TextOf(name->d.ia5));
    }
  }
  GENERAL_NAMES_free(alternatives);
  X509_free(certificate);
  return names;
}

}  // namespace counter::http
