#include "cache/redis/redis_url.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace counter::redis {
namespace {

constexpr int kDatabasesMax = 16'384;
constexpr uint16_t kDefaultPort = 6379;
constexpr size_t kHostsMax = 32;  // One that answers is enough: it names the others.

absl::Status Invalid(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; expected redis://[[user]:password@]host[:port][,host...][/database]"));
}

std::optional<std::string> PercentDecoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    int code = 0;
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2])) ||
        !absl::SimpleHexAtoi(text.substr(i + 1, 2), &code)) {
      return std::nullopt;
    }
    decoded += static_cast<char>(code);
    i += 2;
  }
  return decoded;
}

absl::Status ParseLogin(absl::string_view text, Login& login) {
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos) {
    return Invalid("the part before @ has no colon, so user and password cannot be told apart");
  }
  const auto user = PercentDecoded(text.substr(0, colon));
  const auto password = PercentDecoded(text.substr(colon + 1));
  if (!user || !password) return Invalid("user or password holds a % that begins no %XX");
  if (password->empty()) return Invalid("the password is empty");
  login.user = *user;
  login.password = *password;
  return absl::OkStatus();
}

absl::Status ParseHost(absl::string_view text, Node& node) {
  absl::string_view port;
  if (absl::ConsumePrefix(&text, "[")) {
    const size_t end = text.find(']');
    if (end == absl::string_view::npos) return Invalid("a bracket is not closed");
    port = text.substr(end + 1);
    text = text.substr(0, end);
    if (!port.empty() && !absl::ConsumePrefix(&port, ":"))
      return Invalid("the port is not a number");
  } else if (const size_t colon = text.rfind(':'); colon != absl::string_view::npos) {
    port = text.substr(colon + 1);
    text = text.substr(0, colon);
    if (port.empty()) return Invalid("the port is not a number");
  }
  if (text.empty()) return Invalid("the host is empty");
  node.host = std::string(text);
  if (port.empty()) return absl::OkStatus();
  int number = 0;
  if (!absl::SimpleAtoi(port, &number) || number < 1 || number > 65535) {
    return Invalid("the port is not a number from 1 to 65535");
  }
  node.port = static_cast<uint16_t>(number);
  return absl::OkStatus();
}

absl::Status ParseHosts(absl::string_view text, Address& address) {
  const std::vector<absl::string_view> hosts = absl::StrSplit(text, ',');
  if (hosts.size() > kHostsMax) return Invalid(absl::StrCat("more than ", kHostsMax, " hosts"));
  for (size_t i = 0; i < hosts.size(); ++i) {
    Node node = {"", kDefaultPort};
    absl::Status parsed = ParseHost(hosts[i], node);
    if (!parsed.ok()) return parsed;
    if (i > 0) {
      address.others.push_back(std::move(node));
      continue;
    }
    address.host = std::move(node.host);
    address.port = node.port;
  }
  if (address.others.empty() || address.login.database == 0) return absl::OkStatus();
  return Invalid("several hosts are a cluster, which has no database but 0");
}

}  // namespace

absl::StatusOr<Address> ParseRedisUrl(absl::string_view url) {
  Address address;
  if (absl::ConsumePrefix(&url, "rediss://")) {
    address.tls = true;
  } else if (!absl::ConsumePrefix(&url, "redis://")) {
    return Invalid("the URL begins with neither redis:// nor rediss://");
  }
  // The last @: a password may hold one.
  const size_t at = url.rfind('@');
  if (at != absl::string_view::npos) {
    absl::Status login = ParseLogin(url.substr(0, at), address.login);
    if (!login.ok()) return login;
    url.remove_prefix(at + 1);
  }
  const size_t slash = url.find('/');
  if (slash != absl::string_view::npos) {
    const absl::string_view database = url.substr(slash + 1);
    if (!database.empty() &&
        (!absl::SimpleAtoi(database, &address.login.database) || address.login.database < 0 ||
         address.login.database >= kDatabasesMax)) {
      return Invalid("the database is not a number from 0 to 16383");
    }
    url = url.substr(0, slash);
  }
  absl::Status hosts = ParseHosts(url, address);
  if (!hosts.ok()) return hosts;
  return address;
}

}  // namespace counter::redis
