#include "server/watch_hub.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/error.h"
#include "cache/local/local_count_cache.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/local/local_recent_likes.h"
#include "server/testing/model_store.h"

namespace counter {
namespace {

const Item kA = {ItemType{1}, 1};
const Item kB = {ItemType{1}, 2};

struct QuietObserver final : ServiceObserver {
  void CountLookups(int64_t, int64_t) override {}
  void RecentLikeLookups(int64_t, int64_t) override {}
  void RateLimited(int64_t) override {}
};

struct Setup {
  explicit Setup(WatchHub::Options options = {}) : hub(service, clock, options) {}

  void Like(int64_t user, const Item& item) {
    clock.Advance(absl::Seconds(1));
    REQUIRE(BlockingWait(service.Like(user, {"post", item.id}, {})).ok());
  }
  void Unlike(int64_t user, const Item& item) {
    clock.Advance(absl::Seconds(1));
    REQUIRE(BlockingWait(service.Unlike(user, {"post", item.id}, {})).ok());
  }
  void Round() { BlockingWait(hub.Round()); }
  std::unique_ptr<CountWatch> Watch(std::vector<Item> items) {
    auto watch = hub.Watch(std::move(items), service.Timeline(), std::make_shared<rpc::Wakeup>());
    REQUIRE(watch.ok());
    return *std::move(watch);
  }

  ManualClock clock;
  ModelStore store{clock};
  LocalCountCache count_cache{clock};
  LocalRecentLikes recent_likes{clock};
  LocalRateLimiter rate_limiter{clock, {.limit = 0, .window = absl::Seconds(60)}};
  QuietObserver observer;
  CounterService service{ItemTypes({{"post", {1}}}),
                         {store, count_cache, recent_likes, rate_limiter, clock, observer}};
  WatchHub hub;
};

TEST_CASE("a watch is told of the newest count of each item that changed, and once") {
  Setup setup;
  const auto watch = setup.Watch({kA, kB});
  setup.Like(1, kA);
  setup.Like(2, kA);
  setup.Round();
  const auto first = watch->Take();
  REQUIRE(first.size() == 2);  // Of B it knew nothing either.
  CHECK(first[0].place == 0);
  CHECK(first[0].count.count == 2);
  CHECK(first[1].count.count == 0);
  CHECK(watch->Take().empty());
  setup.Round();
  CHECK(watch->Take().empty());
  setup.Like(3, kB);
  setup.Round();
  const auto second = watch->Take();
  REQUIRE(second.size() == 1);
  CHECK(second[0].place == 1);
  CHECK(second[0].count.count == 1);
}

TEST_CASE("a watch that does not look for many changes finds one, the last") {
  Setup setup;
  const auto watch = setup.Watch({kA});
  for (int64_t user = 1; user <= 50; ++user) {
    setup.Like(user, kA);
    setup.Round();
  }
  const auto changes = watch->Take();
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].count.count == 50);
}

TEST_CASE("a count that falls is a change like any other") {
  Setup setup;
  setup.Like(1, kA);
  const auto watch = setup.Watch({kA});
  setup.Round();
  CHECK(watch->Take().at(0).count.count == 1);
  setup.Unlike(1, kA);
  setup.Round();
  CHECK(watch->Take().at(0).count.count == 0);
}

TEST_CASE("of a version that the caller knows, or a newer one, a watch is not told") {
  Setup setup;
  setup.Like(1, kA);
  const auto watch = setup.Watch({kA});
  setup.Round();
  const int64_t version = watch->Take().at(0).count.version;
  const auto informed = setup.Watch({kA});
  informed->Told(0, version);
  CHECK(informed->Take().empty());
  informed->Told(0, version - 1);  // It does not forget.
  CHECK(informed->Take().empty());
  setup.Like(2, kA);
  setup.Round();
  CHECK(informed->Take().at(0).count.version > version);
}

TEST_CASE("ten thousand watches of an item cost a round one read") {
  Setup setup;
  std::vector<std::unique_ptr<CountWatch>> watches;
  for (int i = 0; i < 10'000; ++i) watches.push_back(setup.Watch({kA}));
  CHECK(setup.hub.stats().watches == 10'000);
  CHECK(setup.hub.stats().items == 1);
  setup.Like(1, kA);
  // Nothing is in the cache: every lookup would be a read of the store.
  const int before = setup.store.reads();
  setup.Round();
  CHECK(setup.store.reads() - before == 1);
  for (const auto& watch : watches) CHECK(watch->Take().size() == 1);
}

TEST_CASE("an item that nobody watches any more is no longer read") {
  Setup setup;
  auto one = setup.Watch({kA, kB});
  auto other = setup.Watch({kB});
  one.reset();
  CHECK(setup.hub.stats().items == 1);
  other.reset();
  CHECK(setup.hub.stats().items == 0);
  const int before = setup.store.reads();
  setup.Round();
  CHECK(setup.store.reads() == before);
}

TEST_CASE("a read that fails keeps the old counts, and the next round makes it good") {
  Setup setup;
  const auto watch = setup.Watch({kA});
  setup.Round();
  CHECK(watch->Take().size() == 1);
  setup.Like(1, kA);
  setup.clock.Advance(absl::Hours(2));  // The cache has forgotten.
  setup.store.FailReads(MakeError(ErrorReason::kStoreUnavailable, "gone"));
  setup.Round();
  CHECK(watch->Take().empty());
  CHECK(watch->status().ok());
  CHECK(setup.hub.stats().failed_reads == 1);
  setup.store.FailReads(absl::OkStatus());
  setup.Round();
  CHECK(watch->Take().at(0).count.count == 1);
}

TEST_CASE("more than so many different items are refused as overloaded, the same ones are not") {
  Setup setup({.items_max = 2});
  const auto full = setup.Watch({kA, kB});
  const auto refused = setup.hub.Watch({kA, {ItemType{1}, 3}}, setup.service.Timeline(),
                                       std::make_shared<rpc::Wakeup>());
  CHECK(ReasonOf(refused.status()) == ErrorReason::kOverloaded);
  CHECK(RetryAfterOf(refused.status()).has_value());
  CHECK(setup.hub.stats().watches == 1);
  setup.Watch({kB, kA});
}

TEST_CASE("when the store has another history watches end, and new ones see only its counts") {
  Setup setup;
  setup.Like(1, kA);
  const auto watch = setup.Watch({kA});
  setup.Round();
  CHECK(watch->Take().size() == 1);
  const std::string old = setup.service.Timeline();
  setup.store.SetTimeline("another");
  setup.Like(2, kA);
  setup.Round();
  CHECK(watch->Take().empty());
  CHECK(ReasonOf(watch->status()) == ErrorReason::kResumeOutOfRange);
  CHECK(watch->status().code() == absl::StatusCode::kOutOfRange);
  CHECK(ReasonOf(setup.hub.Watch({kA}, old, std::make_shared<rpc::Wakeup>()).status()) ==
        ErrorReason::kResumeOutOfRange);
  const auto anew = setup.Watch({kA});
  setup.Round();
  CHECK(anew->Take().at(0).count.count == 2);
}

TEST_CASE("after the end watches say so, and new ones are refused") {
  Setup setup;
  const auto watch = setup.Watch({kA});
  setup.hub.End();
  CHECK(ReasonOf(watch->status()) == ErrorReason::kShuttingDown);
  const auto late =
      setup.hub.Watch({kA}, setup.service.Timeline(), std::make_shared<rpc::Wakeup>());
  CHECK(ReasonOf(late.status()) == ErrorReason::kShuttingDown);
}

TEST_CASE("a watch names its items once each, and what its caller knows of them") {
  Setup setup;
  const auto liked = BlockingWait(setup.service.Like(1, {"post", 1}, {}));
  const auto later = BlockingWait(setup.service.Like(2, {"post", 1}, {}));
  const auto watched =
      setup.service.CheckWatch({{{"post", 1}, {"post", 2}, {"post", 1}},
                                {later->consistency_token, liked->consistency_token}});
  REQUIRE(watched.ok());
  REQUIRE(watched->reads.size() == 2);
  CHECK(watched->names[1].id == 2);
  CHECK(watched->has_token == std::vector<bool>{true, false});
  CHECK(watched->reads[0].min_version > 0);
  CHECK(watched->reads[0].item == kA);
}

TEST_CASE("everything that is wrong with a watch is named at once") {
  Setup setup;
  const auto wrong = setup.service.CheckWatch({{{"nothing", 1}, {"post", 0}}, {"garbage"}});
  REQUIRE(ReasonOf(wrong.status()) == ErrorReason::kInvalidRequest);
  CHECK(FieldViolationsOf(wrong.status()).size() == 3);
  CHECK_FALSE(setup.service.CheckWatch({}).ok());
  CHECK(setup.service.CheckWatch({std::vector<ItemRef>(100, {"post", 1}), {}}).ok());
  CHECK_FALSE(setup.service.CheckWatch({std::vector<ItemRef>(101, {"post", 1}), {}}).ok());
}

TEST_CASE("a token of another history is out of range, unless the store cannot say which it has") {
  Setup setup;
  const std::string token = BlockingWait(setup.service.Like(1, {"post", 1}, {}))->consistency_token;
  setup.store.SetTimeline("another");
  const auto lost = setup.service.CheckWatch({{{"post", 1}}, {token}});
  CHECK(ReasonOf(lost.status()) == ErrorReason::kResumeOutOfRange);
  setup.store.SetHealth(absl::UnavailableError("gone"));
  const auto unknown = setup.service.CheckWatch({{{"post", 1}}, {token}});
  CHECK(ReasonOf(unknown.status()) == ErrorReason::kStoreUnavailable);
}

// Counts how often it is woken, until it is told to stop.
struct Sleeper {
  Sleeper() { Spawn(Sleep()); }
  ~Sleeper() {
    stop = true;
    wakeup->Wake();
  }

  Task<> Sleep() {
    while (!stop) {
      co_await wakeup->Wait();
      ++wakes;
    }
  }

  const std::shared_ptr<rpc::Wakeup> wakeup = std::make_shared<rpc::Wakeup>();
  bool stop = false;
  int wakes = 0;
};

TEST_CASE("a round wakes the watches of what changed, and no others") {
  Setup setup;
  Sleeper of_a;
  Sleeper of_b;
  const auto a = setup.hub.Watch({kA}, setup.service.Timeline(), of_a.wakeup);
  const auto b = setup.hub.Watch({kB}, setup.service.Timeline(), of_b.wakeup);
  setup.Round();
  CHECK(of_a.wakes == 1);
  CHECK(of_b.wakes == 1);
  setup.Like(1, kA);
  setup.Round();
  setup.Round();
  CHECK(of_a.wakes == 2);
  CHECK(of_b.wakes == 1);
}

TEST_CASE("while watches come, look and go, no version goes back and none is missed at the end") {
  Setup setup({.interval = absl::Milliseconds(1)});
  std::atomic<bool> stop = false;
  std::atomic<bool> went_back = false;
  setup.hub.Start();
  std::vector<std::thread> watchers;
  for (int i = 0; i < 3; ++i) {
    watchers.emplace_back([&] {
      while (!stop) {
        auto watch =
            setup.hub.Watch({kA, kB}, setup.service.Timeline(), std::make_shared<rpc::Wakeup>());
        if (!watch.ok()) continue;
        std::array<int64_t, 2> seen = {-1, -1};
        for (int look = 0; look < 50 && !stop; ++look) {
          for (const CountWatch::Change& change : (*watch)->Take()) {
            if (change.count.version <= seen[change.place]) went_back = true;
            seen[change.place] = change.count.version;
          }
        }
      }
    });
  }
  const auto watch = setup.Watch({kA});
  for (int64_t user = 1; user <= 200; ++user) setup.Like(user, user % 2 == 0 ? kA : kB);
  int64_t count = 0;
  const absl::Time until = absl::Now() + absl::Seconds(20);
  while (count != 100 && absl::Now() < until) {
    for (const CountWatch::Change& change : watch->Take()) count = change.count.count;
  }
  stop = true;
  for (std::thread& thread : watchers) thread.join();
  setup.hub.Stop();
  CHECK(count == 100);
  CHECK_FALSE(went_back);
}

}  // namespace
}  // namespace counter
