#include "clients/cli/channel_security.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/credentials.h"

namespace counter::cli {
namespace {

// Reads `path` into `text`, if there is one. The fault, or empty.
std::string ReadInto(const std::string& path, std::string& text) {
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return file.bad() || text.empty() ? absl::StrCat("cannot read ", path, ", or it is empty") : "";
}

}  // namespace

std::string MakeChannelCredentials(const ChannelSecurity& security,
                                   std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  client::TlsOptions options;
  const char* token = std::getenv(kTokenVariable);
  if (token != nullptr) options.bearer_token = token;
  for (const std::string& fault : {ReadInto(security.ca_file, options.ca),
                                   ReadInto(security.certificate_file, options.certificate),
                                   ReadInto(security.key_file, options.key),
                                   ReadInto(security.token_file, options.bearer_token)}) {
    if (!fault.empty()) return fault;
  }
  options.bearer_token = std::string(absl::StripAsciiWhitespace(options.bearer_token));
  if (options.certificate.empty() != options.key.empty())
    return "a certificate needs its key, and a key its certificate";
  const bool tls = security.tls || !options.ca.empty() || !options.certificate.empty();
  if (!tls && !options.bearer_token.empty())
    return "a token is sent over TLS only: add --tls, or --ca FILE";
  // gRPC ends the process on a header that it cannot send.
  for (const char c : options.bearer_token) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c)))
      return "a token has visible ASCII characters only";
  }
  if (tls) credentials = client::MakeCredentials(options);
  return "";
}

}  // namespace counter::cli
