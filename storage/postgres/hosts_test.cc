#include "storage/postgres/hosts.h"

#include <dlfcn.h>
#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace counter::postgres {
namespace {

// A name whose look-up takes as long as the test likes, as where the name server is not reached.
constexpr const char* kBlackHole = "black.hole.test";
std::atomic<bool> g_hole_open{false};

}  // namespace
}  // namespace counter::postgres

// In front of the C library's, for the whole program.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node != nullptr && std::string(node) == counter::postgres::kBlackHole) {
    while (!counter::postgres::g_hole_open) std::this_thread::yield();
    return EAI_AGAIN;
  }
  return real(node, service, hints, found);
}

namespace counter::postgres {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);

// Longer than a name may be: not found without asking anybody.
const std::string kNoName(300, 'x');

// What was found.
std::optional<absl::StatusOr<Hosts>> Find(const std::string& names, const std::string& ports,
                                          bool cancel = false) {
  boost::asio::io_context loop;
  boost::asio::ip::tcp::resolver resolver(loop);
  std::optional<absl::StatusOr<Hosts>> found;
  FindHosts(resolver, names, ports, kPatience,
            [&found](absl::StatusOr<Hosts> hosts) { found = std::move(hosts); });
  REQUIRE_FALSE(found.has_value());
  if (cancel) {
    // The look-up has begun.
    loop.poll_one();
    resolver.cancel();
  }
  loop.run();
  return found;
}

TEST_CASE("a name becomes its addresses, each beside the name and the port") {
  const auto found = Find("localhost", "6543");
  REQUIRE(found.has_value());
  INFO(found->status());
  REQUIRE(found->ok());
  const Hosts& hosts = **found;
  // One address or two, by whether the machine has IPv6.
  if (hosts.names == "localhost") {
    CHECK((hosts.addresses == "127.0.0.1" || hosts.addresses == "::1"));
    CHECK(hosts.ports == "6543");
  } else {
    CHECK(hosts.names == "localhost,localhost");
    CHECK((hosts.addresses == "::1,127.0.0.1" || hosts.addresses == "127.0.0.1,::1"));
    CHECK(hosts.ports == "6543,6543");
  }
}

TEST_CASE("sockets of the file system and empty names are not looked up, and one port is for all") {
  const auto found = Find("/run/postgresql,@abstract,", "6543");
  REQUIRE(found.has_value());
  REQUIRE(found->ok());
  CHECK((*found)->names == "/run/postgresql,@abstract,");
  CHECK((*found)->addresses == ",,");
  CHECK((*found)->ports == "6543,6543,6543");
}

TEST_CASE("each name keeps its own port, and an address stays as it is") {
  const auto found = Find("127.0.0.2,/run/postgresql,::1", "1,2,3");
  REQUIRE(found.has_value());
  REQUIRE(found->ok());
  CHECK((*found)->names == "127.0.0.2,/run/postgresql,::1");
  CHECK((*found)->addresses == "127.0.0.2,,::1");
  CHECK((*found)->ports == "1,2,3");
}

TEST_CASE("what is not found is left out, and nothing found is an error that names no host") {
  const auto some = Find(kNoName + ",127.0.0.1", "1,2");
  REQUIRE(some.has_value());
  REQUIRE(some->ok());
  CHECK((*some)->names == "127.0.0.1");
  CHECK((*some)->ports == "2");
  const auto none = Find(kNoName, "1");
  REQUIRE(none.has_value());
  CHECK(absl::IsNotFound(none->status()));
  CHECK(none->status().message().find(kNoName) == absl::string_view::npos);
}

TEST_CASE("a search that is cancelled ends all the same") {
  const auto found = Find("localhost", "1", /*cancel=*/true);
  REQUIRE(found.has_value());
}

TEST_CASE("K15: a name server that does not answer costs the loop nothing and the others no host") {
  g_hole_open = false;
  boost::asio::io_context loop;
  boost::asio::ip::tcp::resolver resolver(loop);
  std::optional<absl::StatusOr<Hosts>> found;
  FindHosts(resolver, std::string("127.0.0.2,") + kBlackHole + ",127.0.0.3,/run/postgresql",
            "1,2,3,4", absl::Milliseconds(300),
            [&found](absl::StatusOr<Hosts> hosts) { found = std::move(hosts); });
  // The loop goes on all the while: what waits for it never waits long.
  absl::Duration longest;
  absl::Time last = absl::Now();
  while (!found.has_value()) {
    loop.poll();
    longest = std::max(longest, absl::Now() - last);
    last = absl::Now();
  }
  g_hole_open = true;
  CHECK(longest < absl::Milliseconds(250));  // 50 ms; the rest is for a machine that is busy.
  REQUIRE(found->ok());
  CHECK((*found)->addresses == "127.0.0.2,127.0.0.3,");
  CHECK((*found)->names == "127.0.0.2,127.0.0.3,/run/postgresql");
  CHECK((*found)->ports == "1,3,4");
}

}  // namespace
}  // namespace counter::postgres
