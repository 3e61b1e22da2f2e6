// The loss window of an asynchronous failover, measured: likes are written at a steady rate, the
// primary is lost with everything that was on its way to the standby, the standby is promoted, and
// what was acknowledged and is not there is counted: how many likes, and how long before the loss
// of the primary the oldest of them was acknowledged. docs/operations.md has the figures.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/integration/admin_client.h"
#include "tests/integration/replicated_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/torture/late_line.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr int kPosts = 20;
constexpr int kWriters = 8;
constexpr double kLikesASecond = 200;

struct AcknowledgedLike {
  int64_t user = 0;
  int64_t post = 0;
  absl::Time at;  // When the answer had come.
  std::string token;
};
using Pair = std::pair<int64_t, int64_t>;  // A user and a post.

// Likes at a steady rate through both servers, each of a pair of its own.
class SteadyLikes {
 public:
  explicit SteadyLikes(const ReplicatedStack& stack) : stack_(stack) {
    for (int i = 0; i < kWriters; ++i) threads_.emplace_back([this, i] { Write(i); });
  }

  // All that were acknowledged, in the order of that. Once.
  std::vector<AcknowledgedLike> Stop() {
    stop_ = true;
    threads_.clear();
    std::vector<AcknowledgedLike> all;
    for (Writer& writer : writers_)
      all.insert(all.end(), writer.acknowledged.begin(), writer.acknowledged.end());
    std::sort(all.begin(), all.end(),
              [](const AcknowledgedLike& one, const AcknowledgedLike& other) {
                return one.at < other.at;
              });
    return all;
  }
  // Requires Stop(): whatever a call may have written.
  std::set<Pair> Attempted() const {
    std::set<Pair> all;
    for (const Writer& writer : writers_)
      all.insert(writer.attempted.begin(), writer.attempted.end());
    return all;
  }

 private:
  struct Writer {
    std::vector<AcknowledgedLike> acknowledged;
    std::vector<Pair> attempted;
  };

  void Write(int number) {
    constexpr int64_t kUsersAWriter = 1'000'000;
    const absl::Duration pause = absl::Seconds(kWriters / kLikesASecond);
    Writer& writer = writers_[static_cast<size_t>(number)];
    absl::Time next = absl::Now() + pause * number / kWriters;
    for (int64_t n = 0; !stop_; ++n) {
      absl::SleepFor(next - absl::Now());
      // What a slow answer has made late is not made good at once: the rate stays what it is.
      next = std::max(next + pause, absl::Now());
      const Pair pair = {1 + number * kUsersAWriter + n, 1 + n % kPosts};
      writer.attempted.push_back(pair);
      const auto liked =
          stack_.client(number % ReplicatedStack::kServers)
              .Like(pair.first, Post(pair.second), {.deadline = absl::Seconds(1) * Slowness()});
      if (liked.ok()) {
        writer.acknowledged.push_back(
            {pair.first, pair.second, absl::Now(), liked->consistency_token});
      }
    }
  }

  const ReplicatedStack& stack_;
  std::atomic<bool> stop_ = false;
  std::vector<Writer> writers_ = std::vector<Writer>(kWriters);
  std::vector<std::jthread> threads_;
};

struct Scene {
  absl::Duration late = absl::ZeroDuration();  // What the primary says to the standby.
  // Whether what is on its way is lost with the primary: a machine that is lost, not only a
  // process.
  bool line_is_cut = true;
  bool replicated = false;  // DURABILITY=replicated, and the standby is synchronous.
};

struct Measured {
  int64_t acknowledged = 0;  // Before the primary was lost.
  std::vector<AcknowledgedLike> lost;
  absl::Duration window;       // How long before the loss the oldest lost one was acknowledged.
  absl::Duration lag_metric;   // What the servers said of the standby just before.
  absl::Duration kept_before;  // How long before the loss everything is kept, by the new primary.
};

int64_t Number(absl::string_view text) {
  int64_t number = 0;
  REQUIRE(absl::SimpleAtoi(text, &number));
  return number;
}

ReplicatedStack::Options StackOptions(const Scene& scene) {
  ReplicatedStack::Options options;
  options.postgres.synchronous = scene.replicated;
  options.settings["ADMIN_LISTEN"] = "127.0.0.1:0";
  if (scene.replicated) options.settings["DURABILITY"] = "replicated";
  return options;
}

// The stack, and a standby that hears of the primary through a line of ours.
class Failover {
 public:
  explicit Failover(const Scene& scene)
      : scene_(scene),
        stack_(StackOptions(scene)),
        line_({.path = stack_.postgres.primary().socket_directory() + "/.s.PGSQL.5432"}) {
    ReplicatedPostgres& postgres = stack_.postgres;
    postgres.Sql(
        standby(),
        absl::StrCat("ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=", line_.port(),
                     " user=postgres sslmode=disable ", "gssencmode=disable application_name=",
                     ReplicatedPostgres::StandbyName(0), "'"));
    REQUIRE(standby().Reload().ok());
    REQUIRE(Eventually(kPatience * Slowness(), [&] {
      return postgres.Sql(standby(),
                          absl::StrCat("SELECT count(*) FROM pg_stat_wal_receiver WHERE status = "
                                       "'streaming' AND sender_port = ",
                                       line_.port())) == "1";
    }));
    REQUIRE(standby().CatchesUpWith(postgres.primary(), kPatience * Slowness()));
  }

  ReplicatedStack& stack() { return stack_; }
  PostgresServer& standby() { return stack_.postgres.standby(); }
  std::string Sql(const std::string& sql) { return stack_.postgres.Sql(standby(), sql); }

  Measured Measure() {
    SteadyLikes load(stack_);
    line_.DelayBy(scene_.late);
    absl::SleepFor(scene_.late + Sized(absl::Milliseconds(1200), absl::Seconds(3)));
    Measured measured;
    measured.lag_metric = LagMetric();
    const absl::Time lost_at = absl::Now();
    if (scene_.line_is_cut) line_.Cut();
    stack_.postgres.primary().Kill9();
    if (scene_.replicated) {
      // So that the servers take it for one that they may read; there is nobody to write to it.
      Sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
      REQUIRE(standby().Reload().ok());
    }
    acknowledged_ = load.Stop();
    const absl::Status promoted = standby().Promote();
    INFO(promoted);
    REQUIRE(promoted.ok());
    REQUIRE(Eventually(kPatience * Slowness(), [&] { return Noted() > 1; }));

    std::set<Pair> kept;
    for (const absl::string_view line :
         absl::StrSplit(Sql("SELECT user_id, item_id FROM user_likes WHERE item_type = 1"), '\n',
                        absl::SkipEmpty())) {
      const std::pair<std::string, std::string> cells = absl::StrSplit(line, '|');
      kept.insert({Number(cells.first), Number(cells.second)});
    }
    for (const AcknowledgedLike& like : acknowledged_)
      if (kept.count({like.user, like.post}) == 0) measured.lost.push_back(like);
    measured.acknowledged = static_cast<int64_t>(acknowledged_.size());
    if (!measured.lost.empty())
      measured.window = std::max(lost_at - measured.lost.front().at, absl::ZeroDuration());
    measured.kept_before = lost_at - KeptUntil();
    const std::set<Pair> attempted = load.Attempted();
    CHECK(std::includes(attempted.begin(), attempted.end(), kept.begin(), kept.end()));
    return measured;
  }

  // Up to which instant everything is kept, as the servers have noted it.
  absl::Time KeptUntil() {
    return absl::FromUnixMicros(
        Number(Sql("SELECT (extract(epoch FROM kept_until) * 1000000)::int8 FROM store_timelines "
                   "ORDER BY timeline DESC LIMIT 1")));
  }

  // In the order in which they were acknowledged.
  const std::vector<AcknowledgedLike>& acknowledged() const { return acknowledged_; }

 private:
  int64_t Noted() { return Number(Sql("SELECT count(*) FROM store_timelines")); }

  absl::Duration LagMetric() {
    double most = 0;
    for (int i = 0; i < ReplicatedStack::kServers; ++i)
      most =
          std::max(most, MetricOf(stack_.server(i), "counter_postgres_replica_lag_milliseconds"));
    return absl::Milliseconds(most);
  }

  const Scene scene_;
  ReplicatedStack stack_;
  LateLine line_;
  std::vector<AcknowledgedLike> acknowledged_;
};

std::string ToString(const Scene& scene, const Measured& measured) {
  return absl::StrCat(
      scene.replicated ? "replicated, " : "", "log ", absl::FormatDuration(scene.late), " late, ",
      scene.line_is_cut ? "line cut" : "line drained", ": ", measured.lost.size(), " of ",
      measured.acknowledged, " acknowledged likes lost, the oldest ",
      absl::ToInt64Milliseconds(measured.window), " ms before the loss; lag metric ",
      absl::ToInt64Milliseconds(measured.lag_metric), " ms, kept until ",
      absl::ToInt64Milliseconds(measured.kept_before), " ms before the loss");
}

// Nothing that is older than what the operator could know beforehand, or is told afterwards.
void RequireBounded(Failover& failover, const Measured& measured) {
  const absl::Duration margin = absl::Milliseconds(500) * Slowness();
  CHECK(measured.window <= measured.lag_metric + margin);
  // Commits of two connections may be in the log in another order than by their clocks.
  const absl::Time kept_until = failover.KeptUntil() - absl::Milliseconds(50) * Slowness();
  for (const AcknowledgedLike& like : measured.lost) CHECK(like.at > kept_until);
  for (int i = 0; i < ReplicatedStack::kServers; ++i) {
    CounterServer& server = failover.stack().server(i);
    CHECK(Eventually(kPatience * Slowness(), [&] {
      return MetricOf(server, "counter_postgres_failover_kept_until_timestamp_seconds") ==
             static_cast<double>(absl::ToUnixSeconds(failover.KeptUntil()));
    }));
  }
}

// Both servers answer what the new primary has, cached too, with tokens of before as well.
void RequireAnswersOfNewPrimary(Failover& failover, const Measured& measured) {
  std::map<int64_t, int64_t> rows;
  for (const absl::string_view line : absl::StrSplit(
           failover.Sql("SELECT item_id, count(*) FROM user_likes WHERE item_type = 1 GROUP BY 1"),
           '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> cells = absl::StrSplit(line, '|');
    rows[Number(cells.first)] = Number(cells.second);
  }
  std::vector<client::Item> posts;
  for (int64_t post = 1; post <= kPosts; ++post) posts.push_back(Post(post));
  for (int i = 0; i < ReplicatedStack::kServers; ++i) {
    const Client& client = failover.stack().client(i);
    for (const auto consistency : {client::Consistency::kStrong, client::Consistency::kCached}) {
      CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
        const auto counts = client.Counts(posts, {.consistency = consistency});
        if (!counts.ok()) return false;
        return std::all_of(counts->counts.begin(), counts->counts.end(),
                           [&](const auto& count) { return count.count == rows[count.item.id]; });
      }));
    }
    // The newest token that anybody has, of a like that may be lost or kept.
    const AcknowledgedLike& last =
        measured.lost.empty() ? failover.acknowledged().back() : measured.lost.back();
    const auto count = client.Count(Post(last.post), {.consistency_tokens = {last.token}});
    REQUIRE(count.ok());
    CHECK(count->count.source == client::Source::kPrimary);
    CHECK(count->count.count == rows[last.post]);
    const auto liked =
        client.HasLiked(last.user, {Post(last.post)}, {.consistency_tokens = {last.token}});
    REQUIRE(liked.ok());
    CHECK(liked->liked[0] == measured.lost.empty());
  }
  const cli::Ran audit = RunAdmin(failover.stack().server(0), {"audit"});
  INFO(audit.out << audit.err);
  CHECK(audit.status == 0);
}

void MeasureAndCheck(const Scene& scene) {
  Failover failover(scene);
  const Measured measured = failover.Measure();
  WARN(ToString(scene, measured));
  CAPTURE(ToString(scene, measured));
  // A commit that waits for the standby takes as long as that is late.
  CHECK(measured.acknowledged > (scene.replicated ? 5 : 100));
  RequireBounded(failover, measured);
  RequireAnswersOfNewPrimary(failover, measured);
  if (scene.replicated) {
    CHECK(measured.lost.empty());
    return;
  }
  // What is not on the standby is lost: else nothing was measured here.
  if (scene.line_is_cut && scene.late >= absl::Milliseconds(100)) {
    REQUIRE_FALSE(measured.lost.empty());
    CHECK(measured.window >= scene.late / 2);
    // A caller who calls again is told that it is a like, and it is stored.
    const AcknowledgedLike& one = measured.lost.front();
    CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
      const auto again = failover.stack().client(0).Like(one.user, Post(one.post));
      return again.ok() && again->changed;
    }));
  }
}

TEST_CASE(
    "an asynchronous failover loses what the standby had not received, nothing older, and says "
    "until when all is kept") {
  if (!LongForm()) {
    MeasureAndCheck({.late = absl::Milliseconds(300)});
    return;
  }
  for (int round = 0; round < 3; ++round) {
    MeasureAndCheck({.line_is_cut = false});
    for (const int late_ms : {0, 20, 100, 500, 2000})
      MeasureAndCheck({.late = absl::Milliseconds(late_ms)});
  }
}

TEST_CASE("with replicated durability a failover loses nothing, however late the standby is") {
  MeasureAndCheck({.late = absl::Milliseconds(100), .replicated = true});
  if (LongForm()) MeasureAndCheck({.late = absl::Milliseconds(500), .replicated = true});
}

}  // namespace
}  // namespace counter::testing
