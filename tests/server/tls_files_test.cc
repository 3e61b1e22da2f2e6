#include "server/tls/tls_files.h"

#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/tls/identity_check.h"
#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {
namespace {

std::string FaultOf(const TlsIdentity& identity) {
  return std::string(CheckIdentity(identity).status().message());
}

TEST_CASE("A pair that matches can be served until its certificate expires") {
  const CertificateAuthority authority("authority");
  const KeyPair pair = authority.Issue("DNS:localhost", /*days=*/3);
  const auto expires = CheckIdentity({pair.certificate, pair.key, authority.pem()});
  INFO(expires.status().ToString());
  REQUIRE(expires.ok());
  CHECK(absl::AbsDuration(*expires - absl::Now() - absl::Hours(72)) < absl::Minutes(10));
  // Of a chain, the first to expire counts.
  const auto of_chain = CheckIdentity({pair.certificate + authority.pem(), pair.key, ""});
  REQUIRE(of_chain.ok());
  CHECK(*of_chain < *expires);
}

TEST_CASE("What does not match, or is no PEM, is refused by the name of what is wrong") {
  const CertificateAuthority authority("authority");
  const KeyPair pair = authority.Issue();
  const KeyPair other = authority.Issue();
  CHECK(absl::StrContains(FaultOf({pair.certificate, other.key, ""}), "does not belong"));
  CHECK(absl::StrContains(FaultOf({"", pair.key, ""}), "certificate file"));
  CHECK(absl::StrContains(FaultOf({"garbage", pair.key, ""}), "certificate file"));
  CHECK(absl::StrContains(FaultOf({pair.certificate, "", ""}), "key file"));
  CHECK(absl::StrContains(FaultOf({pair.certificate, pair.certificate, ""}), "key file"));
  const std::string cut = pair.key.substr(0, pair.key.size() / 2);
  CHECK(absl::StrContains(FaultOf({pair.certificate, cut, ""}), "key file"));
  CHECK(absl::StrContains(FaultOf({pair.certificate, pair.key, "garbage"}), "authorities"));
}

TEST_CASE("An encrypted key is refused, and no terminal is asked for its password") {
  const CertificateAuthority authority("authority");
  const KeyPair pair = authority.Issue();
  const TempDir folder;
  WriteFile(folder.File("plain"), pair.key);
  REQUIRE(RunOpenssl({"pkey", "-in", folder.File("plain"), "-aes256", "-passout", "pass:secret",
                      "-out", folder.File("locked")}) == 0);
  CHECK(absl::StrContains(FaultOf({pair.certificate, ReadFile(folder.File("locked")), ""}),
                          "without a password"));
}

TEST_CASE("A key too weak for OpenSSL's level is found before a handshake finds it") {
  const TempDir folder;
  REQUIRE(
      RunOpenssl({"req", "-x509", "-newkey", "rsa:1024", "-nodes", "-keyout", folder.File("key"),
                  "-out", folder.File("pem"), "-days", "1", "-subj", "/CN=weak"}) == 0);
  CHECK_FALSE(CheckIdentity({ReadFile(folder.File("pem")), ReadFile(folder.File("key")), ""}).ok());
}

// The files of a server, as an operator writes them.
class ServerFiles {
 public:
  explicit ServerFiles(const CertificateAuthority& authority) {
    Write(authority.Issue());
    ReplaceFile(paths_.client_ca, authority.pem());
  }

  void Write(const KeyPair& pair) const {
    ReplaceFile(paths_.certificate, pair.certificate);
    ReplaceFile(paths_.key, pair.key);
  }
  const TlsFiles::Paths& paths() const { return paths_; }

 private:
  TempDir folder_;
  TlsFiles::Paths paths_ = {folder_.File("cert.pem"), folder_.File("key.pem"),
                            folder_.File("ca.pem")};
};

TEST_CASE("Listeners get the same identity until the files change, and then the new one") {
  const CertificateAuthority authority("authority");
  const ServerFiles files(authority);
  TlsFiles tls(files.paths());
  REQUIRE(tls.Load().ok());
  const TlsSource source = tls.Source();
  const auto first = source();
  CHECK(source() == first);
  CHECK(first->client_ca == authority.pem());

  const KeyPair next = authority.Issue();
  files.Write(next);
  tls.Look();
  tls.Look();
  CHECK(source() != first);
  CHECK(source()->certificate == next.certificate);
}

TEST_CASE("An empty file of authorities does not turn the question for certificates off") {
  const CertificateAuthority authority("authority");
  const ServerFiles files(authority);
  TlsFiles tls(files.paths());
  REQUIRE(tls.Load().ok());
  ReplaceFile(files.paths().client_ca, "");
  tls.Look();
  tls.Look();
  CHECK(tls.stale());
  CHECK(tls.Source()()->client_ca == authority.pem());
}

}  // namespace
}  // namespace counter::testing
