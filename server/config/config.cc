#include "server/config/config.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace counter {

std::string ListenAddress::ToString() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

bool ListenAddress::IsLoopback() const {
  const bool is_ipv4 = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || (is_ipv4 && absl::StartsWith(host, "127."));
}

}  // namespace counter
