#include "server/rpc/connection_counts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

namespace counter::rpc {
namespace {

using Verdict = ConnectionCounts::Verdict;

std::string PartyOfText(int family, const char* text) {
  sockaddr_storage storage = {};
  storage.ss_family = static_cast<sa_family_t>(family);
  void* place = family == AF_INET
                    ? static_cast<void*>(&reinterpret_cast<sockaddr_in&>(storage).sin_addr)
                    : static_cast<void*>(&reinterpret_cast<sockaddr_in6&>(storage).sin6_addr);
  REQUIRE(inet_pton(family, text, place) == 1);
  return PartyOf(reinterpret_cast<const sockaddr&>(storage));
}

TEST_CASE("connections get in up to the limit, and again when one has left") {
  ConnectionCounts counts({.connections_max = 2});
  CHECK(counts.Enter("a") == Verdict::kAdmitted);
  CHECK(counts.Enter("b") == Verdict::kAdmitted);
  CHECK(counts.Enter("c") == Verdict::kTooMany);
  CHECK(counts.connections() == 2);
  counts.Leave("a");
  CHECK(counts.Enter("c") == Verdict::kAdmitted);
}

TEST_CASE("an address that has all its connections leaves the room of others alone") {
  ConnectionCounts counts({.connections_max = 10, .address_connections_max = 2});
  CHECK(counts.Enter("a") == Verdict::kAdmitted);
  CHECK(counts.Enter("a") == Verdict::kAdmitted);
  CHECK(counts.Enter("a") == Verdict::kTooManyOfAddress);
  CHECK(counts.connections() == 2);
  CHECK(counts.Enter("b") == Verdict::kAdmitted);
  counts.Leave("a");
  CHECK(counts.Enter("a") == Verdict::kAdmitted);
  CHECK(counts.connections() == 3);
}

TEST_CASE("without a limit of its own an address may have all there are") {
  ConnectionCounts counts({.connections_max = 3});
  for (int i = 0; i < 3; ++i) CHECK(counts.Enter("a") == Verdict::kAdmitted);
  CHECK(counts.Enter("a") == Verdict::kTooMany);
}

TEST_CASE("a party is an IPv4 address however it is written, or a network of IPv6") {
  CHECK(PartyOfText(AF_INET, "10.1.2.3") == PartyOfText(AF_INET6, "::ffff:10.1.2.3"));
  CHECK(PartyOfText(AF_INET, "10.1.2.3") != PartyOfText(AF_INET, "10.1.2.4"));
  CHECK(PartyOfText(AF_INET6, "2001:db8:0:1::1") == PartyOfText(AF_INET6, "2001:db8:0:1:ff::2"));
  CHECK(PartyOfText(AF_INET6, "2001:db8:0:1::1") != PartyOfText(AF_INET6, "2001:db8:0:2::1"));
  const sockaddr local = {.sa_family = AF_UNIX, .sa_data = {}};
  CHECK(PartyOf(local).empty());
}

}  // namespace
}  // namespace counter::rpc
