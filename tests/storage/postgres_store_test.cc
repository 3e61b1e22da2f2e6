#include "storage/postgres/store.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/storage/postgres_fixture.h"

namespace counter::testing {
namespace {

TEST_CASE("a like counts once, and what is liked can be read at once") {
  const auto store = OpenTestStore(MigratedDatabase());
  const auto first = Like(*store, 1, 10);
  INFO(first.status());
  REQUIRE(first.ok());
  CHECK(first->changed);
  CHECK(first->count == 1);
  const auto again = Like(*store, 1, 10);
  REQUIRE(again.ok());
  CHECK(*again == Applied{false, 1, first->version});
  const auto count = CountOf(*store, 10);
  REQUIRE(count.ok());
  CHECK(count->count == 1);
  CHECK(count->version == first->version);
  const auto gone = Unlike(*store, 1, 10);
  REQUIRE(gone.ok());
  CHECK(gone->changed);
  CHECK(gone->count == 0);
  CHECK(gone->version > first->version);
  CHECK(Findings(*store).empty());
  CHECK(BadWords(SharedPostgres()).empty());
}

}  // namespace
}  // namespace counter::testing
