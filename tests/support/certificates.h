// CertificateAuthority: an authority of a test's own, and certificates that it signs.
//
// Keys are made by `openssl` in a temporary folder and end with the object; they are good for a
// day. For one thread.
#ifndef COUNTER_TESTS_SUPPORT_CERTIFICATES_H_
#define COUNTER_TESTS_SUPPORT_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {

// A certificate and its key, as PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

class CertificateAuthority {
 public:
  // Ends the process if `openssl` does not do it: no test can go on without.
  explicit CertificateAuthority(absl::string_view name);

  // The authority's own certificate, as PEM.
  const std::string& pem() const { return pem_; }

  // A certificate for `names`: "DNS:localhost,IP:127.0.0.1" or "URI:spiffe://example/feed".
  KeyPair Issue(absl::string_view names = "DNS:localhost,IP:127.0.0.1", int days = 1) const;

 private:
  TempDir folder_;
  std::string pem_;
};

// Runs `openssl` with `arguments` and no input; its exit code, -1 if it did not end in time.
int RunOpenssl(const std::vector<std::string>& arguments);

// Writes by a rename, as those who rotate certificates do.
void ReplaceFile(const std::string& path, absl::string_view text);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_CERTIFICATES_H_
