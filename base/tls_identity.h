// TlsIdentity: what a listener that speaks TLS shows to those who connect, and whom it trusts.
//
// A value, contents of PEM files. It holds a private key: never print it. Who makes it has checked
// that key and certificate belong together (server/tls); listeners ask a TlsSource anew for each
// connection, so that a rotated certificate needs no restart.
#ifndef COUNTER_BASE_TLS_IDENTITY_H_
#define COUNTER_BASE_TLS_IDENTITY_H_

#include <functional>
#include <memory>
#include <string>

namespace counter {

struct TlsIdentity {
  std::string certificate;  // The server's own first, then those that signed it.
  std::string key;
  std::string client_ca;  // Who may sign the certificates of callers. Empty: nobody is asked.
};

// The identity that counts now; the same pointer until it changes. Never null. Any thread.
using TlsSource = std::function<std::shared_ptr<const TlsIdentity>()>;

}  // namespace counter

#endif  // COUNTER_BASE_TLS_IDENTITY_H_
