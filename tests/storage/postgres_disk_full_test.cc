// Known fault K20, the part with a small file system: the database's disk runs full under load.
//
// Mounts a tmpfs of its own, which asks for root; without it the case says so and checks nothing.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/postgres_load.h"
#include "tests/storage/small_disk.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

TEST_CASE("K20: on a full disk writes fail in time, reads go on, and it heals when there is room") {
  const SmallDisk disk(200);
  if (!disk.mounted()) {
    WARN("no right to mount a file system: not tested");
    return;
  }
  PostgresServer::Options small;
  small.data_parent = disk.path();
  // The log of writes keeps to a part of the disk, so that what runs full is the data.
  small.settings = {{"max_wal_size", "64MB"},
                    {"min_wal_size", "32MB"},
                    {"wal_recycle", "off"},
                    {"autovacuum", "off"}};
  auto server = PostgresServer::Start(small);
  INFO(server.status());
  REQUIRE(server.ok());
  const std::string url = MigratedDatabase(**server);
  const auto store = OpenTestStore(url);
  REQUIRE(Like(*store, 1, 1).ok());
  // What an operator can delete.
  const std::string ballast = disk.path() + "/ballast";
  FillDisk(ballast);
  LoadOptions load;
  load.threads = 8;
  load.batch = 100;
  load.users = 1'000'000;
  load.items = 1'000'000;
  load.unlikes_percent = 0;
  load.deadline = absl::Seconds(10);
  BackgroundLoad loader({store.get()}, load);
  const bool full = Eventually(absl::Seconds(30) * Slowness(),
                               [&] { return !Like(*store, 2'000'000, 1, absl::Seconds(5)).ok(); });
  // Reads of a database whose log has no room left go on, unless it is just recovering.
  const bool reads =
      Eventually(absl::Seconds(20), [&] { return CountOf(*store, 1, absl::Seconds(2)).ok(); });
  unlink(ballast.c_str());
  const bool healed = Eventually(absl::Seconds(30) * Slowness(),
                                 [&] { return Like(*store, 2'000'001, 1, absl::Seconds(5)).ok(); });
  LoadReport report = loader.Stop();
  CHECK(full);
  CHECK(reads);
  CHECK(healed);
  for (const auto& [reason, count] : report.errors) {
    INFO(ErrorReasonName(reason) << ": " << count);
    CHECK((reason == ErrorReason::kStoreUnavailable || reason == ErrorReason::kDeadlineExceeded));
  }
  CHECK(report.slowest < load.deadline + absl::Seconds(1) * Slowness());
  for (const int64_t user : {2'000'000, 2'000'001}) ++report.pairs[{user, 1}].unknown_likes;
  ++report.pairs[{1, 1}].liked;
  CHECK(absl::StrJoin(Contradictions(report, **server, url), "\n") == "");
  RequireSound(*store, **server);
}

}  // namespace
}  // namespace counter::testing
