#include "server/check/sampled_writes.h"

#include <catch2/catch.hpp>
#include <vector>

#include "base/clock.h"

namespace counter {
namespace {

constexpr size_t kAll = 1000;

Item Post(int64_t id) { return {ItemType{1}, id}; }

std::vector<int64_t> IdsOf(const std::vector<DueCheck>& dues) {
  std::vector<int64_t> ids;
  for (const DueCheck& due : dues) ids.push_back(due.write.item.id);
  return ids;
}

TEST_CASE("a sampled write is due once at each age, and not a moment before") {
  ManualClock clock;
  SampledWrites writes(clock, {.writes_per_second = 1});
  const MonotonicTime start = clock.MonotonicNow();
  writes.Acknowledged(Post(7), 3, 1000);
  absl::Duration passed;
  for (int age = 0; age < kCheckAges; ++age) {
    const absl::Duration at = CheckAges()[static_cast<size_t>(age)];
    clock.Advance(at - passed - absl::Nanoseconds(1));
    CHECK(writes.TakeDue(kAll).empty());
    CHECK(writes.NextDue() == start + at);
    clock.Advance(absl::Nanoseconds(1));
    passed = at;
    const std::vector<DueCheck> dues = writes.TakeDue(kAll);
    REQUIRE(dues.size() == 1);
    CHECK(dues[0].age == age);
    CHECK(dues[0].write == KnownWrite{Post(7), 3, 1000});
    CHECK(dues[0].due == start + at);
    CHECK(writes.TakeDue(kAll).empty());
  }
  CHECK_FALSE(writes.NextDue().has_value());
  CHECK(writes.stats().waiting == 0);
  CHECK(writes.stats().taken == 1);
}

TEST_CASE("so many writes a second are taken, however many there are") {
  ManualClock clock;
  SampledWrites writes(clock, {.writes_per_second = 4});
  for (int i = 0; i < 1000; ++i) {
    writes.Acknowledged(Post(i + 1), 1, i + 1);
    clock.Advance(absl::Milliseconds(1));
  }
  CHECK(writes.stats().taken == 4);
  CHECK(writes.stats().dropped == 0);
}

TEST_CASE("with 0 writes a second nothing is taken") {
  ManualClock clock;
  SampledWrites writes(clock, {});
  writes.Acknowledged(Post(1), 1, 1);
  CHECK_FALSE(writes.takes_writes());
  CHECK(writes.stats().taken == 0);
  CHECK(writes.LastItems(10).empty());
}

TEST_CASE("what has no room is counted and not taken, until what waits has been checked") {
  ManualClock clock;
  SampledWrites writes(clock, {.writes_per_second = 1, .samples_max = 2});
  for (int64_t id = 1; id <= 5; ++id) {
    writes.Acknowledged(Post(id), 1, id);
    clock.Advance(absl::Seconds(1));
  }
  CHECK(writes.stats().taken == 2);
  CHECK(writes.stats().dropped == 3);
  clock.Advance(absl::Seconds(60));
  CHECK(writes.TakeDue(kAll).size() == 2);  // Each at the age at which it waits.
  CHECK(writes.TakeDue(kAll).size() == 2);
  CHECK(writes.TakeDue(kAll).size() == 2);
  CHECK(writes.TakeDue(kAll).size() == 2);
  CHECK(writes.stats().waiting == 0);
  writes.Acknowledged(Post(9), 1, 9);
  CHECK(writes.stats().taken == 3);
}

TEST_CASE("of what is due the oldest is given out first, and no more than is asked for") {
  ManualClock clock;
  SampledWrites writes(clock, {.writes_per_second = 1});
  writes.Acknowledged(Post(1), 1, 1);
  clock.Advance(absl::Seconds(1));
  CHECK(IdsOf(writes.TakeDue(kAll)) == std::vector<int64_t>{1});
  writes.Acknowledged(Post(2), 1, 2);
  clock.Advance(absl::Milliseconds(100));
  // The first is due since 0.1 s at the age of 1 s; the second since now at that of 0.1 s.
  CHECK(IdsOf(writes.TakeDue(1)) == std::vector<int64_t>{1});
  CHECK(IdsOf(writes.TakeDue(kAll)) == std::vector<int64_t>{2});
}

TEST_CASE("the last items are told newest first, each once") {
  ManualClock clock;
  SampledWrites writes(clock, {.writes_per_second = 1});
  for (const int64_t id : {1, 2, 1, 3}) {
    writes.Acknowledged(Post(id), 1, 1);
    clock.Advance(absl::Seconds(1));
  }
  CHECK(writes.LastItems(10) == std::vector<Item>{Post(3), Post(1), Post(2)});
  CHECK(writes.LastItems(1) == std::vector<Item>{Post(3)});
}

}  // namespace
}  // namespace counter
