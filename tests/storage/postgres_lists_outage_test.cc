// Lists while PostgreSQL is gone, or says nothing: they fail as soon as other reads, and heal.
#include <catch2/catch.hpp>
#include <csignal>
#include <memory>

#include "absl/time/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

absl::StatusOr<LikesPage> List(LikeStore& store) {
  return BlockingWait(
      store.ListLikes({UserId{1}, {kPost}, std::nullopt, 10}, Within(absl::Seconds(20))));
}

TEST_CASE("lists fail soon while the server is gone or silent, and work again afterwards") {
  absl::StatusOr<std::unique_ptr<PostgresServer>> started = PostgresServer::Start({});
  REQUIRE(started.ok());
  PostgresServer& server = **started;
  const auto store = OpenTestStore(MigratedDatabase(server));
  REQUIRE(Like(*store, 1, 10).ok());
  REQUIRE(List(*store)->likes.size() == 1);
  const absl::Duration soon = absl::Seconds(2) * Slowness();
  SECTION("silent") {
    server.SignalAll(SIGSTOP);
    const absl::Time begin = absl::Now();
    CHECK(ReasonOf(List(*store).status()) == ErrorReason::kStoreUnavailable);
    CHECK(absl::Now() - begin < soon);
    server.SignalAll(SIGCONT);
  }
  SECTION("gone") {
    server.Kill9();
    const absl::Time begin = absl::Now();
    CHECK(ReasonOf(List(*store).status()) == ErrorReason::kStoreUnavailable);
    CHECK(absl::Now() - begin < soon);
    REQUIRE(server.Restart().ok());
  }
  CHECK(Eventually(absl::Seconds(10) * Slowness(), [&] { return List(*store).ok(); }));
}

}  // namespace
}  // namespace counter::testing
