// A connection on which an answer was lost, and that stands all the same, as behind a pooler or a
// gateway that has forgotten it: nobody ever says that it is useless.
#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/faulty_line.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

std::string SocketIn(const std::string& directory) {
  return absl::StrCat(directory, "/.s.PGSQL.5432");
}

TEST_CASE("A connection whose answer never comes is given up, and writes and reads go on") {
  const PostgresServer& server = SharedPostgres();
  const ServerDirectory directory;
  FaultyLine line({.listen = {.path = SocketIn(directory.path())},
                   .server = {.path = SocketIn(server.socket_directory())}});
  const std::string url =
      absl::StrReplaceAll(MigratedDatabase(), {{server.socket_directory(), directory.path()}});
  postgres::StoreOptions options = TestStoreOptions(url);
  options.lanes = 1;
  options.statement_timeout = absl::Milliseconds(200);
  const auto store = OpenTestStore(options);
  REQUIRE(Like(*store, 1, 1).ok());
  REQUIRE(CountOf(*store, 1)->count == 1);
  line.Swallow();
  CHECK_FALSE(Like(*store, 2, 1, absl::Milliseconds(300)).ok());
  CHECK_FALSE(CountOf(*store, 1, absl::Milliseconds(300)).ok());
  line.PassOthers();
  // That limit, and two seconds for good measure.
  CHECK(Eventually(absl::Seconds(8) * Slowness(),
                   [&] { return Like(*store, 3, 1, absl::Milliseconds(500)).ok(); }));
  CHECK(Eventually(absl::Seconds(8) * Slowness(),
                   [&] { return CountOf(*store, 1, absl::Milliseconds(500)).ok(); }));
  CHECK(store->Health().ok());
  store->Stop();
}

}  // namespace
}  // namespace counter::testing
