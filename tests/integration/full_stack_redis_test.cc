// What callers of two servers notice when Redis fails under load (D8; design.md section 3.6):
// nothing. No error, no wrong answer, no more waiting than until the breaker opens, and the cache
// is true and used again by itself.
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

// What both servers have counted so far.
struct Seen {
  double hits = 0;
  double leases = 0;  // Misses that Redis answered.
  double reads = 0;
  double slow_reads = 0;  // Longer than the budget of a word with Redis, 20 ms.
  double calls = 0;       // Reads and writes.
  double timeouts = 0;    // Of requests to Redis: each makes a call wait for 20 ms.
};

Seen SeenBy(FullStack& stack) {
  Seen seen;
  for (int i = 0; i < FullStack::kServers; ++i) {
    const auto metrics = stack.server(i).Metrics();
    REQUIRE(metrics.ok());
    seen.hits +=
        metrics->Sum("counter_cache_lookups_total", {{"cache", "counter"}, {"result", "hit"}});
    seen.leases += metrics->Sum("counter_cache_leases_total");
    const auto calls = [&](const char* method) {
      return metrics->Sum("grpc_server_handling_seconds_count", {{"grpc_method", method}});
    };
    for (const char* method : {"BatchGetCounts", "HasLiked"}) {
      seen.reads += calls(method);
      seen.slow_reads += calls(method) - metrics->Sum("grpc_server_handling_seconds_bucket",
                                                      {{"grpc_method", method}, {"le", "0.02"}});
    }
    for (const char* method : {"BatchGetCounts", "HasLiked", "Like", "Unlike", "WriteLikes"})
      seen.calls += calls(method);
    seen.timeouts += metrics->Sum("counter_redis_requests_total", {{"result", "timed_out"}});
  }
  return seen;
}

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// What callers had to wait for between two looks.
struct Waiting {
  Waiting(const Seen& from, const Seen& to)
      : slow_reads(Share(to.slow_reads - from.slow_reads, to.reads - from.reads)),
        timeouts(Share(to.timeouts - from.timeouts, to.calls - from.calls)) {}
  double slow_reads = 0;  // Share of all reads.
  double timeouts = 0;    // A call.
};

// Whether under the load that runs most counts come from the cache again. What Redis did not answer
// is left out: on a busy machine it may be slow without any fault.
bool HitsAreBack(FullStack& stack) {
  constexpr absl::Duration kWithin = absl::Seconds(10);
  return Eventually(kWithin * Slowness(), [&] {
    const Seen from = SeenBy(stack);
    absl::SleepFor(absl::Milliseconds(300));
    const Seen to = SeenBy(stack);
    const double hits = to.hits - from.hits;
    return hits > 0 && hits / (hits + to.leases - from.leases) >= 0.9;
  });
}

// Runs `fault` under load and looks at what callers saw.
void RequireUnnoticed(FullStack& stack, const std::function<void()>& fault) {
  MixedLoadOptions options;
  options.single_writers = 16;
  options.batch_writers = 4;
  MixedLoad load(stack, options);
  const auto running = [] { absl::SleepFor(absl::Seconds(1)); };
  running();
  const Seen start = SeenBy(stack);
  running();
  const Seen before = SeenBy(stack);
  fault();
  const Waiting usual(start, before);
  const Waiting during(before, SeenBy(stack));
  const absl::Time fault_over = absl::Now();
  CHECK(HitsAreBack(stack));
  WARN("hits are back after " << absl::Now() - fault_over << "; reads over 20 ms: usually "
                              << usual.slow_reads << ", during the fault " << during.slow_reads
                              << "; timeouts a call: " << usual.timeouts << ", "
                              << during.timeouts);
  const MixedLoadReport report = load.Stop();
  RequireFlawless(report, stack);
  // A call has a few words with Redis, each with a budget of 20 ms, until the breaker opens. If it
  // did not open, every call would wait; what is slow besides is the machine's and the store's.
  CHECK(during.slow_reads <= 0.25 + 2 * usual.slow_reads);
  CHECK(during.timeouts <= 0.25 + 2 * usual.timeouts);
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

TEST_CASE("D8: a Redis that becomes a read-only replica for a while fails nobody's like") {
  FullStack stack;
  RequireUnnoticed(stack, [&] {
    CHECK(stack.redis().Command({"REPLICAOF", "127.0.0.1", "1"}) == "OK");
    absl::SleepFor(FaultTime());
    CHECK(stack.redis().Command({"REPLICAOF", "NO", "ONE"}) == "OK");
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
