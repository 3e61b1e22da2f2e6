#include "server/config/service_url.h"

#include <algorithm>
#include <boost/url.hpp>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

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

// Where something stands in a URL; empty if it is not there.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
};

// User, password and hosts.
Stretch AuthorityIn(absl::string_view text) {
  const size_t scheme_end = text.find("://");
  if (scheme_end == absl::string_view::npos) return {};
  return {scheme_end + 3, std::min(text.find_first_of("/?#", scheme_end + 3), text.size())};
}

// Nothing else is parsed: Boost.URL 1.81 ends the program, by an assertion, on a scheme that
// neither a host nor a path follows ("a:?").
bool HasAuthority(absl::string_view text) {
  const size_t colon = text.find(':');
  return colon != absl::string_view::npos && absl::StartsWith(text.substr(colon), "://");
}

// By which @ the password ends, readers do not agree if there are several: Boost takes some such
// texts as a URL without a password, and would show it.
bool IsAmbiguous(absl::string_view text) {
  const Stretch authority = AuthorityIn(text);
  const absl::string_view all = text.substr(authority.begin, authority.end - authority.begin);
  return std::count(all.begin(), all.end(), '@') > 1;
}

Stretch HostsIn(absl::string_view text) {
  Stretch hosts = AuthorityIn(text);
  const size_t at = text.substr(0, hosts.end).rfind('@');
  if (at != absl::string_view::npos && at >= hosts.begin) hosts.begin = at + 1;
  return hosts;
}

// A URL that names several hosts, h1:1,h2:2, as one for each. No standard knows such a URL, so
// Boost takes them only one by one.
std::vector<std::string> OneHostEach(absl::string_view text) {
  const Stretch hosts = HostsIn(text);
  std::vector<std::string> urls;
  for (const absl::string_view host :
       absl::StrSplit(text.substr(hosts.begin, hosts.end - hosts.begin), ',')) {
    urls.push_back(absl::StrCat(text.substr(0, hosts.begin), host, text.substr(hosts.end)));
  }
  return urls;
}

bool HoldsSecret(absl::string_view key) {
  const std::string lower = absl::AsciiStrToLower(key);
  return absl::StrContains(lower, "pass") || absl::StrContains(lower, "secret") ||
         absl::StrContains(lower, "token");
}

// The query without its secrets. By hand: what Boost.URL 1.81 has for changing parameters ends the
// program on some queries.
std::string RedactQuery(const urls::url& url) {
  const urls::pct_string_view query = url.encoded_query();
  std::vector<std::string> params =
      absl::StrSplit(absl::string_view(query.data(), query.size()), '&');
  for (std::string& param : params) {
    const size_t equals = param.find('=');
    if (equals == std::string::npos) continue;
    const urls::pct_string_view key(param.data(), equals);
    if (HoldsSecret(std::string(key.decode()))) param.replace(equals + 1, std::string::npos, "***");
  }
  return absl::StrJoin(params, "&");
}

std::optional<std::string> ProblemWith(const std::string& text,
                                       const std::vector<absl::string_view>& schemes) {
  if (!HasAuthority(text)) return "it is no URL with a host (scheme://host)";
  const auto parsed = urls::parse_uri(ToBoost(text));
  if (!parsed.has_value() || IsAmbiguous(text)) {
    return "it is no URL (special characters in a password must be percent-encoded)";
  }
  const urls::url_view& url = *parsed;
  const absl::string_view scheme(url.scheme().data(), url.scheme().size());
  if (std::find(schemes.begin(), schemes.end(), scheme) == schemes.end()) {
    return "its scheme is another one";
  }
  if (url.host().empty()) return "it has no host";
  if (url.has_port() && url.port_number() == 0) return "its port is not a number from 1 to 65535";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> ParseServiceUrl(absl::string_view text,
                                           const std::vector<absl::string_view>& schemes,
                                           ServiceUrl& out) {
  std::string without_driver = WithoutDriver(text);
  for (const std::string& one : OneHostEach(without_driver)) {
    if (std::optional<std::string> problem = ProblemWith(one, schemes)) return problem;
  }
  out.text = std::move(without_driver);
  return std::nullopt;
}

std::string RedactUrl(absl::string_view text) {
  if (IsAmbiguous(text)) return "(hidden)";
  const std::vector<std::string> one_host_each = OneHostEach(text);
  const auto is_url = [](const std::string& one) {
    return HasAuthority(one) && urls::parse_uri(ToBoost(one)).has_value();
  };
  if (!std::all_of(one_host_each.begin(), one_host_each.end(), is_url)) return "(hidden)";
  urls::url url(*urls::parse_uri(ToBoost(one_host_each.front())));
  if (url.has_password()) url.set_password("***");
  if (url.has_query()) url.set_encoded_query(RedactQuery(url));
  std::string redacted(url.buffer().data(), url.buffer().size());
  // The others as they are: a host is no secret.
  for (size_t i = 1; i < one_host_each.size(); ++i) {
    const Stretch host = HostsIn(one_host_each[i]);
    redacted.insert(HostsIn(redacted).end,
                    absl::StrCat(",", one_host_each[i].substr(host.begin, host.end - host.begin)));
  }
  return redacted;
}

std::vector<absl::string_view> SplitUrls(absl::string_view text) {
  std::vector<absl::string_view> urls;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != ',' && text[at] != ' ') continue;
    // A comma ends a URL only if another one, or nothing, follows it.
    const absl::string_view rest = text.substr(at + 1);
    const absl::string_view next = rest.substr(0, rest.find_first_of(", "));
    if (text[at] == ',' && !next.empty() && !absl::StrContains(next, "://")) continue;
    if (at > begin) urls.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  if (begin < text.size()) urls.push_back(text.substr(begin));
  return urls;
}

std::string RedactUrls(absl::string_view text) {
  std::vector<std::string> shown;
  for (const absl::string_view url : SplitUrls(text)) {
    shown.push_back(RedactUrl(url));
    // A password may have been split.
    if (shown.back() == "(hidden)") return "(hidden)";
  }
  return shown.empty() ? "(hidden)" : absl::StrJoin(shown, ", ");
}

}  // namespace counter
