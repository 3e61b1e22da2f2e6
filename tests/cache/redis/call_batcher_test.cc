#include "cache/redis/call_batcher.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "tests/cache/redis/scripted_channel.h"

namespace counter::redis::testing {
namespace {

using Numbers = std::vector<int>;

MonotonicTime At(int ms) { return MonotonicTime() + absl::Milliseconds(ms); }

// Runs that end when the test says so, with ten times what they were given.
class Runs {
 public:
  Task<Numbers> Run(Numbers parts, MonotonicTime deadline) {
    auto start = [&](Resumer<bool> resume) {
      under_way_.emplace_back(Given{parts, deadline}, resume);
    };
    CallbackAwaitable<bool, decltype(start)> ended(start);
    (void)co_await ended;
    for (int& part : parts) part *= 10;
    co_return parts;
  }

  struct Given {
    Numbers parts;
    MonotonicTime deadline;
  };
  bool is_under_way() const { return !under_way_.empty(); }
  const Given& given() const { return under_way_.front().first; }
  // Requires is_under_way().
  void End() {
    Resumer<bool> resume = under_way_.front().second;
    under_way_.erase(under_way_.begin());
    resume(true);
  }

  CallBatcher<int, int> batcher{
      [this](Numbers parts, MonotonicTime deadline) { return Run(std::move(parts), deadline); }};

 private:
  std::vector<std::pair<Given, Resumer<bool>>> under_way_;
};

TEST_CASE("call batcher: a call that finds nothing under way runs at once, as it is") {
  Runs runs;
  Started<Numbers> call(runs.batcher.Call({1, 2}, At(7)));
  REQUIRE(runs.is_under_way());
  CHECK(runs.given().parts == Numbers{1, 2});
  CHECK(runs.given().deadline == At(7));
  CHECK_FALSE(call.ended());
  runs.End();
  REQUIRE(call.ended());
  CHECK(call.value() == Numbers{10, 20});
  CHECK_FALSE(runs.is_under_way());
  Started<Numbers> next(runs.batcher.Call({3}, At(8)));
  CHECK(runs.is_under_way());
  runs.End();
  CHECK(next.value() == Numbers{30});
}

TEST_CASE("call batcher: what comes meanwhile leaves together, with the earliest deadline") {
  Runs runs;
  Started<Numbers> first(runs.batcher.Call({1}, At(5)));
  Started<Numbers> second(runs.batcher.Call({2, 3}, At(9)));
  Started<Numbers> third(runs.batcher.Call({4}, At(8)));
  CHECK(runs.given().parts == Numbers{1});
  runs.End();
  REQUIRE(first.ended());
  CHECK(first.value() == Numbers{10});
  REQUIRE(runs.is_under_way());
  CHECK(runs.given().parts == Numbers{2, 3, 4});
  CHECK(runs.given().deadline == At(8));
  CHECK_FALSE(second.ended());
  // What comes now is not of this run.
  Started<Numbers> fourth(runs.batcher.Call({5}, At(9)));
  runs.End();
  CHECK(second.value() == Numbers{20, 30});
  CHECK(third.value() == Numbers{40});
  CHECK_FALSE(fourth.ended());
  runs.End();
  CHECK(fourth.value() == Numbers{50});
}

TEST_CASE("call batcher: a run of several calls has its bound, a large call runs alone") {
  Runs runs;
  Numbers large(kBatchPartsMax + 1);
  std::iota(large.begin(), large.end(), 1);
  Started<Numbers> first(runs.batcher.Call({1}, At(5)));
  Started<Numbers> second(runs.batcher.Call(Numbers(kBatchPartsMax - 1, 2), At(5)));
  Started<Numbers> third(runs.batcher.Call({3}, At(5)));
  Started<Numbers> fourth(runs.batcher.Call({4}, At(5)));
  Started<Numbers> fifth(runs.batcher.Call(large, At(5)));
  runs.End();
  CHECK(runs.given().parts.size() == kBatchPartsMax);
  runs.End();
  CHECK(third.ended());
  CHECK_FALSE(fourth.ended());
  CHECK(runs.given().parts == Numbers{4});
  runs.End();
  CHECK(runs.given().parts == large);
  runs.End();
  CHECK(fifth.value().back() == 10 * (static_cast<int>(kBatchPartsMax) + 1));
}

TEST_CASE("call batcher: callers of many threads get what is theirs") {
  std::atomic<int> under_way = 0;
  std::atomic<bool> overlapped = false;
  CallBatcher<int, int> batcher([&](Numbers parts, MonotonicTime) -> Task<Numbers> {
    if (++under_way > 1) overlapped = true;
    for (int& part : parts) part *= 10;
    --under_way;
    co_return parts;
  });
  constexpr int kThreads = 8;
  constexpr int kCalls = 2000;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kCalls; ++i) {
        const int part = thread * kCalls + i;
        const Numbers results = BlockingWait(batcher.Call({part, part + 1}, At(1)));
        if (results != Numbers{10 * part, 10 * part + 10}) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK_FALSE(overlapped);
}

}  // namespace
}  // namespace counter::redis::testing
