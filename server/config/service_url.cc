#include "server/config/service_url.h"

#include <algorithm>
#include <boost/url.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace counter {
namespace {

namespace urls = boost::urls;

urls::string_view ToBoost(absl::string_view text) { return {text.data(), text.size()}; }

// A driver suffix belongs to other people's tools: postgresql+asyncpg://.
std::string WithoutDriver(absl::string_view text) {
  const size_t scheme_end = text.find("://");
  const size_t plus = text.find('+');
  if (plus == absl::string_view::npos || plus > scheme_end) return std::string(text);
  return absl::StrCat(text.substr(0, plus), text.substr(scheme_end));
}

bool HoldsSecret(absl::string_view key) {
  const std::string lower = absl::AsciiStrToLower(key);
  return absl::StrContains(lower, "pass") || absl::StrContains(lower, "secret") ||
         absl::StrContains(lower, "token");
}

}  // namespace

std::optional<std::string> ParseServiceUrl(absl::string_view text,
                                           const std::vector<absl::string_view>& schemes,
                                           ServiceUrl& out) {
  std::string without_driver = WithoutDriver(text);
  const auto parsed = urls::parse_uri(ToBoost(without_driver));
  if (!parsed.has_value()) {
    return "it is no URL (special characters in a password must be percent-encoded)";
  }
  const urls::url_view url = *parsed;
  const absl::string_view scheme(url.scheme().data(), url.scheme().size());
  if (std::find(schemes.begin(), schemes.end(), scheme) == schemes.end()) {
    return "its scheme is another one";
  }
  if (!url.has_authority() || url.host().empty()) return "it has no host";
  if (url.has_port() && url.port_number() == 0) return "its port is not a number from 1 to 65535";
  out.text = std::move(without_driver);
  return std::nullopt;
}

std::string RedactUrl(absl::string_view text) {
  const auto parsed = urls::parse_uri(ToBoost(text));
  if (!parsed.has_value() || !parsed->has_authority()) return "(hidden)";
  urls::url url(*parsed);
  if (url.has_password()) url.set_password("***");
  urls::params_ref params = url.params();
  for (auto param = params.begin(); param != params.end(); ++param) {
    const std::string key((*param).key);
    if (HoldsSecret(key)) param = params.set(param, "***");
  }
  return std::string(url.buffer().data(), url.buffer().size());
}

}  // namespace counter
