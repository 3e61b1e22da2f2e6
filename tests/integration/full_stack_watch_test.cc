// WatchCounts through two real servers over one PostgreSQL and one Redis: what is written through
// the one is told by the other.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "server/consistency_token.h"
#include "tests/integration/fixture.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/watch_client.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

TEST_CASE("a like through one server shows in a watch on the other within a cached read's bound") {
  // The interval comes on top of the bound; as a small one it leaves the second to be measured.
  FullStack stack(Settings{{"WATCH_INTERVAL_MILLISECONDS", "50"}});
  WatchClient watch(ChannelTo(stack.server(1)), {1});
  REQUIRE(watch.Next());
  CHECK(watch.counts()[1] == 0);
  for (int64_t user = 1; user <= 5; ++user) {
    const absl::Time liked = absl::Now();
    REQUIRE(stack.client(0).Like(user, Post(1)).ok());
    REQUIRE(watch.Until(1, user));
    CHECK(absl::Now() - liked < absl::Seconds(1) * Slowness());
  }
}

TEST_CASE("a watch that broke off on one server goes on at the other, and no version goes back") {
  FullStack stack(Settings{{"WATCH_INTERVAL_MILLISECONDS", "20"}});
  std::vector<std::string> tokens;
  int64_t version = 0;
  for (int turn = 0; turn < 6; ++turn) {
    WatchClient watch(ChannelTo(stack.server(turn % 2)), {1}, tokens);
    REQUIRE(watch.Next());
    REQUIRE(stack.client((turn + 1) % 2).Like(turn + 1, Post(1)).ok());
    REQUIRE(watch.Until(1, turn + 1));
    tokens = watch.tokens();
    const int64_t next = DecodeConsistencyToken(tokens.at(0))->version;
    CHECK(next > version);
    version = next;
  }
}

TEST_CASE(
    "while Redis is gone a watch is told all the same, and a server that is killed is replaced") {
  FullStack stack(Settings{{"WATCH_INTERVAL_MILLISECONDS", "50"}});
  WatchClient watch(ChannelTo(stack.server(0)), {1});
  REQUIRE(watch.Next());
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  REQUIRE(watch.Until(1, 1));
  stack.redis().Kill9();
  REQUIRE(stack.client(1).Like(2, Post(1)).ok());
  CHECK(watch.Until(1, 2));
  const std::vector<std::string> tokens = watch.tokens();
  stack.server(0).Kill9();
  CHECK(watch.End().error_code() == grpc::UNAVAILABLE);
  REQUIRE(stack.client(1).Like(3, Post(1)).ok());
  WatchClient other(ChannelTo(stack.server(1)), {1}, tokens);
  REQUIRE(other.Next());
  CHECK(other.counts()[1] == 3);
}

TEST_CASE("while PostgreSQL is gone watches stand, and are told again when it is back") {
  FullStack stack(Settings{{"WATCH_INTERVAL_MILLISECONDS", "50"}});
  WatchClient watch(ChannelTo(stack.server(0)), {1});
  REQUIRE(watch.Next());
  stack.postgres().Kill9();
  REQUIRE(stack.postgres().Restart().ok());
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(),
                     [&] { return stack.client(1).Like(1, Post(1)).ok(); }));
  CHECK(watch.Until(1, 1));
}

}  // namespace
}  // namespace counter::testing
