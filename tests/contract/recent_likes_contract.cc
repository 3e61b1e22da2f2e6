#include "tests/contract/recent_likes_contract.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/task.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr UserId kUser{123};
constexpr UserId kOtherUser{124};
constexpr Item kItem{ItemType{1}, 456};
constexpr int64_t kLikesMax = 1000;

Item PostOf(int64_t id) { return {ItemType{1}, id}; }

struct Fixture {
  explicit Fixture(const RecentLikesSettings& settings = {})
      : under_test(MakeRecentLikesUnderTest(settings)) {}

  absl::Time Now() { return under_test->Now(); }
  void Record(std::vector<LikeFact> facts, UserId user = kUser) {
    const bool acknowledged = BlockingWait(under_test->likes().Record({{user, std::move(facts)}}));
    CHECK(acknowledged);
  }
  void Like(int64_t version, std::optional<absl::Time> verified_at = std::nullopt) {
    Record({{kItem, true, version, verified_at.value_or(Now())}});
  }
  void Unlike(int64_t version) { Record({{kItem, false, version, Now()}}); }
  std::vector<std::optional<absl::Time>> Find(std::vector<Item> items, UserId user = kUser) {
    return BlockingWait(under_test->likes().Find(user, std::move(items)));
  }
  bool Likes(const Item& item = kItem) { return Find({item})[0].has_value(); }

  std::unique_ptr<RecentLikesUnderTest> under_test;
};

// ---- What it answers ---------------------------------------------------------------------------

TEST_CASE("recent likes: nothing is known of a user at first") {
  Fixture fixture;
  CHECK_FALSE(fixture.Likes());
  CHECK(fixture.Find({}).empty());
}

TEST_CASE("recent likes: a like is found with the time at which it was verified") {
  Fixture fixture;
  const absl::Time verified_at = fixture.Now() - absl::Seconds(1);
  fixture.Like(10, verified_at);
  const std::optional<absl::Time> found = fixture.Find({kItem})[0];
  REQUIRE(found.has_value());
  CHECK(*found <= verified_at);
  CHECK(*found > verified_at - absl::Milliseconds(1));
}

TEST_CASE("recent likes: answer i is of item i, and of that user alone") {
  Fixture fixture;
  fixture.Record({{PostOf(2), true, 10, fixture.Now()}, {PostOf(5), true, 11, fixture.Now()}});
  const auto found = fixture.Find({PostOf(5), PostOf(3), PostOf(2), PostOf(5), {ItemType{2}, 2}});
  REQUIRE(found.size() == 5);
  CHECK(found[0].has_value());
  CHECK_FALSE(found[1].has_value());
  CHECK(found[2].has_value());
  CHECK(found[3].has_value());
  CHECK_FALSE(found[4].has_value());
  CHECK_FALSE(fixture.Find({PostOf(2)}, kOtherUser)[0].has_value());
}

TEST_CASE("recent likes: facts of one record about one item are put in order by version") {
  Fixture fixture;
  fixture.Record({{kItem, false, 11, fixture.Now()}, {kItem, true, 10, fixture.Now()}});
  CHECK_FALSE(fixture.Likes());
  fixture.Record({{kItem, true, 14, fixture.Now()}, {kItem, false, 13, fixture.Now()}});
  CHECK(fixture.Likes());
}

TEST_CASE("recent likes: a like verified in the future counts as verified now") {
  Fixture fixture({.fresh_for = absl::Seconds(1)});
  fixture.Like(10, fixture.Now() + absl::Hours(1));
  REQUIRE(fixture.Likes());
  CHECK(*fixture.Find({kItem})[0] <= fixture.Now());
  fixture.under_test->Elapse(absl::Seconds(1.1));
  CHECK_FALSE(fixture.Likes());
}

// ---- Order -------------------------------------------------------------------------------------

TEST_CASE("recent likes: an unlike ends a like") {
  Fixture fixture;
  fixture.Like(10);
  fixture.Unlike(11);
  CHECK_FALSE(fixture.Likes());
}

TEST_CASE("recent likes: a like after an unlike is found") {
  Fixture fixture;
  fixture.Unlike(11);
  fixture.Like(12);
  CHECK(fixture.Likes());
}

TEST_CASE("recent likes: D5, D6: a late like does not come back after its unlike") {
  Fixture fixture;
  SECTION("when the like was known") { fixture.Like(10); }
  SECTION("when nothing was known of the item") {}
  SECTION("when another item was known") { fixture.Record({{PostOf(1), true, 5, fixture.Now()}}); }
  const absl::Time read_before = fixture.Now();
  fixture.Unlike(11);
  fixture.Like(10, read_before);
  CHECK_FALSE(fixture.Likes());
}

TEST_CASE("recent likes: D5, D6: an older like is refused even if it was verified later") {
  Fixture fixture;
  fixture.Unlike(11);
  fixture.under_test->Elapse(absl::Milliseconds(10));
  fixture.Like(10);
  CHECK_FALSE(fixture.Likes());
}

TEST_CASE("recent likes: a late unlike does not end a newer like") {
  Fixture fixture;
  fixture.Like(12);
  fixture.Unlike(11);
  CHECK(fixture.Likes());
}

TEST_CASE("recent likes: of an equal version the later verification counts") {
  Fixture fixture;
  const absl::Time first = fixture.Now() - absl::Seconds(2);
  fixture.Like(10, first);
  fixture.Like(10, first + absl::Seconds(1));
  CHECK(*fixture.Find({kItem})[0] > first + absl::Milliseconds(999));
  fixture.Like(10, first);
  CHECK(*fixture.Find({kItem})[0] > first + absl::Milliseconds(999));
}

TEST_CASE("recent likes: D6: the trace of an unlike refuses late likes for its whole life") {
  Fixture fixture({.trace_life = absl::Seconds(2)});
  fixture.Like(10);
  fixture.Unlike(11);
  fixture.under_test->Elapse(absl::Seconds(1.8));
  fixture.Like(10);
  CHECK_FALSE(fixture.Likes());
}

TEST_CASE("recent likes: D6: a like that outlived the trace on its way is not taken") {
  Fixture fixture({.trace_life = absl::Seconds(2)});
  const absl::Time read_before = fixture.Now();
  fixture.Unlike(11);
  fixture.under_test->Elapse(absl::Seconds(2.2));
  fixture.Record({{PostOf(1), true, 5, fixture.Now()}});  // Time to clear the trace away.
  fixture.Like(10, read_before);
  CHECK_FALSE(fixture.Likes());
  fixture.Like(12);
  CHECK(fixture.Likes());
}

// ---- Bounds ------------------------------------------------------------------------------------

TEST_CASE("recent likes: only a like verified within the freshness bound is found") {
  Fixture fixture({.fresh_for = absl::Seconds(2)});
  fixture.Like(10);
  fixture.under_test->Elapse(absl::Seconds(1.8));
  CHECK(fixture.Likes());
  fixture.under_test->Elapse(absl::Seconds(0.4));
  CHECK_FALSE(fixture.Likes());
  fixture.Like(10);
  CHECK(fixture.Likes());
}

TEST_CASE("recent likes: the freshness bound goes by the verification, not by the record") {
  Fixture fixture({.fresh_for = absl::Seconds(2)});
  fixture.Like(10, fixture.Now() - absl::Seconds(3));
  CHECK_FALSE(fixture.Likes());
}

TEST_CASE("recent likes: a set lives for its time to live after its last change") {
  Fixture fixture({.ttl = absl::Seconds(2)});
  fixture.Like(10);
  fixture.under_test->Elapse(absl::Seconds(1.5));
  fixture.Record({{PostOf(1), true, 5, fixture.Now()}});
  fixture.under_test->Elapse(absl::Seconds(1.5));
  CHECK(fixture.Likes());
  fixture.under_test->Elapse(absl::Seconds(0.7));
  CHECK_FALSE(fixture.Likes());
  CHECK_FALSE(fixture.Likes(PostOf(1)));
}

TEST_CASE("recent likes: D17: the like verified longest ago goes first, not the oldest record") {
  Fixture fixture;
  const absl::Time start = fixture.Now() - absl::Seconds(20);
  // In random order, so that neither the order of records nor that of ids is the right one.
  std::vector<int64_t> ages(kLikesMax + 100);
  for (size_t i = 0; i < ages.size(); ++i) ages[i] = static_cast<int64_t>(i);
  std::mt19937_64 random(TestSeed());
  std::shuffle(ages.begin(), ages.end(), random);
  const auto verified_at = [&](size_t i) { return start + absl::Milliseconds(10) * ages[i]; };
  for (size_t i = 0; i < ages.size(); ++i) {
    const auto id = static_cast<int64_t>(i) + 1;
    fixture.Record({{PostOf(id), true, 1'000'000 - id, verified_at(i)}});
  }
  std::vector<Item> items;
  for (size_t i = 0; i < ages.size(); ++i) items.push_back(PostOf(static_cast<int64_t>(i) + 1));
  const auto found = fixture.Find(items);
  int64_t kept = 0;
  bool oldest_went_first = true;
  for (size_t i = 0; i < ages.size(); ++i) {
    kept += found[i].has_value() ? 1 : 0;
    if (found[i].has_value() != (ages[i] >= 100)) oldest_went_first = false;
  }
  CHECK(kept == kLikesMax);
  CHECK(oldest_went_first);
}

TEST_CASE("recent likes: D17: a like that was verified again is not the oldest any more") {
  Fixture fixture;
  const absl::Time start = fixture.Now() - absl::Seconds(30);
  std::vector<LikeFact> facts;
  for (int64_t id = 1; id <= kLikesMax; ++id) {
    facts.push_back({PostOf(id), true, id, start + absl::Milliseconds(10) * id});
  }
  fixture.Record(facts);
  fixture.Record({{PostOf(1), true, 1, fixture.Now()}});
  fixture.Record({{PostOf(kLikesMax + 1), true, 5000, fixture.Now()}});
  CHECK(fixture.Likes(PostOf(1)));
  CHECK_FALSE(fixture.Likes(PostOf(2)));
  CHECK(fixture.Likes(PostOf(3)));
}

TEST_CASE("recent likes: one record of more than the bound keeps those verified last") {
  Fixture fixture;
  const absl::Time start = fixture.Now() - absl::Seconds(30);
  std::vector<LikeFact> facts;
  std::vector<Item> items;
  for (int64_t id = 1; id <= 2 * kLikesMax; ++id) {
    facts.push_back({PostOf(id), true, id, start + absl::Milliseconds(10) * id});
    items.push_back(PostOf(id));
  }
  fixture.Record(facts);
  const auto found = fixture.Find(items);
  const auto is_found = [](const std::optional<absl::Time>& one) { return one.has_value(); };
  CHECK(std::none_of(found.begin(), found.begin() + kLikesMax, is_found));
  CHECK(std::all_of(found.begin() + kLikesMax, found.end(), is_found));
}

TEST_CASE("recent likes: traces of unlikes take no like's place") {
  Fixture fixture;
  std::vector<LikeFact> likes;
  std::vector<LikeFact> unlikes;
  for (int64_t id = 1; id <= kLikesMax; ++id) {
    likes.push_back({PostOf(id), true, id, fixture.Now()});
    unlikes.push_back({PostOf(id + kLikesMax), false, id, fixture.Now()});
  }
  fixture.Record(likes);
  fixture.Record(unlikes);
  CHECK(fixture.Likes(PostOf(1)));
  CHECK(fixture.Likes(PostOf(kLikesMax)));
}

TEST_CASE("recent likes: an evicted user is unknown") {
  Fixture fixture;
  fixture.Like(10);
  fixture.under_test->Evict(kUser);
  CHECK_FALSE(fixture.Likes());
}

TEST_CASE("recent likes: a like of a write makes no set of a user of whom nothing is known") {
  Fixture fixture;
  const auto write = [&](std::vector<LikeFact> facts) {
    const bool acknowledged =
        BlockingWait(fixture.under_test->likes().Record({{kUser, std::move(facts), true}}));
    CHECK(acknowledged);
  };
  write({{kItem, true, 10, fixture.Now()}});
  CHECK_FALSE(fixture.Likes());
  SECTION("after a read it adds to the set") {
    fixture.Record({{PostOf(1), true, 5, fixture.Now()}});
    write({{kItem, true, 10, fixture.Now()}});
    CHECK(fixture.Likes());
    CHECK(fixture.Likes(PostOf(1)));
  }
  SECTION("D5, D6: its unlike leaves a trace even so") {
    write({{kItem, false, 11, fixture.Now()}});
    fixture.Like(10);
    CHECK_FALSE(fixture.Likes());
    write({{kItem, true, 12, fixture.Now()}});
    CHECK(fixture.Likes());
  }
  SECTION("of likes and unlikes in one write the first unlike begins the set") {
    write({{PostOf(1), true, 20, fixture.Now()},
           {kItem, false, 21, fixture.Now()},
           {PostOf(2), true, 22, fixture.Now()}});
    CHECK_FALSE(fixture.Likes(PostOf(1)));
    CHECK_FALSE(fixture.Likes());
    CHECK(fixture.Likes(PostOf(2)));
  }
}

// ---- Any order ---------------------------------------------------------------------------------

TEST_CASE("recent likes: D5, D6: facts in any order never show a like that has ended") {
  constexpr int kInterleavings = 2000;
  Fixture fixture;
  const uint64_t seed = TestSeed();
  std::mt19937_64 random(seed);
  int found_at_rest = 0;
  for (int run = 0; run < kInterleavings; ++run) {
    const UserId user{1000 + run};
    // The pair's history in the store, and reads of it, all on their way.
    std::vector<LikeFact> sent;
    bool liked = false;
    int64_t version = 0;
    for (int change = 0; change < 6; ++change) {
      version += 1 + static_cast<int64_t>(random() % 3);  // Others like the item too.
      if (random() % 2 == 0) liked = !liked;
      if (liked || random() % 2 == 0) sent.push_back({kItem, liked, version, fixture.Now()});
    }
    sent.push_back({kItem, liked, version, fixture.Now()});
    std::shuffle(sent.begin(), sent.end(), random);

    int64_t newest = 0;
    bool newest_liked = false;
    bool right = true;
    for (const LikeFact& fact : sent) {
      fixture.Record({fact}, user);
      if (fact.item_version >= newest) {
        newest = fact.item_version;
        newest_liked = fact.liked;
      }
      if (fixture.Find({kItem}, user)[0].has_value() != newest_liked) right = false;
    }
    INFO("seed " << seed << ", interleaving " << run);
    REQUIRE(right);
    REQUIRE(newest_liked == liked);
    found_at_rest += liked ? 1 : 0;
  }
  CHECK(found_at_rest > kInterleavings / 10);
}

}  // namespace
}  // namespace counter::testing
