// What callers of two servers notice when Redis fails under load (D8; design.md section 3.6):
// nothing. No error, no wrong answer, no more waiting than until the breaker opens, and within 10 s
// the cache is true and used again by itself. Of a Redis Cluster one master suffers, or all.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_counted.h"
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

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Likes and unlikes at a steady pace through both servers, each of them timed.
class TimedWrites {
 public:
  explicit TimedWrites(const FullStack& stack) {
    for (int i = 0; i < FullStack::kServers; ++i) {
      threads_.emplace_back([this, &client = stack.client(i), post = kPost + i] {
        // An unlike is the last, so that nothing of it is there when the load's rows are counted.
        for (int call = 0; !over_ || call % 2 == 1; ++call) Write(client, call % 2 == 0, post);
      });
    }
  }
  ~TimedWrites() { Stop(); }
  TimedWrites(const TimedWrites&) = delete;
  TimedWrites& operator=(const TimedWrites&) = delete;

  // What those that ended since the last look took, shortest first.
  std::vector<absl::Duration> Take() {
    MutexLock lock(mutex_);
    std::vector<absl::Duration> took = std::exchange(took_, {});
    std::sort(took.begin(), took.end());
    return took;
  }
  void Stop() {
    over_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  int errors() const { return errors_; }

 private:
  static constexpr int64_t kPost = 500'000;  // None of the load's.
  static constexpr int64_t kUser = 1;

  void Write(const Client& client, bool like, int64_t post) {
    const absl::Time start = absl::Now();
    const bool ok =
        like ? client.Like(kUser, Post(post)).ok() : client.Unlike(kUser, Post(post)).ok();
    if (!ok) ++errors_;
    {
      MutexLock lock(mutex_);
      took_.push_back(absl::Now() - start);
    }
    absl::SleepFor(absl::Milliseconds(4));
  }

  std::atomic<bool> over_ = false;
  std::atomic<int> errors_ = 0;
  Mutex mutex_;
  std::vector<absl::Duration> took_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

// The shortest time that so many of 100 did not exceed.
absl::Duration Percentile(const std::vector<absl::Duration>& sorted, size_t percent) {
  REQUIRE_FALSE(sorted.empty());
  return sorted[(sorted.size() - 1) * percent / 100];
}

// How large a part of them was longer.
double ShareAbove(const std::vector<absl::Duration>& sorted, absl::Duration limit) {
  const auto above = sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), limit);
  return Share(static_cast<double>(above), static_cast<double>(sorted.size()));
}

// Runs `fault` under load and looks at what callers saw: before it, while it stands, and when all
// is well again.
void RequireUnnoticed(FullStack& stack, const std::function<void()>& fault) {
  // Less than what two processors can do, or nothing is in time without any fault.
  MixedLoadOptions options;
  options.single_writers = 4;
  options.batch_writers = 1;
  options.readers = 2;
  // The replica that takes over need not have had the last puts.
  options.cached_counts_may_go_back = OnRedisCluster();
  MixedLoad load(stack, options);
  TimedWrites writes(stack);
  const auto running = [] { absl::SleepFor(absl::Milliseconds(1500)); };
  absl::SleepFor(absl::Seconds(1));
  writes.Take();
  const Counted start = CountedBy(stack);
  running();
  const Counted before = CountedBy(stack);
  const std::vector<absl::Duration> took_before = writes.Take();
  fault();
  const Counted during = CountedBy(stack);
  const std::vector<absl::Duration> took_during = writes.Take();
  const absl::Time fault_over = absl::Now();
  const double usual_ratio = HitRatio(start, before);
  CHECK(HitsAreBack(stack, usual_ratio));
  const absl::Duration back_after = absl::Now() - fault_over;
  writes.Take();
  const Counted healed = CountedBy(stack);
  running();
  const Counted after = CountedBy(stack);
  const std::vector<absl::Duration> took_after = writes.Take();
  writes.Stop();
  const MixedLoadReport report = load.Stop();

  // A write may take as much longer as one word with Redis may take, and that only until the
  // breaker opens. What it takes besides is the machine's and the store's: so it is held against
  // the slower of before and after, in this run. One in ten is slower than that without any fault.
  constexpr absl::Duration kBudget = absl::Milliseconds(20);
  const auto usual = [&](size_t percent) {
    return std::max(Percentile(took_before, percent), Percentile(took_after, percent));
  };
  const absl::Duration added = Percentile(took_during, 50) - usual(50);
  const double slow = ShareAbove(took_during, usual(90) + kBudget);
  INFO("of " << took_during.size() << " writes");
  CHECK(added <= kBudget);
  CHECK(slow <= 0.25);
  WARN("half of the writes took usually up to " << usual(50) << ", during the fault " << added
                                                << " longer; a share of " << slow << " more than "
                                                << usual(90) + kBudget);
  const double usual_timeouts =
      std::max(TimeoutsACall(start, before), TimeoutsACall(healed, after));
  const double timeouts = TimeoutsACall(before, during);
  CHECK(timeouts <= 0.05 + 2 * usual_timeouts);
  WARN("hits, usually " << usual_ratio << ", are back after " << back_after
                        << "; timeouts a call: usually " << usual_timeouts << ", during the fault "
                        << timeouts);

  CHECK(writes.errors() == 0);
  RequireFlawless(report, stack);
  CHECK(CacheIsUsedAgain(stack));
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
  stack.RequireSound();
}

// With a limit that nobody reaches: a like asks Redis for it, too.
Settings Limited() { return {{"RATE_LIMIT_REQUESTS", "1000000"}}; }

// All that keep keys.
void Tell(const FullStack& stack, const std::vector<std::string>& command) {
  for (const RedisServer* redis : stack.redis_masters()) CHECK(redis->Command(command) == "OK");
}

void RequireRestarted(RedisServer& redis) {
  const absl::Status restarted = redis.Restart();
  INFO(restarted);
  REQUIRE(restarted.ok());
}

TEST_CASE("D8: a Redis that is killed under load, and comes back empty, fails nobody's like") {
  FullStack stack(Limited());
  RequireUnnoticed(stack, [&] {
    stack.redis().Kill9();
    absl::SleepFor(FaultTime());
    RequireRestarted(stack.redis());
  });
}

TEST_CASE("D8: a Redis that stops answering under load, and goes on later, fails nobody's like") {
  FullStack stack(Limited());
  RequireUnnoticed(stack, [&] {
    stack.redis().Pause();
    absl::SleepFor(FaultTime());
    stack.redis().Continue();
  });
}

TEST_CASE("D8: a Redis that is flushed under load, scripts too, fails nobody's like") {
  FullStack stack(Limited());
  RequireUnnoticed(stack, [&] {
    for (int i = 0; i < 10; ++i) {
      Tell(stack, {"FLUSHALL"});
      Tell(stack, {"SCRIPT", "FLUSH"});
      absl::SleepFor(FaultTime() / 10);
    }
  });
}

TEST_CASE("D8: a Redis that takes no writes for a while fails nobody's like") {
  FullStack stack(Limited());
  RequireUnnoticed(stack, [&] {
    CHECK(stack.redis().Command({"CONFIG", "SET", "min-replicas-to-write", "9"}) == "OK");
    absl::SleepFor(FaultTime());
    CHECK(stack.redis().Command({"CONFIG", "SET", "min-replicas-to-write", "0"}) == "OK");
  });
}

TEST_CASE("D8: a Redis that becomes a read-only replica for a while fails nobody's like") {
  FullStack stack(Limited());
  RequireUnnoticed(stack, [&] {
    if (OnRedisCluster()) {
      // It stays one: its replica is the master from now on.
      CHECK(stack.cluster().FailOver(stack.redis()).ok());
      absl::SleepFor(FaultTime());
      return;
    }
    CHECK(stack.redis().Command({"REPLICAOF", "127.0.0.1", "1"}) == "OK");
    absl::SleepFor(FaultTime());
    CHECK(stack.redis().Command({"REPLICAOF", "NO", "ONE"}) == "OK");
  });
}

TEST_CASE("D8: a Redis whose memory is full for a while fails nobody's like") {
  FullStack stack(Limited());
  RequireUnnoticed(stack, [&] {
    Tell(stack, {"CONFIG", "SET", "maxmemory", "1"});
    absl::SleepFor(FaultTime());
    Tell(stack, {"CONFIG", "SET", "maxmemory", "0"});
  });
}

TEST_CASE("D8: servers start, write and read while there is no Redis, and use it when it comes") {
  FullStack stack;
  std::vector<RedisServer*> all = {&stack.redis()};
  if (OnRedisCluster()) {
    all.clear();
    for (int i = 0; i < RedisCluster::kNodes; ++i) all.push_back(&stack.cluster().node(i));
  }
  for (RedisServer* redis : all) redis->Kill9();
  const auto late = stack.StartAnother({});
  const Client client = ConnectTo(*late);
  CHECK(client.Like(1, Post(1)).value().changed);
  CHECK(client.Count(Post(1)).value().count.count == 1);
  CHECK(client.HasLiked(1, {Post(1)}).value().liked[0]);
  for (RedisServer* redis : all) RequireRestarted(*redis);
  CHECK(CacheIsUsedAgain(stack));
}

}  // namespace
}  // namespace counter::testing
