// Reads from replicas: within their bound, never below a token, and whatever a replica does is no
// caller's business. Known faults K16 (the replica's part), K19 and K25. On real servers.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/storage/replica_calls.h"
#include "tests/storage/replicated_postgres.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr int64_t kPost1 = 10;
constexpr int64_t kPost2 = 20;

// For all cases; the second standby is there to be slow.
ReplicatedPostgres& Servers() {
  static ReplicatedPostgres servers = [] {
    ReplicatedPostgres::Options options;
    options.standbys = 2;
    return ReplicatedPostgres(options);
  }();
  return servers;
}

// While it lives the second standby applies what it gets so much later.
class Slow {
 public:
  Slow(ReplicatedPostgres& servers, absl::Duration delay) : servers_(servers) {
    Set(absl::StrCat("ALTER SYSTEM SET recovery_min_apply_delay = '",
                     absl::ToInt64Milliseconds(delay), "ms'"));
  }
  ~Slow() { Set("ALTER SYSTEM RESET recovery_min_apply_delay"); }
  Slow(const Slow&) = delete;
  Slow& operator=(const Slow&) = delete;

 private:
  void Set(const std::string& sql) const {
    const PostgresServer& standby = servers_.standby(1);
    (void)standby.Psql(standby.Url(), sql);
    (void)standby.Reload();
  }

  ReplicatedPostgres& servers_;
};

TEST_CASE("a replica answers what may lag, and the primary what may not") {
  ReplicatedPostgres& servers = Servers();
  const auto store = OpenTestStore(OptionsWithReplicas(servers, absl::Seconds(5)));
  REQUIRE(Like(*store, 1, kPost1).ok());
  REQUIRE(ComesIntoUse(*store));
  REQUIRE(servers.standby().CatchesUpWith(servers.primary(), kPatience));
  const absl::Time before = absl::Now();
  const auto cached = Read(*store, kPost1, Consistency::kCached);
  REQUIRE(cached.ok());
  CHECK(cached->count == 1);
  CHECK(cached->source == ReadSource::kReplica);
  CHECK(Read(*store, kPost1, Consistency::kStrong)->source == ReadSource::kPrimary);
  CHECK(Read(*store, 999, Consistency::kCached)->count == 0);
  const auto liked = ReadLiked(*store, 1, kPost1, Consistency::kCached);
  REQUIRE(liked.ok());
  CHECK(liked->source == ReadSource::kReplica);
  CHECK(liked->pairs[0].liked);
  CHECK(liked->pairs[0].item_version == cached->version);
  CHECK(liked->as_of <= absl::Now());
  CHECK(liked->as_of >= before - absl::Seconds(5));
  const auto not_liked = ReadLiked(*store, 2, kPost1, Consistency::kCached);
  CHECK_FALSE(not_liked->pairs[0].liked);
  CHECK(not_liked->pairs[0].item_version == 0);
  CHECK(ReadLiked(*store, 1, kPost1, Consistency::kStrong)->source == ReadSource::kPrimary);
  CHECK(Eventually(kPatience, [&] { return store->Stats().replicas[0].keys_answered == 4; }));
}

TEST_CASE("a read with a token that nobody has yet is answered within its time") {
  ReplicatedPostgres& servers = Servers();
  const auto store = OpenTestStore(OptionsWithReplicas(servers, absl::Seconds(5)));
  REQUIRE(Like(*store, 1, kPost1).ok());
  // Within the minute that clocks may differ: the primary is asked again, for longer than this.
  const int64_t not_yet = absl::ToUnixMicros(absl::Now() + absl::Seconds(30));
  absl::StatusOr<ItemCount> read;
  CHECK(Eventually(kPatience, [&] {
    read = Read(*store, kPost1, Consistency::kCached, not_yet, absl::Milliseconds(40));
    return read.ok();
  }));
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(read->count == 1);
}

TEST_CASE("an idle primary makes no replica too old to be used") {
  ReplicatedPostgres& servers = Servers();
  const absl::Duration lag_max = absl::Milliseconds(400);
  const auto store = OpenTestStore(OptionsWithReplicas(servers, lag_max));
  REQUIRE(ComesIntoUse(*store));
  // Nothing is written all the while; a measure by the time of the last commit would grow.
  int used = 0;
  int looks = 0;
  for (const absl::Time end = absl::Now() + 5 * lag_max; absl::Now() < end; ++looks) {
    used += InUse(*store) ? 1 : 0;
    absl::SleepFor(absl::Milliseconds(20));
  }
  CHECK(used > looks / 2);
  CHECK(ComesIntoUse(*store));
}

// What one caller sees of a post whose likes it makes itself: K19.
TEST_CASE(
    "K19: with a replica that applies late, each mode shows what it promises, after a like "
    "and after an unlike") {
  ReplicatedPostgres& servers = Servers();
  const absl::Duration delay = Sized(absl::Milliseconds(600), absl::Seconds(5));
  const Slow slow(servers, delay);
  // One that may use what it is behind, and one that may not.
  const auto patient = OpenTestStore(OptionsWithReplicas(servers, absl::Minutes(1), {1}));
  const auto strict = OpenTestStore(OptionsWithReplicas(servers, delay / 4, {1}));
  REQUIRE(ComesIntoUse(*patient));
  int old_answers = 0;
  for (int64_t round = 0; round < Sized(10, 200); ++round) {
    CAPTURE(round);
    const int64_t post = 100 + round;
    const auto liked = Like(*patient, 1, post);
    REQUIRE(liked.ok());
    CHECK(liked->count == 1);
    const auto check_all = [&](int64_t count, int64_t version) {
      for (LikeStore* store :
           {static_cast<LikeStore*>(patient.get()), static_cast<LikeStore*>(strict.get())}) {
        CHECK(Read(*store, post, Consistency::kStrong)->count == count);
        CHECK(Read(*store, post, Consistency::kCached, version)->count == count);
        CHECK(ReadLiked(*store, 1, post, Consistency::kStrong)->pairs[0].liked == (count == 1));
        CHECK(ReadLiked(*store, 1, post, Consistency::kCached, version)->pairs[0].liked ==
              (count == 1));
      }
      if (Read(*patient, post, Consistency::kCached)->count != count) ++old_answers;
    };
    check_all(1, liked->version);
    const auto unliked = Unlike(*patient, 1, post);
    REQUIRE(unliked.ok());
    CHECK(unliked->count == 0);
    check_all(0, unliked->version);
    // The token of the like is older than what is there: never below it, and no error.
    CHECK(Read(*patient, post, Consistency::kCached, liked->version)->version >= liked->version);
  }
  // Else the case has shown nothing.
  CHECK(old_answers > 0);
  CHECK(patient->Stats().keys_older_than_token > 0);
  // Without a token the strict one may lack what was acknowledged within its bound, and no more.
  for (int64_t post = 1000; post < 1003; ++post) {
    REQUIRE(Like(*strict, 1, post).ok());
    absl::SleepFor(delay / 4);
    CHECK(Read(*strict, post, Consistency::kCached)->count == 1);
    CHECK(ReadLiked(*strict, 1, post, Consistency::kCached)->pairs[0].liked);
  }
}

TEST_CASE("K19: with a token no read goes backwards, while replicas lag and differ") {
  ReplicatedPostgres& servers = Servers();
  const Slow slow(servers, absl::Milliseconds(300));
  const auto store = OpenTestStore(OptionsWithReplicas(servers, absl::Seconds(30), {0, 1}));
  REQUIRE(ComesIntoUse(*store, 0));
  REQUIRE(ComesIntoUse(*store, 1));
  std::atomic<bool> stop{false};
  std::atomic<int> backwards{0};
  std::atomic<int> from_replicas{0};
  std::atomic<int64_t> newest{0};
  std::thread writer([&] {
    for (int64_t user = 1; !stop; ++user) {
      const auto liked = Like(*store, user, kPost2);
      if (liked.ok()) newest = liked->version;
    }
  });
  std::thread timer([&] {
    absl::SleepFor(Sized(absl::Seconds(1), absl::Seconds(60)));
    stop = true;
  });
  RunWorkers(4, [&](int) {
    int64_t seen = 0;
    while (!stop) {
      const int64_t token = std::max<int64_t>(seen, newest);
      const auto read = Read(*store, kPost2, Consistency::kCached, token);
      if (!read.ok()) continue;
      if (read->version < token) ++backwards;
      if (read->source == ReadSource::kReplica) ++from_replicas;
      seen = read->version;
    }
  });
  timer.join();
  writer.join();
  CHECK(backwards == 0);
  CHECK(store->Stats().keys_older_than_token > 0);
  CHECK(from_replicas > 0);
}

constexpr absl::Duration kLagMax = absl::Milliseconds(500);

TEST_CASE(
    "K16, K25: pause, hang, kill and cancellations of a replica are unseen, and it is used "
    "again afterwards") {
  ReplicatedPostgres& servers = Servers();
  const auto store = OpenTestStore(OptionsWithReplicas(servers, kLagMax));
  REQUIRE(ComesIntoUse(*store));
  PostgresServer& standby = servers.standby();
  const absl::Duration span = Sized(absl::Milliseconds(700), absl::Seconds(10));
  static int64_t post = 5000;
  Callers callers(*store, ++post, kLagMax);
  SECTION("replay is paused") {
    servers.Sql(standby, "SELECT pg_wal_replay_pause()");
    CHECK(Eventually(kPatience, [&] { return !InUse(*store); }));
    absl::SleepFor(span);
    servers.Sql(standby, "SELECT pg_wal_replay_resume()");
  }
  SECTION("it hangs") {
    standby.SignalAll(SIGSTOP);
    CHECK(Eventually(kPatience, [&] { return !InUse(*store); }));
    absl::SleepFor(span);
    standby.SignalAll(SIGCONT);
  }
  SECTION("it is killed") {
    standby.Kill9();
    CHECK(Eventually(kPatience, [&] { return !InUse(*store); }));
    absl::SleepFor(span);
    REQUIRE(standby.Restart().ok());
  }
  SECTION("its statements are cancelled and its connections cut") {
    const std::string ours = " FROM pg_stat_activity WHERE application_name = 'counterd'";
    for (const absl::Time end = absl::Now() + span; absl::Now() < end;) {
      for (int i = 0; i < 5; ++i) servers.Sql(standby, "SELECT pg_cancel_backend(pid)" + ours);
      servers.Sql(standby, "SELECT pg_terminate_backend(pid)" + ours);
    }
  }
  SECTION("replay takes a lock that its reads wait for") {
    // A lock of the primary is replayed, and holds up reads there for as long as it stands. On the
    // primary it is held for so short a time that nobody notices.
    for (const absl::Time end = absl::Now() + span; absl::Now() < end;)
      servers.Sql(servers.primary(),
                  "BEGIN; LOCK TABLE counters IN ACCESS EXCLUSIVE MODE; SELECT txid_current(); "
                  "COMMIT");
  }
  CHECK(ComesIntoUse(*store));
  callers.StopAndCheck();
  CHECK(store->Health().ok());
}

}  // namespace
}  // namespace counter::testing
