// TlsContext: the identity that the listener shows to new connections over TLS, as Asio wants it.
//
// Made anew when the source has another identity: connections that are open keep theirs. TLS is 1.2
// or 1.3; there is no resumption, so that an authority that is taken away counts at once. For the
// server's thread.
#ifndef COUNTER_SERVER_HTTP_TLS_CONTEXT_H_
#define COUNTER_SERVER_HTTP_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/tls_identity.h"

namespace counter::http {

class TlsContext {
 public:
  // A null source is plaintext.
  explicit TlsContext(TlsSource source) : source_(std::move(source)) {}

  bool is_on() const { return source_ != nullptr; }
  // Requires is_on(). Null if OpenSSL takes the identity not, which who made it has ruled out.
  boost::asio::ssl::context* Current();

 private:
  const TlsSource source_;
  std::shared_ptr<const TlsIdentity> identity_;
  std::unique_ptr<boost::asio::ssl::context> context_;
};

// The names in the verified certificate of the other side: URIs, then those of DNS.
std::vector<std::string> PeerNamesOf(SSL* connection);

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_TLS_CONTEXT_H_
