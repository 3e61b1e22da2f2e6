// Two servers, Redis, a primary and a standby, whole: tokens, replicas and caches over the wire,
// and what remains of them when the primary is lost (known faults K15, K19, K25).
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/consistency_token.h"
#include "tests/integration/fixture.h"
#include "tests/integration/replicated_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::Consistency;
using client::Source;

constexpr absl::Duration kPatience = absl::Seconds(20);

TEST_CASE("What the cache does not know a replica answers, and its count stays for 5 s at most") {
  ReplicatedStack stack;
  const auto liked = stack.client(0).Like(1, Post(1));
  REQUIRE(liked.ok());
  REQUIRE(stack.postgres.standby().CatchesUpWith(stack.postgres.primary(), kPatience));
  stack.ForgetCount(1);
  const auto from_replica = stack.client(1).Count(Post(1));
  REQUIRE(from_replica.ok());
  CHECK(from_replica->count.source == Source::kReplica);
  CHECK(from_replica->count.count == 1);
  int64_t left_ms = 0;
  REQUIRE(absl::SimpleAtoi(stack.redis().Command({"PTTL", "counter:post:1"}), &left_ms));
  CHECK(left_ms > 0);
  CHECK(left_ms <= 5000);
  // A Redis that is kept from answering in time is a miss.
  CHECK(Eventually(kPatience,
                   [&] { return stack.client(0).Count(Post(1))->count.source == Source::kCache; }));
  // A write-through is seen at once, and ends as soon: it could be an older one that is late.
  REQUIRE(stack.client(0).Like(2, Post(1)).ok());
  CHECK(stack.client(1).Count(Post(1))->count.count == 2);
  REQUIRE(absl::SimpleAtoi(stack.redis().Command({"PTTL", "counter:post:1"}), &left_ms));
  CHECK(left_ms <= 5000);
  const auto has = stack.client(1).HasLiked(3, {Post(1), Post(2)});
  REQUIRE(has.ok());
  CHECK(has->source == Source::kReplica);
  const auto strong = stack.client(1).HasLiked(3, {Post(1)}, {.consistency = Consistency::kStrong});
  CHECK(strong->source == Source::kPrimary);
}

TEST_CASE(
    "K19: with replay stopped, tokens of several items show their writes and others' counts "
    "stay within the bound") {
  ReplicatedStack stack(Settings{{"REPLICA_LAG_MAX_MILLISECONDS", "60000"}});
  for (int64_t post = 1; post <= 4; ++post) REQUIRE(stack.client(0).Like(1, Post(post)).ok());
  REQUIRE(stack.postgres.standby().CatchesUpWith(stack.postgres.primary(), kPatience));
  stack.postgres.Sql(stack.postgres.standby(), "SELECT pg_wal_replay_pause()");
  std::vector<std::string> tokens;
  for (int64_t post = 1; post <= 2; ++post)
    tokens.push_back(stack.client(0).Like(2, Post(post)).value().consistency_token);
  tokens.push_back(stack.client(0).Unlike(1, Post(2)).value().consistency_token);
  REQUIRE(stack.client(0).Like(2, Post(3)).ok());
  for (int64_t post = 1; post <= 4; ++post) stack.ForgetCount(post);

  const auto counts =
      stack.client(1).Counts({Post(1), Post(2), Post(3), Post(4)}, {.consistency_tokens = tokens});
  REQUIRE(counts.ok());
  CHECK(counts->counts[0].count == 2);
  CHECK(counts->counts[0].source == Source::kPrimary);
  CHECK(counts->counts[1].count == 1);
  CHECK(counts->counts[1].source == Source::kPrimary);
  // No token: as old as the replica may be.
  CHECK(counts->counts[2].count == 1);
  CHECK(counts->counts[2].source == Source::kReplica);
  CHECK(counts->counts[3].source == Source::kReplica);

  const auto has = stack.client(1).HasLiked(2, {Post(1), Post(2)}, {.consistency_tokens = tokens});
  REQUIRE(has.ok());
  CHECK(has->liked == std::vector<bool>{true, true});
  const auto unliked = stack.client(1).HasLiked(1, {Post(2)}, {.consistency_tokens = {tokens[2]}});
  CHECK_FALSE(unliked.value().liked[0]);
  CHECK(unliked.value().source == Source::kPrimary);
}

TEST_CASE("A token of another timeline makes each read strong and is no error") {
  ReplicatedStack stack;
  const std::string token = stack.client(0).Like(1, Post(1)).value().consistency_token;
  auto decoded = DecodeConsistencyToken(token);
  REQUIRE(decoded.has_value());
  decoded->timeline = "another1t00000001";
  decoded->version = int64_t{1} << 62;  // Of that history: it means nothing here.
  const std::string foreign = EncodeConsistencyToken(*decoded);
  const auto one = stack.client(1).Count(Post(1), {.consistency_tokens = {foreign}});
  REQUIRE(one.ok());
  CHECK(one->count.count == 1);
  CHECK(one->count.source == Source::kPrimary);
  const auto many =
      stack.client(1).Counts({Post(2), Post(1)}, {.consistency_tokens = {foreign, token}});
  REQUIRE(many.ok());
  for (const auto& count : many->counts) CHECK(count.source == Source::kPrimary);
  CHECK(many->counts[1].count == 1);
  const auto has =
      stack.client(1).HasLiked(1, {Post(1), Post(2)}, {.consistency_tokens = {foreign}});
  REQUIRE(has.ok());
  CHECK(has->source == Source::kPrimary);
  CHECK(has->liked == std::vector<bool>{true, false});
}

TEST_CASE("A replica that is gone is no reason for a server not to be ready") {
  ReplicatedStack stack;
  stack.postgres.standby().Kill9();
  CHECK(Eventually(kPatience, [&] {
    return MetricOf(stack.server(0), "counter_postgres_replicas_in_use") == 0;
  }));
  for (int64_t post = 1; post <= 20; ++post) {
    REQUIRE(stack.client(0).Like(1, Post(post)).ok());
    stack.ForgetCount(post);
    const auto read = stack.client(0).Count(Post(post));
    REQUIRE(read.ok());
    CHECK(read->count.count == 1);
    CHECK(MetricOf(stack.server(0), "counter_store_available") == 1);
  }
}

TEST_CASE(
    "K15: after an asynchronous failover the caches show what the new primary has, not what "
    "was lost, and tokens of before are answered") {
  ReplicatedStack stack;
  ReplicatedPostgres& postgres = stack.postgres;
  for (int64_t user = 1; user <= 5; ++user) REQUIRE(stack.client(0).Like(user, Post(1)).ok());
  REQUIRE(stack.client(1).Count(Post(1)).ok());  // Cached from here on.
  REQUIRE(stack.client(0).Like(1, Post(3)).ok());
  REQUIRE(stack.client(0).Count(Post(3)).ok());
  REQUIRE(postgres.standby().CatchesUpWith(postgres.primary(), kPatience));
  // From now on the standby gets nothing more.
  postgres.Sql(postgres.standby(), "ALTER SYSTEM SET primary_conninfo = ''");
  REQUIRE(postgres.standby().Reload().ok());
  REQUIRE(Eventually(kPatience, [&] {
    return postgres.Sql(postgres.primary(), "SELECT count(*) FROM pg_stat_replication") == "0";
  }));
  REQUIRE(Eventually(kPatience, [&] {
    return MetricOf(stack.server(0), "counter_postgres_replicas_in_use") == 0 &&
           MetricOf(stack.server(1), "counter_postgres_replicas_in_use") == 0;
  }));
  std::string lost_token;
  for (int64_t user = 6; user <= 10; ++user) {
    const auto liked = stack.client(0).Like(user, Post(1));
    REQUIRE(liked.ok());
    lost_token = liked->consistency_token;
  }
  REQUIRE(stack.client(0).Like(6, Post(2)).ok());
  REQUIRE(stack.client(1).Count(Post(2)).value().count.count == 1);
  REQUIRE(stack.client(1).Count(Post(1)).value().count.count == 10);
  REQUIRE(stack.client(1).HasLiked(6, {Post(1)}).value().liked[0]);  // A recent like from here on.
  REQUIRE(stack.client(1).Count(Post(1)).value().count.source == Source::kCache);

  postgres.primary().Kill9();
  const absl::Time begin = absl::Now();
  REQUIRE(postgres.standby().Promote().ok());
  const absl::Time promoted = absl::Now();
  CHECK(Eventually(absl::Seconds(5) * Slowness(),
                   [&] { return stack.client(0).Like(1, Post(100)).ok(); }));
  WARN("promoted " << promoted - begin << " after the kill, written " << absl::Now() - promoted
                   << " later");
  for (int i = 0; i < 2; ++i) {
    CAPTURE(i);
    CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
      const auto count = stack.client(i).Count(Post(1));
      const auto other = stack.client(i).Count(Post(2));
      const auto has = stack.client(i).HasLiked(6, {Post(1)});
      return count.ok() && count->count.count == 5 && other.ok() && other->count.count == 0 &&
             has.ok() && !has->liked[0];
    }));
    // For good: neither server puts it back.
    CHECK(stack.client(i).Count(Post(3)).value().count.count == 1);
    const auto with_lost = stack.client(i).Count(Post(1), {.consistency_tokens = {lost_token}});
    REQUIRE(with_lost.ok());
    CHECK(with_lost->count.count == 5);
    CHECK(with_lost->count.source == Source::kPrimary);
  }
  // The cache follows the new primary.
  const auto again = stack.client(0).Like(20, Post(1));
  REQUIRE(again.ok());
  CHECK(again->count == 6);
  CHECK(stack.client(1)
            .Count(Post(1), {.consistency_tokens = {again->consistency_token}})
            .value()
            .count.count == 6);
  CHECK(Eventually(absl::Seconds(10) * Slowness(), [&] {
    const auto read = stack.client(1).Count(Post(1));
    return read.ok() && read->count.count == 6 && read->count.source == Source::kCache;
  }));
  for (int i = 0; i < 2; ++i) {
    CHECK(MetricOf(stack.server(i), "counter_postgres_failovers_total") == 1);
    CHECK(stack.server(i).process().Running());
  }
}

// The cached counts of posts 1 to `posts`, and which of them are not those of the primary.
struct CacheReview {
  int cached = 0;
  std::string differences;
};
CacheReview ReviewCache(ReplicatedStack& stack, int64_t posts) {
  CacheReview review;
  for (int64_t post = 1; post <= posts; ++post) {
    // count@version@read_at, or a lease, or nothing at all.
    const std::string cached = stack.Redis({"GET", absl::StrCat("counter:post:", post)});
    if (cached == "(nil)" || absl::StartsWith(cached, "!")) continue;
    const auto truth = stack.client(0).Count(Post(post), {.consistency = Consistency::kStrong});
    if (!truth.ok() || !absl::StartsWith(cached, absl::StrCat(truth->count.count, "@")))
      absl::StrAppend(&review.differences, " post ", post, ": ", cached);
    ++review.cached;
  }
  return review;
}

TEST_CASE(
    "K25: with a replica that is 2 s late, after any interleaving of reads, writes and evictions "
    "the cache comes to equal the store") {
  constexpr int64_t kPosts = 100;
  constexpr int kCallers = 9;
  ReplicatedStack::Options options;
  options.settings = {{"REPLICA_LAG_MAX_MILLISECONDS", "60000"}};
  options.postgres.standby_settings = {{"recovery_min_apply_delay", "2s"}};
  ReplicatedStack stack(options);
  const int calls = Sized(2500, 10'000);
  std::atomic<int> errors = 0;
  std::atomic<int> from_replica = 0;
  RunWorkers(kCallers, [&](int worker) {
    std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(worker));
    for (int call = 0; call < calls / kCallers; ++call) {
      const auto& client = stack.client(static_cast<int>(random() % ReplicatedStack::kServers));
      const int64_t post = 1 + static_cast<int64_t>(random() % kPosts);
      const uint64_t what = random() % 10;
      bool ok = true;
      if (what < 2) {
        ok = client.Like(1 + worker, Post(post)).ok();
      } else if (what < 4) {
        ok = client.Unlike(1 + worker, Post(post)).ok();
      } else if (what < 8) {
        const auto count = client.Count(Post(post));
        ok = count.ok();
        if (ok && count->count.source == Source::kReplica) ++from_replica;
      } else {
        stack.ForgetCount(post);
      }
      if (!ok) ++errors;
    }
  });
  CHECK(errors == 0);
  CHECK(from_replica > 0);
  // What a replica filled lives for 5 s.
  CacheReview review;
  const bool is_equal = Eventually(absl::Seconds(6) * Slowness(), [&] {
    review = ReviewCache(stack, kPosts);
    return review.differences.empty();
  });
  INFO(review.differences);
  REQUIRE(is_equal);
  // Nor does what is filled once the replica has caught up.
  REQUIRE(stack.postgres.standby().CatchesUpWith(stack.postgres.primary(), kPatience));
  for (int64_t post = 1; post <= kPosts; ++post) REQUIRE(stack.client(1).Count(Post(post)).ok());
  const CacheReview again = ReviewCache(stack, kPosts);
  CHECK(again.cached > 0);
  CHECK(again.differences.empty());
}

}  // namespace
}  // namespace counter::testing
