#include "tests/storage/replica_calls.h"

#include <catch2/catch.hpp>

#include "absl/time/clock.h"
#include "base/task.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {

postgres::StoreOptions OptionsWithReplicas(ReplicatedPostgres& servers, absl::Duration lag_max,
                                           const std::vector<int>& standbys) {
  postgres::StoreOptions options = TestStoreOptions(servers.PrimaryUrl());
  for (const int i : standbys) options.replica_urls.push_back(servers.UrlAt(servers.standby(i)));
  options.replica_lag_max = lag_max;
  return options;
}

bool InUse(const postgres::PostgresStore& store, size_t replica) {
  return store.Stats().replicas[replica].usable;
}

bool ComesIntoUse(const postgres::PostgresStore& store, size_t replica) {
  return Eventually(absl::Seconds(20) * Slowness(), [&] { return InUse(store, replica); });
}

absl::StatusOr<ItemCount> Read(LikeStore& store, int64_t post, Consistency consistency,
                               int64_t min_version, absl::Duration within) {
  const auto read =
      BlockingWait(store.Counts({{{kPost, post}, min_version}}, consistency, Within(within)));
  if (!read.ok()) return read.status();
  return read->counts[0];
}

absl::StatusOr<PairsRead> ReadLiked(LikeStore& store, int64_t user, int64_t post,
                                    Consistency consistency, int64_t min_version) {
  return BlockingWait(store.HasLiked({user}, {{{kPost, post}, min_version}}, consistency,
                                     Within(absl::Seconds(20))));
}

Callers::Callers(LikeStore& store, int64_t post, absl::Duration bound)
    : store_(store),
      post_(post),
      // A little for the test's own clock.
      bound_(bound + absl::Milliseconds(20)),
      acknowledged_at_(static_cast<size_t>(kMost) + 1) {
  writer_ = std::thread([this] { Write(); });
  reader_ = std::thread([this] { ReadOn(); });
}

void Callers::Stop() {
  stop_ = true;
  if (writer_.joinable()) writer_.join();
  if (reader_.joinable()) reader_.join();
}

void Callers::StopAndCheck() {
  Stop();
  INFO(reads_ << " reads, the slowest took " << slowest_ms_ << " ms");
  CHECK(reads_ > 0);
  CHECK(failed_ == 0);
  CHECK(too_old_ == 0);
  CHECK(slowest_ms_ < 1500 * Slowness());
}

void Callers::Write() {
  int64_t count = 0;
  for (int64_t user = 1; !stop_ && user < kMost; ++user) {
    if (!Like(store_, user, post_).ok()) continue;
    acknowledged_at_[static_cast<size_t>(++count)] = absl::ToUnixMillis(absl::Now());
    acknowledged_ = count;
    absl::SleepFor(absl::Milliseconds(2));
  }
}

void Callers::ReadOn() {
  int64_t expected = 0;
  while (!stop_) {
    const absl::Time begin = absl::Now();
    while (expected < acknowledged_ &&
           absl::FromUnixMillis(acknowledged_at_[static_cast<size_t>(expected + 1)]) + bound_ <
               begin) {
      ++expected;
    }
    const auto read = Read(store_, post_, Consistency::kCached, 0, absl::Seconds(5));
    ++reads_;
    if (!read.ok()) {
      ++failed_;
    } else if (read->count < expected) {
      ++too_old_;
    }
    const int64_t took = absl::ToInt64Milliseconds(absl::Now() - begin);
    if (took > slowest_ms_) slowest_ms_ = took;
  }
}

}  // namespace counter::testing
