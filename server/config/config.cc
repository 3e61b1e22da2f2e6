#include "server/config/config.h"

#include "absl/strings/str_cat.h"

namespace counter {

std::string ListenAddress::ToString() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

}  // namespace counter
