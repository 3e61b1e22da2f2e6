#include "tests/support/certificates.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "tests/support/process.h"

namespace counter::testing {
namespace {

void RequireOpenssl(const std::vector<std::string>& arguments) {
  if (RunOpenssl(arguments) == 0) return;
  std::fprintf(stderr, "openssl failed: %s\n", absl::StrJoin(arguments, " ").c_str());
  std::abort();
}

// What all requests for a certificate have in common.
std::vector<std::string> Request(const std::string& key, const std::string& certificate,
                                 absl::string_view name, int days) {
  return {"req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:P-256",
          "-nodes",
          "-keyout",
          key,
          "-out",
          certificate,
          "-days",
          absl::StrCat(days),
          "-subj",
          absl::StrCat("/CN=", name)};
}

}  // namespace

int RunOpenssl(const std::vector<std::string>& arguments) {
  Process::Options options;
  options.argv = {"openssl"};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.env = Process::BaseEnv();
  absl::StatusOr<Process> process = Process::Start(options);
  if (!process.ok()) return -1;
  const auto exit = process->Wait(absl::Seconds(30));
  return exit.has_value() ? exit->code : -1;
}

void ReplaceFile(const std::string& path, absl::string_view text) {
  const std::string fresh = path + ".new";
  WriteFile(fresh, text);
  std::filesystem::rename(fresh, path);
}

CertificateAuthority::CertificateAuthority(absl::string_view name) {
  RequireOpenssl(Request(folder_.File("ca.key"), folder_.File("ca.pem"), name, 1));
  pem_ = ReadFile(folder_.File("ca.pem"));
}

KeyPair CertificateAuthority::Issue(absl::string_view names, int days) const {
  const std::string key = folder_.File("issued.key");
  const std::string certificate = folder_.File("issued.pem");
  std::vector<std::string> arguments = Request(key, certificate, "issued", days);
  for (const std::string& argument :
       {std::string("-CA"), folder_.File("ca.pem"), std::string("-CAkey"), folder_.File("ca.key"),
        std::string("-addext"), absl::StrCat("subjectAltName=", names), std::string("-addext"),
        std::string("basicConstraints=critical,CA:FALSE")})
    arguments.push_back(argument);
  RequireOpenssl(arguments);
  return {ReadFile(certificate), ReadFile(key)};
}

}  // namespace counter::testing
