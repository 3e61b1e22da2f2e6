// What happens when the line to the database is narrow or loses answers: known faults K11 and K18,
// on a real PostgreSQL behind a proxy.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/postgres_load.h"
#include "tests/storage/postgres_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

std::string NameOf(const std::string& url) {
  return *SharedPostgres().Psql(url, "SELECT current_database()");
}

TEST_CASE("K18: when answers to commits are lost, nobody is told a falsehood") {
  const std::string url = MigratedDatabase();
  PostgresProxy proxy(SharedPostgres(), {});
  const auto store = OpenTestStore(proxy.Url(NameOf(url)));
  LoadOptions load;
  load.threads = 8;
  load.batch = 3;
  load.users = 100;
  load.items = 50;
  BackgroundLoad loader({store.get()}, load);
  const int losses = Sized(5, 1000);
  int lost = 0;
  for (; lost < losses; ++lost) {
    proxy.SwallowAnswers(1);
    const int before = lost;
    if (!Eventually(absl::Seconds(10) * Slowness(), [&] { return proxy.swallowed() > before; }))
      break;
    if (!Eventually(absl::Seconds(10) * Slowness(), [&] { return Like(*store, 101, 51).ok(); }))
      break;
  }
  proxy.SwallowAnswers(0);
  LoadReport report = loader.Stop();
  CHECK(lost == losses);
  INFO("ok " << report.ok << " unknown " << report.unknown);
  CHECK(report.ok > 0);
  // Each loss is somebody's unknown outcome.
  CHECK(report.unknown > 0);
  for (const auto& [reason, count] : report.errors) CHECK(reason == ErrorReason::kStoreUnavailable);
  ++report.pairs[{101, 51}].unknown_likes;
  CHECK(absl::StrJoin(Contradictions(report, SharedPostgres(), url), "\n") == "");
  RequireSound(*store, SharedPostgres());
}

TEST_CASE(
    "K11: with four kilobytes of room on the line, large writes and reads never block each other") {
  const std::string url = MigratedDatabase();
  PostgresProxy::Options narrow;
  narrow.buffer_bytes = 4096;
  PostgresProxy proxy(SharedPostgres(), narrow);
  auto options = TestStoreOptions(proxy.Url(NameOf(url)));
  options.batch_rows_max = 10'000;
  const auto store = OpenTestStore(options);
  const absl::Time end = absl::Now() + Sized(absl::Seconds(2), absl::Seconds(60));
  std::atomic<int64_t> completed{0};
  std::atomic<int> failed{0};
  std::atomic<int> working{4};
  absl::Duration longest_stall;
  std::thread watch([&] {
    int64_t last = 0;
    absl::Time since = absl::Now();
    while (working > 0) {
      absl::SleepFor(absl::Milliseconds(10));
      const int64_t now = completed;
      if (now != last) since = absl::Now();
      last = now;
      longest_stall = std::max(longest_stall, absl::Now() - since);
    }
  });
  RunWorkers(4, [&](int worker) {
    int64_t user = 1 + worker * 1'000'000;
    while (absl::Now() < end) {
      if (worker % 2 == 0) {
        std::vector<Mutation> likes;
        for (int i = 0; i < 2'000; ++i) likes.push_back(LikeOf(user, 1 + i));
        ++user;
        for (const auto& result : BlockingWait(store->Apply(likes, Within(absl::Seconds(20)))))
          result.ok() ? static_cast<void>(++completed) : static_cast<void>(++failed);
      } else {
        std::vector<ItemRead> items;
        for (int i = 0; i < 1'000; ++i) items.push_back({{kPost, 1 + i}, 0});
        const auto counts =
            BlockingWait(store->Counts(items, Consistency::kStrong, Within(absl::Seconds(20))));
        const auto pairs = BlockingWait(
            store->HasLiked({1}, items, Consistency::kStrong, Within(absl::Seconds(20))));
        if (counts.ok()) ++completed;
        if (!counts.ok() || !pairs.ok()) ++failed;
      }
    }
    --working;
  });
  watch.join();
  INFO("completed " << completed << ", longest stall " << longest_stall);
  CHECK(failed == 0);
  CHECK(completed > 0);
  CHECK(longest_stall < absl::Seconds(1) * (Slowness() + 1));
  RequireSound(*store, SharedPostgres());
}

}  // namespace
}  // namespace counter::testing
