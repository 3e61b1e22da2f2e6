// What callers of two servers notice when Redis fails under load (D8; design.md section 3.6):
// nothing. No error, no wrong answer, and the cache is true and used again by itself.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// How long a fault stands.
absl::Duration FaultTime() { return absl::Seconds(Sized(2, 60)); }

// Whether both servers come to answer from the cache again.
bool CacheIsUsedAgain(const FullStack& stack) {
  constexpr absl::Duration kHealsWithin = absl::Seconds(10);
  int64_t post =
      1'000'000;  // None of the load's; always a new one: of an old one a lease may stand.
  return Eventually(kHealsWithin * Slowness(), [&] {
    ++post;
    for (int i = 0; i < FullStack::kServers; ++i) (void)stack.client(i).Count(Post(post));
    for (int i = 0; i < FullStack::kServers; ++i) {
      const auto read = stack.client(i).Count(Post(post));
      if (!read.ok() || read->count.source != client::Source::kCache) return false;
    }
    return true;
  });
}

// Runs `fault` under load and looks at what callers saw.
void RequireUnnoticed(const FullStack& stack, const std::function<void()>& fault) {
  MixedLoadOptions options;
  options.single_writers = 16;
  options.batch_writers = 4;
  MixedLoad load(stack, options);
  const auto running = [] { absl::SleepFor(absl::Seconds(1)); };
  running();
  fault();
  running();
  const MixedLoadReport report = load.Stop();
  RequireFlawless(report, stack);
  // A call has a few words with Redis, each with a budget of 20 ms, and a machine that is busy.
  CHECK(report.writes.slowest < absl::Seconds(2) * Slowness());
  CHECK(CacheIsUsedAgain(stack));
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
  stack.RequireSound();
}

void RequireRestarted(RedisServer& redis) {
  const absl::Status restarted = redis.Restart();
  INFO(restarted);
  REQUIRE(restarted.ok());
}

TEST_CASE("D8: a Redis that is killed under load, and comes back empty, fails nobody's like") {
  FullStack stack;
  RequireUnnoticed(stack, [&] {
    stack.redis().Kill9();
    absl::SleepFor(FaultTime());
    RequireRestarted(stack.redis());
  });
}

TEST_CASE("D8: a Redis that stops answering under load, and goes on later, fails nobody's like") {
  FullStack stack;
  RequireUnnoticed(stack, [&] {
    stack.redis().Pause();
    absl::SleepFor(FaultTime());
    stack.redis().Continue();
  });
}

TEST_CASE("D8: a Redis that is flushed under load, scripts too, fails nobody's like") {
  FullStack stack;
  RequireUnnoticed(stack, [&] {
    for (int i = 0; i < 10; ++i) {
      CHECK(stack.redis().Command({"FLUSHALL"}) == "OK");
      CHECK(stack.redis().Command({"SCRIPT", "FLUSH"}) == "OK");
      absl::SleepFor(FaultTime() / 10);
    }
  });
}

TEST_CASE("D8: a Redis that takes no writes for a while fails nobody's like") {
  FullStack stack;
  RequireUnnoticed(stack, [&] {
    CHECK(stack.redis().Command({"CONFIG", "SET", "min-replicas-to-write", "1"}) == "OK");
    absl::SleepFor(FaultTime());
    CHECK(stack.redis().Command({"CONFIG", "SET", "min-replicas-to-write", "0"}) == "OK");
  });
}

TEST_CASE("D8: a Redis whose memory is full for a while fails nobody's like") {
  FullStack stack;
  RequireUnnoticed(stack, [&] {
    CHECK(stack.redis().Command({"CONFIG", "SET", "maxmemory", "1"}) == "OK");
    absl::SleepFor(FaultTime());
    CHECK(stack.redis().Command({"CONFIG", "SET", "maxmemory", "0"}) == "OK");
  });
}

TEST_CASE("D8: servers start, write and read while there is no Redis, and use it when it comes") {
  FullStack stack;
  stack.redis().Kill9();
  const auto late = stack.StartAnother({});
  const Client client = ConnectTo(*late);
  CHECK(client.Like(1, Post(1)).value().changed);
  CHECK(client.Count(Post(1)).value().count.count == 1);
  CHECK(client.HasLiked(1, {Post(1)}).value().liked[0]);
  RequireRestarted(stack.redis());
  CHECK(CacheIsUsedAgain(stack));
}

}  // namespace
}  // namespace counter::testing
