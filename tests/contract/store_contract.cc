// Writes. Reads and audits are in store_contract_reads.cc, load in store_contract_load.cc.
#include "tests/contract/store_contract.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/time/clock.h"
#include "base/error.h"
#include "tests/contract/store_calls.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

constexpr int64_t kLargestId = std::numeric_limits<int64_t>::max();

int64_t WallMicros() { return absl::ToUnixMicros(absl::Now()); }

struct Fixture {
  std::unique_ptr<StoreUnderTest> under_test = MakeStoreUnderTest();
  LikeStore& store() { return under_test->store(); }
  Applied Do(const Mutation& mutation) { return ApplyOne(store(), mutation).value(); }
};

TEST_CASE("store: a like makes the transition once and counts it") {
  Fixture fixture;
  const Applied first = fixture.Do(Like(1, Post(1)));
  CHECK(first.changed);
  CHECK(first.count == 1);
  const Applied other = fixture.Do(Like(2, Post(1)));
  CHECK(other.changed);
  CHECK(other.count == 2);
  CHECK(Likes(fixture.store(), 1, Post(1)));
}

TEST_CASE("store: an unlike makes the transition once and counts it") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  fixture.Do(Like(2, Post(1)));
  const Applied first = fixture.Do(Unlike(1, Post(1)));
  CHECK(first.changed);
  CHECK(first.count == 1);
  CHECK_FALSE(Likes(fixture.store(), 1, Post(1)));
  CHECK(Likes(fixture.store(), 2, Post(1)));
}

TEST_CASE("store: a repeated like changes nothing, keeps the version and answers the count") {
  Fixture fixture;
  const Applied first = fixture.Do(Like(1, Post(1)));
  for (int i = 0; i < 3; ++i) {
    CHECK(fixture.Do(Like(1, Post(1))) == Applied{false, 1, first.version});
  }
}

TEST_CASE("store: a repeated unlike changes nothing and never goes below zero (K28)") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  const Applied unliked = fixture.Do(Unlike(1, Post(1)));
  CHECK(unliked.changed);
  for (int i = 0; i < 3; ++i) {
    CHECK(fixture.Do(Unlike(1, Post(1))) == Applied{false, 0, unliked.version});
  }
  CHECK(CountOf(fixture.store(), Post(1)).count == 0);
}

TEST_CASE("store: an unlike of an item that never was answers count 0 at version 0") {
  Fixture fixture;
  CHECK(fixture.Do(Unlike(1, Post(1))) == Applied{false, 0, 0});
  CHECK(CountOf(fixture.store(), Post(1)).version == 0);
}

TEST_CASE("store: an unlike by one who does not like it takes nobody else's like") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  CHECK_FALSE(fixture.Do(Unlike(2, Post(1))).changed);
  CHECK(CountOf(fixture.store(), Post(1)).count == 1);
}

TEST_CASE("store: an item's version rises with every change and is never behind the clock") {
  Fixture fixture;
  int64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const int64_t before = WallMicros();
    const Applied applied = fixture.Do(i % 2 == 0 ? Like(1, Post(1)) : Unlike(1, Post(1)));
    CHECK(applied.changed);
    CHECK(applied.version > last);
    CHECK(applied.version >= before);
    last = applied.version;
  }
}

TEST_CASE("store: types with equal ids are different items") {
  Fixture fixture;
  fixture.Do(Like(1, {ItemType{1}, 7}));
  CHECK(CountOf(fixture.store(), {ItemType{2}, 7}).count == 0);
  CHECK(fixture.Do(Like(1, {ItemType{2}, 7})).changed);
  CHECK(fixture.Do(Unlike(1, {ItemType{1}, 7})).changed);
  CHECK(CountOf(fixture.store(), {ItemType{2}, 7}).count == 1);
}

TEST_CASE("store: the largest ids are ids like any other") {
  Fixture fixture;
  CHECK(fixture.Do(Like(kLargestId, Post(kLargestId))).changed);
  CHECK(Likes(fixture.store(), kLargestId, Post(kLargestId)));
  CHECK(AuditAll(fixture.store()).findings.empty());
  CHECK(fixture.Do(Unlike(kLargestId, Post(kLargestId))).changed);
}

TEST_CASE("store: an Apply of nothing answers nothing") {
  Fixture fixture;
  CHECK(Apply(fixture.store(), {}).empty());
}

TEST_CASE("store: result i is of mutation i") {
  Fixture fixture;
  fixture.Do(Like(5, Post(5)));
  std::vector<Mutation> mutations;
  for (int64_t id = 9; id >= 1; --id) mutations.push_back(Like(id, Post(id)));
  const Results results = Apply(fixture.store(), mutations);
  REQUIRE(results.size() == mutations.size());
  for (size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i]->changed == (mutations[i].user.value != 5));
    CHECK(results[i]->count == 1);
  }
}

TEST_CASE("store: mutations of one Apply on one pair take effect in their order") {
  Fixture fixture;
  const Item item = Post(1);
  const Results results =
      Apply(fixture.store(), {Like(1, item), Unlike(1, item), Like(1, item), Unlike(1, item),
                              Unlike(1, item), Like(1, item), Like(1, item)});
  const std::vector<bool> changed = {true, true, true, true, false, true, false};
  const std::vector<int64_t> counts = {1, 0, 1, 0, 0, 1, 1};
  for (size_t i = 0; i < results.size(); ++i) {
    INFO("mutation " << i);
    CHECK(results[i]->changed == changed[i]);
    CHECK(results[i]->count == counts[i]);
    if (i > 0) CHECK((results[i]->version > results[i - 1]->version) == changed[i]);
  }
  CHECK(Likes(fixture.store(), 1, item));
}

TEST_CASE("store: equal mutations of one Apply make one transition (K13)") {
  Fixture fixture;
  const Results results = Apply(fixture.store(), std::vector<Mutation>(500, Like(1, Post(1))));
  CHECK(results[0]->changed);
  for (size_t i = 1; i < results.size(); ++i) {
    CHECK(*results[i] == Applied{false, 1, results[0]->version});
  }
}

TEST_CASE("store: many users like one item in one Apply and each is counted (K13)") {
  Fixture fixture;
  std::vector<Mutation> mutations;
  for (int64_t user = 1; user <= 500; ++user) mutations.push_back(Like(user, Post(1)));
  for (const absl::StatusOr<Applied>& result : Apply(fixture.store(), mutations)) {
    CHECK(result->changed);
    CHECK(result->count >= 1);
    CHECK(result->count <= 500);
  }
  CHECK(CountOf(fixture.store(), Post(1)).count == 500);
  CHECK(AuditAll(fixture.store()).findings.empty());
}

TEST_CASE("store: of 64 concurrent equal likes exactly one changes anything (K27)") {
  Fixture fixture;
  for (int round = 0; round < 20; ++round) {
    const Item item = Post(1 + round);
    std::vector<Applied> answers(64);
    RunWorkers(64, [&](int worker) {
      answers[static_cast<size_t>(worker)] = ApplyOne(fixture.store(), Like(1, item)).value();
    });
    int changed = 0;
    for (const Applied& answer : answers) {
      changed += answer.changed ? 1 : 0;
      // A repeat that waited for the first like sees it.
      CHECK(answer.count == 1);
      CHECK(answer.version == answers[0].version);
    }
    CHECK(changed == 1);
  }
  CHECK(AuditAll(fixture.store()).findings.empty());
}

TEST_CASE("store: of 64 concurrent equal unlikes exactly one changes anything (K28)") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  std::vector<Applied> answers(64);
  RunWorkers(64, [&](int worker) {
    answers[static_cast<size_t>(worker)] = ApplyOne(fixture.store(), Unlike(1, Post(1))).value();
  });
  const auto changed =
      std::count_if(answers.begin(), answers.end(), [](const Applied& one) { return one.changed; });
  CHECK(changed == 1);
  for (const Applied& answer : answers) CHECK(answer.count == 0);
}

TEST_CASE("store: a duplicate like does not abort the others of its transaction (D14)") {
  Fixture fixture;
  fixture.Do(Like(2, Post(1)));
  const Results results =
      Apply(fixture.store(), {Like(1, Post(1)), Like(2, Post(1)), Like(3, Post(1))});
  CHECK(results[0]->changed);
  CHECK_FALSE(results[1]->changed);
  CHECK(results[2]->changed);
  CHECK(CountOf(fixture.store(), Post(1)).count == 3);
}

TEST_CASE("store: a count that has drifted is refused, not clamped (D12)") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  fixture.under_test->PlantCounter(Post(1), 0, 0);
  const absl::StatusOr<Applied> unliked = ApplyOne(fixture.store(), Unlike(1, Post(1)));
  REQUIRE_FALSE(unliked.ok());
  CHECK(ReasonOf(unliked.status()) == ErrorReason::kInternal);
  CHECK(IsNotApplied(unliked.status()));
  CHECK(Likes(fixture.store(), 1, Post(1)));  // Nothing was applied.
  CHECK(AuditAll(fixture.store()).findings.size() == 1);
}

TEST_CASE("store: the schema refuses a negative count") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  CHECK(fixture.under_test->RefusesNegativeCount(Post(1)));
}

TEST_CASE("store: a mutation that fails does not change what happens to the others (K12)") {
  Fixture fixture;
  fixture.Do(Like(1, Post(50)));
  fixture.under_test->PlantCounter(Post(50), 0, 0);
  for (int round = 0; round < 10; ++round) {
    std::vector<Mutation> mutations;
    for (int64_t id = 1; id <= 100; ++id) {
      mutations.push_back(round % 2 == 0 ? Like(1, Post(id)) : Unlike(1, Post(id)));
    }
    const Results results = Apply(fixture.store(), mutations);
    for (int64_t id = 1; id <= 100; ++id) {
      const absl::StatusOr<Applied>& result = results[static_cast<size_t>(id - 1)];
      INFO("round " << round << ", item " << id);
      if (id == 50) {
        CHECK(result.ok() == (round % 2 == 0));  // It is liked already: a repeat.
      } else {
        REQUIRE(result.ok());
        CHECK(result->changed);
      }
    }
  }
  CHECK(AuditAll(fixture.store()).findings.size() == 1);
}

TEST_CASE("store: an expired write costs nothing and is marked as not applied") {
  Fixture fixture;
  const absl::StatusOr<Applied> late = ApplyOne(fixture.store(), Like(1, Post(1)), ExpiredLimits());
  CHECK(ReasonOf(late.status()) == ErrorReason::kDeadlineExceeded);
  CHECK(IsNotApplied(late.status()));
  CHECK_FALSE(Likes(fixture.store(), 1, Post(1)));
}

TEST_CASE("store: a cancelled write costs nothing and is marked as not applied") {
  Fixture fixture;
  const absl::StatusOr<Applied> gone =
      ApplyOne(fixture.store(), Like(1, Post(1)), CancelledLimits());
  CHECK(ReasonOf(gone.status()) == ErrorReason::kCancelled);
  CHECK(IsNotApplied(gone.status()));
  CHECK_FALSE(Likes(fixture.store(), 1, Post(1)));
}

TEST_CASE("store: an expired mutation does not take an equal one with it") {
  Fixture fixture;
  for (int round = 0; round < 50; ++round) {
    const Item item = Post(1 + round);
    PendingApply late(fixture.store(), {Like(1, item)}, ExpiredLimits());
    PendingApply timely(fixture.store(), {Like(1, item)});
    CHECK(timely.Wait().at(0)->changed);
    CHECK_FALSE(late.Wait().at(0).ok());
  }
}

TEST_CASE("store: what was acknowledged is there after the store was opened anew") {
  Fixture fixture;
  const Applied before = fixture.Do(Like(1, Post(1)));
  fixture.Do(Like(2, Post(2)));
  fixture.Do(Unlike(2, Post(2)));
  fixture.under_test->Reopen();
  CHECK(Likes(fixture.store(), 1, Post(1)));
  CHECK_FALSE(Likes(fixture.store(), 2, Post(2)));
  CHECK(CountOf(fixture.store(), Post(1)).version == before.version);
  CHECK(fixture.Do(Like(1, Post(1))) == Applied{false, 1, before.version});
  CHECK(AuditAll(fixture.store()).findings.empty());
}

TEST_CASE("store: a timeline is 1 to 64 letters and digits, its own, and stays") {
  Fixture fixture;
  const std::string timeline = fixture.store().Timeline();
  CHECK(timeline.size() >= 1);
  CHECK(timeline.size() <= 64);
  CHECK(std::all_of(timeline.begin(), timeline.end(), [](unsigned char c) { return isalnum(c); }));
  fixture.under_test->Reopen();
  CHECK(fixture.store().Timeline() == timeline);
  CHECK(Fixture().store().Timeline() != timeline);
}

TEST_CASE("store: a store that works is healthy") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  CHECK(fixture.store().Health().ok());
}

TEST_CASE("store: Stop completes what was taken and refuses what comes after") {
  Fixture fixture;
  std::vector<std::unique_ptr<PendingApply>> pending;
  for (int64_t user = 1; user <= 200; ++user) {
    pending.push_back(std::make_unique<PendingApply>(
        fixture.store(), std::vector<Mutation>{Like(user, Post(1)), Like(user, Post(2))}));
  }
  fixture.store().Stop();
  for (const auto& one : pending) {
    for (const absl::StatusOr<Applied>& result : one->Wait()) CHECK(result->changed);
  }
  const absl::StatusOr<Applied> after = ApplyOne(fixture.store(), Like(1, Post(3)));
  CHECK(ReasonOf(after.status()) == ErrorReason::kShuttingDown);
  CHECK(IsNotApplied(after.status()));
  CHECK(ReasonOf(Counts(fixture.store(), {Post(1)}).status()) == ErrorReason::kShuttingDown);
  CHECK(ReasonOf(HasLiked(fixture.store(), 1, {Post(1)}).status()) == ErrorReason::kShuttingDown);
  fixture.under_test->Reopen();
  CHECK(CountOf(fixture.store(), Post(1)).count == 200);
  CHECK(AuditAll(fixture.store()).findings.empty());
}

}  // namespace
}  // namespace counter::testing
