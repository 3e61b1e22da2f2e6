// An unlike that the cache was not told of, or may have forgotten, is told again.
#include "server/upkeep/recent_likes_upkeep.h"

#include <catch2/catch.hpp>

namespace counter {
namespace {

constexpr UserId kUser{7};
constexpr Item kItem{ItemType{1}, 1};

class FakeLikes final : public RecentLikes {
 public:
  Task<std::vector<std::optional<absl::Time>>> Find(UserId, std::vector<Item> items) override {
    co_return std::vector<std::optional<absl::Time>>(items.size());
  }
  Task<bool> Record(std::vector<UserFacts> users) override {
    if (fails) co_return false;
    for (const UserFacts& one : users) {
      for (const LikeFact& fact : one.facts) taken.push_back(fact);
    }
    co_return true;
  }

  bool fails = false;
  std::vector<LikeFact> taken;
};

struct Fixture {
  bool Record(bool liked, int64_t version, const Item& item = kItem) {
    std::vector<UserFacts> users = {{kUser, {{item, liked, version, clock.WallNow()}}}};
    return BlockingWait(upkeep.Record(std::move(users)));
  }
  bool Round() { return BlockingWait(upkeep.Round()); }

  ManualClock clock;
  FakeLikes likes;
  RecentLikesUpkeep upkeep{likes, clock, {.unlikes_max = 2}};
};

TEST_CASE("recent likes upkeep: an unlike that was not acknowledged is told until it is") {
  Fixture fixture;
  fixture.likes.fails = true;
  CHECK_FALSE(fixture.Record(false, 5));
  CHECK_FALSE(fixture.Round());
  CHECK(fixture.upkeep.Stats().unlikes_owed == 1);
  fixture.likes.fails = false;
  CHECK(fixture.Round());
  REQUIRE(fixture.likes.taken.size() == 1);
  CHECK_FALSE(fixture.likes.taken[0].liked);
  CHECK(fixture.likes.taken[0].item_version == 5);
  CHECK(fixture.upkeep.Stats().unlikes_told_again == 1);
  CHECK(fixture.Round());
  CHECK(fixture.likes.taken.size() == 1);
}

TEST_CASE("recent likes upkeep: a like that was not acknowledged is not told again") {
  Fixture fixture;
  fixture.likes.fails = true;
  CHECK_FALSE(fixture.Record(true, 5));
  fixture.likes.fails = false;
  CHECK(fixture.Round());
  CHECK(fixture.likes.taken.empty());
}

TEST_CASE("recent likes upkeep: of one pair the newest unlike is owed") {
  Fixture fixture;
  fixture.likes.fails = true;
  (void)fixture.Record(false, 9);
  (void)fixture.Record(false, 5);
  fixture.likes.fails = false;
  CHECK(fixture.Round());
  REQUIRE(fixture.likes.taken.size() == 1);
  CHECK(fixture.likes.taken[0].item_version == 9);
}

TEST_CASE("recent likes upkeep: rule 6: unlikes of the last 10 s are told to another run") {
  Fixture fixture;
  REQUIRE(fixture.Record(false, 5, {ItemType{1}, 2}));
  fixture.clock.Advance(absl::Seconds(11));
  REQUIRE(fixture.Record(false, 6));
  REQUIRE(fixture.Record(true, 7, {ItemType{1}, 3}));
  fixture.likes.taken.clear();
  fixture.upkeep.TellAgain();
  CHECK(fixture.Round());
  REQUIRE(fixture.likes.taken.size() == 1);
  CHECK(fixture.likes.taken[0].item_version == 6);
}

TEST_CASE("recent likes upkeep: what has no room is counted") {
  Fixture fixture;
  fixture.likes.fails = true;
  for (int64_t id = 1; id <= 5; ++id) (void)fixture.Record(false, 5, {ItemType{1}, id});
  CHECK(fixture.upkeep.Stats().unlikes_owed == 2);
  CHECK(fixture.upkeep.Stats().unlikes_forgotten == 3);
}

}  // namespace
}  // namespace counter
