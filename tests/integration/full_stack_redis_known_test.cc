// Known faults of people who use Redis as we do (K21 and K26 of what others met), on two servers
// over PostgreSQL and Redis, one or a cluster; and a Redis that wants TLS and a login. K23 and K24
// break the line to Redis: full_stack_redis_line_test; K25 is full_stack_late_fill_test.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using client::Mutation;

void RequireRestarted(RedisServer& redis) {
  const absl::Status restarted = redis.Restart();
  INFO(restarted);
  REQUIRE(restarted.ok());
}

int64_t NumberOf(const std::string& reply) {
  int64_t number = -1'000'000;
  (void)absl::SimpleAtoi(reply, &number);
  return number;
}

// A number of Redis's INFO.
double InfoOf(const RedisServer& redis, const std::string& section, const std::string& field) {
  const std::string info = redis.Command({"INFO", section});
  for (absl::string_view line : absl::StrSplit(info, absl::ByAnyChar("\r\n"))) {
    double value = 0;
    if (absl::ConsumePrefix(&line, field + ":") && absl::SimpleAtod(line, &value)) return value;
  }
  return -1;
}

TEST_CASE("K21: Redis dies, breaks connections and comes back, servers come and go: all is well") {
  FullStack stack;
  std::mt19937_64 random(TestSeed());
  MixedLoad load(stack, {.single_writers = 8, .batch_writers = 2, .readers = 2});
  const absl::Time end = absl::Now() + Sized(absl::Seconds(4), absl::Minutes(10));
  int rounds = 0;
  while (absl::Now() < end) {
    ++rounds;
    const auto passing = stack.StartAnother({});
    stack.redis().Command({"CLIENT", "KILL", "TYPE", "normal"});
    absl::SleepFor(absl::Milliseconds(random() % 500));
    stack.redis().Kill9();
    absl::SleepFor(absl::Milliseconds(random() % Sized(200, 1500)));
    StopServer(*passing);
    RequireRestarted(stack.redis());
    absl::SleepFor(absl::Milliseconds(500 + random() % 500));
  }
  const MixedLoadReport report = load.Stop();
  WARN(rounds << " rounds");
  RequireFlawless(report, stack);
  for (int i = 0; i < FullStack::kServers; ++i)
    CHECK_FALSE(stack.server(i).WaitExit(absl::ZeroDuration()).has_value());
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
  stack.RequireSound();
}

TEST_CASE("K26: a user who likes without end keeps 1000 recent likes that end, and slows nobody") {
  constexpr int64_t kUser = 9;
  constexpr int64_t kBatch = 100;
  constexpr int kSlowMs = 10;
  FullStack stack;
  const std::string key = absl::StrCat("recent_likes:{", kUser, "}");
  const RedisServer& redis = stack.redis_of(key);
  redis.Command({"CONFIG", "SET", "slowlog-log-slower-than", absl::StrCat(kSlowMs * 1000)});
  redis.Command({"CONFIG", "RESETSTAT"});
  const auto cpu_ms = [&] {
    return 1000 * (InfoOf(redis, "cpu", "used_cpu_user_main_thread") +
                   InfoOf(redis, "cpu", "used_cpu_sys_main_thread"));
  };
  // The set begins with a read that finds a like.
  int64_t post = 1;
  REQUIRE(stack.client(0).WriteLikes({{kUser, Post(post)}}).ok());
  REQUIRE(stack.client(0).HasLiked(kUser, {Post(post)}).ok());
  const int64_t batches = Sized(30, 1000);
  int slow = 0;
  int slow_by_itself = 0;
  double most_ms = 0;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<Mutation> likes;
    for (int64_t i = 0; i < kBatch; ++i) likes.push_back({kUser, Post(++post)});
    redis.Command({"SLOWLOG", "RESET"});
    const double before_ms = cpu_ms();
    REQUIRE(stack.client(static_cast<int>(batch % 2)).WriteLikes(likes).ok());
    const double took_ms = cpu_ms() - before_ms;
    most_ms = std::max(most_ms, took_ms);
    // A command is slow, too, when the machine takes the processor away from Redis. One that is
    // slow by itself takes that time of the processor, and so does the next of its size.
    if (NumberOf(redis.Command({"SLOWLOG", "LEN"})) > 0) {
      ++slow;
      slow_by_itself += took_ms < kSlowMs ? 0 : 1;
    }
    CHECK(NumberOf(redis.Command({"ZCARD", key})) <= 1000);
    for (const char* part : {"", ":versions"})
      CHECK(NumberOf(redis.Command({"PTTL", key + part})) > 0);
  }
  WARN(slow << " batches with a slow command; a batch of 100 likes took Redis at most " << most_ms
            << " ms of the processor");
  CHECK(slow_by_itself <= batches / 100);
  CHECK(redis.Command({"ZCARD", key}) == "1000");
  CHECK(NumberOf(redis.Command({"HLEN", key + ":versions"})) <= 1101);
  // Nothing reads a whole set.
  const std::string commands = redis.Command({"INFO", "commandstats"});
  REQUIRE(absl::StrContains(commands, "cmdstat_zadd"));
  for (const char* command : {"smembers", "hgetall", "hkeys", "keys"})
    CHECK_FALSE(absl::StrContains(commands, absl::StrCat("cmdstat_", command, ":")));
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == absl::StrCat(post));
}

TEST_CASE("A Redis that wants TLS, a user and a password is used, and not with a wrong one") {
  FullStack stack({}, {.tls = true});
  REQUIRE(stack.redis().Command({"ACL", "SETUSER", "counter", "on", ">s3cret", "~*", "&*", "+@all",
                                 "-@dangerous", "+info", "+role"}) == "OK");
  const auto start = [&](const char* password, const Settings& more) {
    Settings settings = more;
    settings["REDIS_URL"] =
        absl::StrCat("rediss://counter:", password, "@localhost:", stack.redis().tls_port());
    return stack.StartAnother(settings);
  };
  const Settings trust = {{"SSL_CERT_FILE", stack.redis().ca_file()}};
  const auto good = start("s3cret", trust);
  CHECK(Eventually(absl::Seconds(10) * Slowness(),
                   [&] { return MetricOf(*good, "counter_redis_connected") == 1; }));
  REQUIRE(ConnectTo(*good).Like(1, Post(1)).ok());
  CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
    const auto read = ConnectTo(*good).Count(Post(1));
    return read.ok() && read->count.source == client::Source::kCache && read->count.count == 1;
  }));
  // Without trust in the certificate, or with another password, callers notice nothing.
  for (const auto& bad : {start("s3cret", {}), start("wrong", trust)}) {
    CHECK(Eventually(absl::Seconds(10) * Slowness(),
                     [&] { return MetricOf(*bad, "counter_redis_breaks_total") > 1; }));
    CHECK(MetricOf(*bad, "counter_redis_connected") == 0);
    CHECK(ConnectTo(*bad).Count(Post(1)).value().count.count == 1);
  }
}

}  // namespace
}  // namespace counter::testing
