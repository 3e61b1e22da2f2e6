// What callers of two servers notice of a line to Redis that breaks in the middle of a command, or
// leads to another Redis all at once: nothing (K23, K24 and K26 of what others met).
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using RedisLine = FullStack::RedisLine;

// What callers of likes were answered.
struct Answers {
  std::atomic<int64_t> ok = 0;
  std::atomic<int64_t> limited = 0;
  std::atomic<int64_t> errors = 0;

  // True if the like was made.
  bool Note(const client::Result<client::LikeReply>& reply) {
    if (reply.ok())
      ++ok;
    else
      ++(reply.error().kind == client::ErrorKind::kRateLimited ? limited : errors);
    return reply.ok();
  }
};

// ---- K23 ---------------------------------------------------------------------------------------

TEST_CASE(
    "K23: scripts that are flushed, and a failover, cost no caller an error, and limits hold") {
  constexpr int64_t kLimit = 100;
  constexpr int kCallers = 4;
  FullStack stack(
      {{"RATE_LIMIT_REQUESTS", absl::StrCat(kLimit)}, {"RATE_LIMIT_WINDOW_SECONDS", "3600"}}, {},
      RedisLine::kProxy);
  const int64_t users = Sized(20, 200);
  const int64_t likes_each = users * kLimit / 2;  // Twice as many as the limits of all allow.
  Answers answers;
  std::atomic<int64_t> made = 0;
  std::vector<std::atomic<int64_t>> liked(static_cast<size_t>(users));
  std::atomic<bool> over = false;
  std::thread callers([&] {
    RunWorkers(kCallers, [&](int worker) {
      for (int64_t like = 0; like < likes_each; ++like, ++made) {
        const int64_t user = 1 + like % users;
        const auto reply = stack.client(worker % 2).Like(user, Post(1 + like * kCallers + worker));
        if (answers.Note(reply)) ++liked[static_cast<size_t>(user - 1)];
      }
    });
    over = true;
  });
  bool has_failed_over = false;
  int flushes = 0;
  while (!over) {
    stack.redis().Command({"SCRIPT", "FLUSH"});
    ++flushes;
    absl::SleepFor(Sized(absl::Milliseconds(20), absl::Seconds(1)));
    if (!has_failed_over && made >= kCallers * likes_each / 4) {
      stack.FailOverRedis(absl::ZeroDuration());
      has_failed_over = true;
    }
  }
  callers.join();
  CHECK(has_failed_over);
  CHECK(flushes > 10);
  CHECK(answers.errors == 0);
  // A server that gets no answer in time counts alone, with the same limit. Apart from that, what
  // all users got in all is within 10 %.
  double counted_alone = 0;
  for (int server = 0; server < FullStack::kServers; ++server)
    counted_alone += MetricOf(stack.server(server), "counter_rate_limit_fallbacks_total");
  int64_t all = 0;
  for (const std::atomic<int64_t>& likes : liked) {
    CHECK(likes >= kLimit);
    CHECK(likes <= kLimit * (1 + FullStack::kServers));
    all += likes;
  }
  WARN(all << " likes of " << users * kLimit << ", " << counted_alone << " charges counted alone");
  CHECK(static_cast<double>(all) <= 1.1 * static_cast<double>(users * kLimit) + counted_alone);
  // In the long form these moments are few beside the rest: they count, too.
  if (LongForm()) CHECK(all <= users * kLimit * 11 / 10);
}

// ---- K24 ---------------------------------------------------------------------------------------

// Whether a user who is at the limit may like again within a window and a second.
bool ComesFree(const FullStack& stack, int64_t user, int64_t post, Answers& answers) {
  constexpr absl::Duration kWindowAndASecond = absl::Seconds(2);
  return Eventually(kWindowAndASecond * Slowness(),
                    [&] { return answers.Note(stack.client(0).Like(user, Post(post))); });
}

TEST_CASE("K24: a line that breaks right after a charge was sent locks nobody out") {
  constexpr int kCallers = 8;
  constexpr int64_t kUsers = 4;
  constexpr int64_t kLimit = 5;
  FullStack stack(
      {{"RATE_LIMIT_REQUESTS", absl::StrCat(kLimit)}, {"RATE_LIMIT_WINDOW_SECONDS", "1"}}, {},
      RedisLine::kProxy);
  const auto limit_keys = [&] {
    return std::vector<std::string>(
        absl::StrSplit(stack.redis().Command({"KEYS", "rate:*"}), '\n', absl::SkipEmpty()));
  };
  Answers answers;
  int64_t next_post = 10'000'000;

  stack.redis_line().BreakAfter("rate:{", 5);
  const int calls = Sized(1200, 10'000);
  RunWorkers(kCallers, [&](int worker) {
    for (int call = 0; call < calls / kCallers; ++call)
      answers.Note(
          stack.client(call % 2).Like(1 + call % kUsers, Post(1 + call * kCallers + worker)));
  });
  CHECK(answers.errors == 0);
  CHECK(answers.limited > 0);
  CHECK(stack.redis_line().broken() > calls / 100);
  // Whoever is blocked now is free within a window and a second, even if the line goes on breaking.
  for (int64_t user = 1; user <= kUsers; ++user)
    CHECK(ComesFree(stack, user, ++next_post, answers));
  stack.redis_line().BreakNothing();
  // After two windows no key is left, or it is one that ends.
  absl::SleepFor(absl::Seconds(2));
  for (const std::string& key : limit_keys()) CHECK(stack.redis().Command({"PTTL", key}) != "-1");

  // Without Redis the limit is one of each server.
  stack.redis().Kill9();
  REQUIRE(Eventually(absl::Seconds(5) * Slowness(), [&] {
    return MetricOf(stack.server(0), "counter_redis_connected") == 0 &&
           MetricOf(stack.server(1), "counter_redis_connected") == 0;
  }));
  const int64_t ok_before = answers.ok;
  const absl::Time start = absl::Now();
  for (int i = 0; i < 40; ++i) answers.Note(stack.client(i % 2).Like(99, Post(++next_post)));
  const auto windows = 1 + static_cast<int64_t>(absl::ToDoubleSeconds(absl::Now() - start));
  CHECK(answers.ok - ok_before >= kLimit);
  CHECK(answers.ok - ok_before <= kLimit * FullStack::kServers * windows);
  CHECK(ComesFree(stack, 99, ++next_post, answers));
  CHECK(answers.errors == 0);
}

// ---- K26 ---------------------------------------------------------------------------------------

TEST_CASE("K26: a Redis that is flushed and fails over at random under load: counts stay exact") {
  FullStack stack({}, {}, RedisLine::kProxy);
  std::mt19937_64 random(TestSeed());
  MixedLoadOptions options;
  options.single_writers = 16;
  options.batch_writers = 4;
  // A failover loses what Redis had acknowledged, until it was put again.
  options.cached_counts_may_go_back = true;
  MixedLoad load(stack, options);
  const absl::Time end = absl::Now() + Sized(absl::Seconds(5), absl::Minutes(2));
  int failovers = 0;
  int flushes = 0;
  while (absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(200 + random() % 500));
    if (random() % 2 == 0) {
      stack.FailOverRedis(absl::Milliseconds(random() % 1000));
      ++failovers;
    } else {
      CHECK(stack.redis().Command({"FLUSHALL"}) == "OK");
      ++flushes;
    }
  }
  // And one at last, that nothing comes after.
  stack.FailOverRedis(absl::Seconds(1));
  absl::SleepFor(absl::Milliseconds(200));
  const MixedLoadReport report = load.Stop();
  WARN(failovers + 1 << " failovers, " << flushes << " flushes");
  RequireFlawless(report, stack);
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
  CHECK_FALSE(stack.CachedCounts().empty());
  stack.RequireSound();
}

}  // namespace
}  // namespace counter::testing
