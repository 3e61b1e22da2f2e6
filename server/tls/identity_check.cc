#include "server/tls/identity_check.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace counter {
namespace {

template <class T, void (*free)(T*)>
struct Deleter {
  void operator()(T* object) const { free(object); }
};
void FreeBio(BIO* bio) { BIO_free(bio); }
using BioPtr = std::unique_ptr<BIO, Deleter<BIO, FreeBio>>;
using CertificatePtr = std::unique_ptr<X509, Deleter<X509, X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY, EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX, SSL_CTX_free>>;

// OpenSSL would ask the terminal for the password of an encrypted key.
int NoPassword(char* /*buffer*/, int /*size*/, int /*is_write*/, void* /*data*/) { return 0; }

BioPtr Open(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// OpenSSL's own word for what went wrong; it names algorithms and sizes, never contents.
std::string Reason() {
  const unsigned long code = ERR_peek_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "" : absl::StrCat(" (", reason, ")");
}

absl::Status Fault(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, Reason()));
}

std::vector<CertificatePtr> Certificates(const std::string& pem) {
  std::vector<CertificatePtr> certificates;
  const BioPtr bio = Open(pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // The end of the text shows as an error, too.
  if (ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) ERR_clear_error();
  return certificates;
}

absl::Time ExpiryOf(const X509& certificate) {
  std::tm time = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &time) != 1) return absl::InfinitePast();
  return absl::FromTM(time, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<absl::Time> CheckIdentity(const TlsIdentity& identity) {
  ERR_clear_error();
  const std::vector<CertificatePtr> chain = Certificates(identity.certificate);
  if (chain.empty()) return Fault("the certificate file holds no certificate in PEM");

  const BioPtr key_text = Open(identity.key);
  const KeyPtr key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Fault("the key file holds no private key in PEM without a password");

  const ContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return Fault("OpenSSL has no TLS");
  if (SSL_CTX_use_certificate(context.get(), chain[0].get()) != 1) {
    return Fault("the certificate cannot be served");
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) != 1) {
      return Fault(absl::StrCat("certificate ", i + 1, " of the chain cannot be served"));
    }
  }
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    return Fault("the key does not belong to the certificate");
  }
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    return Fault("the key cannot be served");
  }
  if (!identity.client_ca.empty() && Certificates(identity.client_ca).empty()) {
    return Fault("the file of the callers' authorities holds no certificate in PEM");
  }
  absl::Time expiry = absl::InfiniteFuture();
  for (const CertificatePtr& certificate : chain) {
    expiry = std::min(expiry, ExpiryOf(*certificate));
  }
  return expiry;
}

}  // namespace counter
