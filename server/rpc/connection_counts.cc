#include "server/rpc/connection_counts.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace counter::rpc {

ConnectionCounts::Verdict ConnectionCounts::Enter(const std::string& address) {
  if (connections_ >= limits_.connections_max) return Verdict::kTooMany;
  int& of_address = of_address_[address];
  const bool is_limited = limits_.address_connections_max > 0;
  if (is_limited && of_address >= limits_.address_connections_max) {
    return Verdict::kTooManyOfAddress;
  }
  ++of_address;
  ++connections_;
  return Verdict::kAdmitted;
}

void ConnectionCounts::Leave(const std::string& address) {
  const auto found = of_address_.find(address);
  if (--found->second == 0) of_address_.erase(found);
  --connections_;
}

std::string PartyOf(const sockaddr& peer) {
  if (peer.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    return std::string(reinterpret_cast<const char*>(&v4.sin_addr), 4);
  }
  if (peer.sa_family != AF_INET6) return "";
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
  const auto* bytes = reinterpret_cast<const char*>(&v6.sin6_addr);
  constexpr size_t kNetworkBytes = 8;
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return std::string(bytes + 12, 4);
  return std::string(bytes, kNetworkBytes);
}

}  // namespace counter::rpc
