// SecuredServer: the files and settings of a server that speaks TLS, and clients for it.
//
// For one thread.
#ifndef COUNTER_TESTS_INTEGRATION_SECURED_SERVER_H_
#define COUNTER_TESTS_INTEGRATION_SECURED_SERVER_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "clients/cpp/client.h"
#include "clients/cpp/credentials.h"
#include "clients/cpp/error.h"
#include "tests/integration/fixture.h"
#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {

// The certificate files of a server, as an operator keeps them.
class ServerCertificates {
 public:
  explicit ServerCertificates(const KeyPair& pair) { Replace(pair); }

  void Replace(const KeyPair& pair) const;
  // Who may sign the certificates of callers; makes it mTLS if it is there at the start.
  void ReplaceClientCa(absl::string_view pem);
  // Any other file beside them, by its path.
  std::string File(absl::string_view name) const { return folder_.File(name); }

  // What the server has to be told.
  Settings settings() const;

 private:
  TempDir folder_;
  bool has_client_ca_ = false;
};

// A client with a connection of its own that tries once and does not wait.
Client ConnectSecurely(const CounterServer& server, const client::TlsOptions& tls);

// What a call of a fresh client ends with; absent if it ended well.
std::optional<client::ErrorKind> FailureOf(const CounterServer& server,
                                           const client::TlsOptions& tls);

// What HTTP_LISTEN answers to `request` over TLS, whole: a status line, headers, body. Empty if it
// was not answered. `request` has to say `Connection: close`.
std::string AskSecurely(int port, const client::TlsOptions& tls, absl::string_view request);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_SECURED_SERVER_H_
