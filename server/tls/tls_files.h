// TlsFiles: the certificate, the key and the callers' authorities that the settings name, kept up
// to date with the files.
//
// Every listener that speaks TLS takes its identity from here, so that one rotation serves all. A
// pair that does not match is never served: at the start it is refused, later the former pair stays
// (Reloaded).
//
// Threads: Load() and Look() one at a time; the rest any.
#ifndef COUNTER_SERVER_TLS_TLS_FILES_H_
#define COUNTER_SERVER_TLS_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/tls_identity.h"
#include "server/files/reloaded.h"

namespace counter {

class TlsFiles {
 public:
  struct Paths {
    std::string certificate;
    std::string key;
    std::string client_ca;  // Empty: callers are not asked for certificates.
  };

  explicit TlsFiles(const Paths& paths);

  absl::Status Load() { return identity_.Load(); }
  void Look() { identity_.Look(); }

  // For listeners; borrows this. Requires that Load() was OK.
  TlsSource Source() const;

  // When the certificate that is served expires. Requires that Load() was OK.
  absl::Time expires() const { return identity_.current()->expires; }
  // Whether the files hold something that cannot be served.
  bool stale() const { return identity_.stale(); }

 private:
  struct Served {
    TlsIdentity identity;
    absl::Time expires;
  };

  Reloaded<Served> identity_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_TLS_TLS_FILES_H_
