// ConnectionCounts: how many connections there are, in all and from each address, and whether one
// more gets in.
//
// Use it where connections are accepted (listener.h). It knows no sockets. An address is what one
// party can be expected to own: an IPv4 address, or the first 64 bits of an IPv6 address.
//
// Threads: one at a time. Ownership: values only.
#ifndef COUNTER_SERVER_RPC_CONNECTION_COUNTS_H_
#define COUNTER_SERVER_RPC_CONNECTION_COUNTS_H_

#include <string>

#include "absl/container/flat_hash_map.h"

struct sockaddr;

namespace counter::rpc {

class ConnectionCounts {
 public:
  struct Limits {
    int connections_max = 10'000;
    // 0: no limit of its own. Behind a proxy all connections come from one address.
    int address_connections_max = 0;
  };
  enum class Verdict { kAdmitted, kTooMany, kTooManyOfAddress };

  explicit ConnectionCounts(const Limits& limits) : limits_(limits) {}

  // Counts the connection if there is room for it.
  Verdict Enter(const std::string& address);
  // Requires that a connection of that address was admitted and has not left.
  void Leave(const std::string& address);

  int connections() const { return connections_; }

 private:
  const Limits limits_;
  int connections_ = 0;
  absl::flat_hash_map<std::string, int> of_address_;  // Only those that have some.
};

// By what the limits know a peer: 4 bytes for IPv4, also where it is written as IPv6, and 8 for
// IPv6. Empty for anything else, which is one address to the limits.
std::string PartyOf(const sockaddr& peer);

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_CONNECTION_COUNTS_H_
