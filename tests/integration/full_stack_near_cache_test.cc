// NEAR_CACHE_MILLISECONDS on two real servers: hot counts are answered from a server's own memory,
// and another server's write is seen within the bound of cached reads all the same.
#include <catch2/catch.hpp>

#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "tests/integration/fixture.h"
#include "tests/integration/full_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr char kLookups[] = "counter_near_cache_lookups_total";

TEST_CASE("a hot count comes from the server's own memory, and another server's like still shows") {
  FullStack stack(Settings{{"NEAR_CACHE_MILLISECONDS", "400"}});
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  const double hits_before = MetricOf(stack.server(0), kLookups, {{"result", "hit"}});
  for (int i = 0; i < 20; ++i) {
    const auto read = stack.client(0).Count(Post(1));
    REQUIRE(read.ok());
    CHECK(read->count.count == 1);
  }
  CHECK(MetricOf(stack.server(0), kLookups, {{"result", "hit"}}) - hits_before >= 10);

  REQUIRE(stack.client(1).Like(2, Post(1)).ok());
  CHECK(Eventually(absl::Seconds(1) * Slowness(), [&] {
    const auto read = stack.client(0).Count(Post(1));
    return read.ok() && read->count.count == 2;
  }));
  // The own write of a server is seen at once.
  REQUIRE(stack.client(0).Like(3, Post(1)).ok());
  const auto own = stack.client(0).Count(Post(1));
  REQUIRE(own.ok());
  CHECK(own->count.count == 3);
  stack.RequireSound();
}

TEST_CASE("without the setting no count is answered from the server's own memory") {
  FullStack stack;
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  for (int i = 0; i < 20; ++i) REQUIRE(stack.client(0).Count(Post(1)).ok());
  CHECK(MetricOf(stack.server(0), kLookups, {{"result", "hit"}}) == 0);
}

}  // namespace
}  // namespace counter::testing
