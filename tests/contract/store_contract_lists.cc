// Lists of likes and of likers, of the contract suite of LikeStore.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/time/clock.h"
#include "base/error.h"
#include "tests/contract/store_calls.h"
#include "tests/contract/store_contract.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr Item Reel(int64_t id) { return {ItemType{2}, id}; }

struct Fixture {
  std::unique_ptr<StoreUnderTest> under_test = MakeStoreUnderTest();
  LikeStore& store() { return under_test->store(); }
  Applied Do(const Mutation& mutation) { return ApplyOne(store(), mutation).value(); }
  void Plant(int64_t user, const Item& item, int64_t liked_at) {
    under_test->PlantLikeAt(UserId{user}, item, liked_at);
  }
};

absl::StatusOr<LikesPage> ListPage(LikeStore& store, int64_t user, int likes_max,
                                   std::optional<ListedLike> after = std::nullopt,
                                   std::vector<ItemType> types = {ItemType{1}, ItemType{2}},
                                   CallLimits limits = {}) {
  return BlockingWait(store.ListLikes({UserId{user}, std::move(types), after, likes_max}, limits));
}

absl::StatusOr<LikersPage> LikersPageOf(LikeStore& store, const Item& item, int likers_max,
                                        std::optional<ListedLiker> after = std::nullopt,
                                        CallLimits limits = {}) {
  return BlockingWait(store.ListLikers({item, after, likers_max}, limits));
}

// Called between two pages.
using Meanwhile = std::function<void()>;

std::vector<ListedLike> AllLikes(
    LikeStore& store, int64_t user, int page_size,
    const std::vector<ItemType>& types = {ItemType{1}, ItemType{2}},
    const Meanwhile& meanwhile = [] {}) {
  std::vector<ListedLike> all;
  std::optional<ListedLike> after;
  while (true) {
    const LikesPage page = ListPage(store, user, page_size, after, types).value();
    CHECK(page.likes.size() <= static_cast<size_t>(page_size));
    all.insert(all.end(), page.likes.begin(), page.likes.end());
    if (!page.more) return all;
    // A page that promises more is full.
    REQUIRE(page.likes.size() == static_cast<size_t>(page_size));
    after = page.likes.back();
    meanwhile();
  }
}

std::vector<ListedLiker> AllLikers(LikeStore& store, const Item& item, int page_size) {
  std::vector<ListedLiker> all;
  std::optional<ListedLiker> after;
  while (true) {
    const LikersPage page = LikersPageOf(store, item, page_size, after).value();
    CHECK(page.likers.size() <= static_cast<size_t>(page_size));
    all.insert(all.end(), page.likers.begin(), page.likers.end());
    if (!page.more) return all;
    REQUIRE(page.likers.size() == static_cast<size_t>(page_size));
    after = page.likers.back();
  }
}

TEST_CASE("store: a list holds the user's likes that are there, with their times, and no others") {
  Fixture fixture;
  // The store's clock need not be this one to the last microsecond.
  const int64_t before = absl::ToUnixSeconds(absl::Now()) - 1;
  fixture.Do(Like(1, Post(7)));
  fixture.Do(Like(1, Reel(8)));
  fixture.Do(Like(1, Post(9)));
  fixture.Do(Like(2, Post(7)));
  fixture.Do(Unlike(1, Post(9)));
  const int64_t after = absl::ToUnixSeconds(absl::Now()) + 1;

  const LikesPage page = ListPage(fixture.store(), 1, 100).value();
  CHECK_FALSE(page.more);
  REQUIRE(page.likes.size() == 2);
  for (const ListedLike& like : page.likes) {
    CHECK((like.item == Post(7) || like.item == Reel(8)));
    CHECK(like.liked_at >= before);
    CHECK(like.liked_at <= after);
  }
  CHECK(page.likes[0].item != page.likes[1].item);
  CHECK(ListPage(fixture.store(), 3, 100).value().likes.empty());
}

TEST_CASE("store: a list is newest first, and in one second by type and id, falling") {
  Fixture fixture;
  fixture.Plant(1, Post(5), 100);
  fixture.Plant(1, Post(4), 300);
  fixture.Plant(1, Reel(1), 200);
  fixture.Plant(1, Post(2), 200);
  fixture.Plant(1, Reel(3), 200);
  const std::vector<ListedLike> expected = {
      {Post(4), 300}, {Reel(3), 200}, {Reel(1), 200}, {Post(2), 200}, {Post(5), 100}};
  for (int page_size = 1; page_size <= 6; ++page_size) {
    CHECK(AllLikes(fixture.store(), 1, page_size) == expected);
  }
}

TEST_CASE("store: a list of some types holds likes of these only") {
  Fixture fixture;
  fixture.Plant(1, Post(1), 100);
  fixture.Plant(1, Reel(2), 200);
  fixture.Plant(1, Post(3), 300);
  CHECK(AllLikes(fixture.store(), 1, 1, {ItemType{1}}) ==
        std::vector<ListedLike>{{Post(3), 300}, {Post(1), 100}});
  CHECK(AllLikes(fixture.store(), 1, 1, {ItemType{2}}) == std::vector<ListedLike>{{Reel(2), 200}});
  CHECK(AllLikes(fixture.store(), 1, 1, {}).empty());
}

TEST_CASE("store: the last page says that no more follow, even if it is full") {
  Fixture fixture;
  for (int64_t id = 1; id <= 4; ++id) fixture.Plant(1, Post(id), id);
  const LikesPage first = ListPage(fixture.store(), 1, 2).value();
  CHECK(first.more);
  const LikesPage last = ListPage(fixture.store(), 1, 2, first.likes.back()).value();
  CHECK(last.likes.size() == 2);
  CHECK_FALSE(last.more);
}

TEST_CASE("store: the largest ids and times are listed and paged like any other") {
  Fixture fixture;
  constexpr int64_t kLastId = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLastTime = std::numeric_limits<int32_t>::max() - 1;
  fixture.Plant(kLastId, Post(kLastId), kLastTime);
  fixture.Plant(kLastId, Post(kLastId - 1), kLastTime);
  CHECK(AllLikes(fixture.store(), kLastId, 1) ==
        std::vector<ListedLike>{{Post(kLastId), kLastTime}, {Post(kLastId - 1), kLastTime}});
  fixture.under_test->MakeLikersIndex();
  fixture.Plant(kLastId - 1, Post(kLastId), kLastTime);
  CHECK(AllLikers(fixture.store(), Post(kLastId), 1) ==
        std::vector<ListedLiker>{{UserId{kLastId}, kLastTime}, {UserId{kLastId - 1}, kLastTime}});
}

TEST_CASE("store: likes that stay are each listed once, while others come and go between pages") {
  std::mt19937_64 random(TestSeed());
  const auto upto = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n)) + 1;
  };
  Fixture fixture;
  std::vector<ListedLike> staying;
  for (int64_t id = 1; id <= 60; ++id) {
    const ListedLike like = {id % 3 == 0 ? Reel(id) : Post(id), upto(10)};
    fixture.Plant(1, like.item, like.liked_at);
    staying.push_back(like);
  }
  std::vector<Item> restless;
  for (int64_t id = 1001; id <= 1040; ++id) {
    restless.push_back(Post(id));
    fixture.Plant(1, Post(id), upto(10));
    fixture.under_test->PlantCounter(Post(id), 1, LikerMix(UserId{1}));
  }
  const auto come_and_go = [&] {
    for (int i = 0; i < 5; ++i) {
      const Item& item = restless[static_cast<size_t>(upto(40)) - 1];
      fixture.Do(random() % 2 == 0 ? Like(1, item) : Unlike(1, item));
    }
  };
  for (const int page_size : {1, 3, 7}) {
    std::vector<ListedLike> seen =
        AllLikes(fixture.store(), 1, page_size, {ItemType{1}, ItemType{2}}, come_and_go);
    std::vector<std::pair<int16_t, int64_t>> ids;
    for (const ListedLike& like : seen) ids.emplace_back(like.item.type.value, like.item.id);
    std::sort(ids.begin(), ids.end());
    CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
    for (const ListedLike& like : staying) {
      CHECK(std::count(seen.begin(), seen.end(), like) == 1);
    }
  }
}

TEST_CASE("store: a like that is made anew comes first, with its new time") {
  Fixture fixture;
  fixture.Plant(1, Post(1), 100);
  fixture.Plant(1, Post(2), 200);
  fixture.under_test->PlantCounter(Post(1), 1, LikerMix(UserId{1}));
  fixture.Do(Unlike(1, Post(1)));
  fixture.Do(Like(1, Post(1)));
  const std::vector<ListedLike> likes = AllLikes(fixture.store(), 1, 10);
  REQUIRE(likes.size() == 2);
  CHECK(likes[0].item == Post(1));
  CHECK(likes[0].liked_at > 200);
  // A repeat is no new like.
  fixture.Do(Like(1, Post(1)));
  CHECK(AllLikes(fixture.store(), 1, 10) == likes);
}

TEST_CASE("store: a list sees every write that was acknowledged before it") {
  Fixture fixture;
  for (int round = 0; round < 50; ++round) {
    fixture.Do(Like(1, Post(1)));
    CHECK(AllLikes(fixture.store(), 1, 10).size() == 1);
    fixture.Do(Unlike(1, Post(1)));
    CHECK(AllLikes(fixture.store(), 1, 10).empty());
  }
}

TEST_CASE("store: a list that has expired or was cancelled says so") {
  Fixture fixture;
  fixture.under_test->MakeLikersIndex();
  const auto reason = [](const auto& page) { return ReasonOf(page.status()); };
  const std::vector<ItemType> types = {ItemType{1}};
  CHECK(reason(ListPage(fixture.store(), 1, 10, {}, types, ExpiredLimits())) ==
        ErrorReason::kDeadlineExceeded);
  CHECK(reason(ListPage(fixture.store(), 1, 10, {}, types, CancelledLimits())) ==
        ErrorReason::kCancelled);
  CHECK(reason(LikersPageOf(fixture.store(), Post(1), 10, {}, ExpiredLimits())) ==
        ErrorReason::kDeadlineExceeded);
  CHECK(reason(LikersPageOf(fixture.store(), Post(1), 10, {}, CancelledLimits())) ==
        ErrorReason::kCancelled);
}

TEST_CASE("store: after a stop lists are refused as shutting down") {
  Fixture fixture;
  fixture.store().Stop();
  CHECK(ReasonOf(ListPage(fixture.store(), 1, 10).status()) == ErrorReason::kShuttingDown);
  CHECK(ReasonOf(LikersPageOf(fixture.store(), Post(1), 10).status()) ==
        ErrorReason::kShuttingDown);
}

TEST_CASE("store: without its index the list of likers is refused, and with it it is not") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  for (int i = 0; i < 2; ++i) {
    const auto page = LikersPageOf(fixture.store(), Post(1), 10);
    CHECK(ReasonOf(page.status()) == ErrorReason::kLikersNotIndexed);
    CHECK(page.status().code() == absl::StatusCode::kFailedPrecondition);
  }
  fixture.under_test->MakeLikersIndex();
  CHECK(LikersPageOf(fixture.store(), Post(1), 10).value().likers.size() == 1);
  CHECK(LikersPageOf(fixture.store(), Post(2), 10).value().likers.empty());
  // Once more changes nothing.
  fixture.under_test->MakeLikersIndex();
  fixture.Do(Like(2, Post(1)));
  CHECK(LikersPageOf(fixture.store(), Post(1), 10).value().likers.size() == 2);
  fixture.Do(Unlike(1, Post(1)));
  CHECK(LikersPageOf(fixture.store(), Post(1), 10).value().likers.size() == 1);
}

TEST_CASE("store: likers are newest first, in one second by user, falling, and of the item only") {
  Fixture fixture;
  fixture.Plant(1, Post(1), 100);
  fixture.under_test->MakeLikersIndex();
  fixture.Plant(2, Post(1), 300);
  fixture.Plant(3, Post(1), 200);
  fixture.Plant(4, Post(1), 200);
  fixture.Plant(5, Post(1), 200);
  fixture.Plant(6, Post(2), 200);
  fixture.Plant(7, Reel(1), 200);
  const std::vector<ListedLiker> expected = {
      {UserId{2}, 300}, {UserId{5}, 200}, {UserId{4}, 200}, {UserId{3}, 200}, {UserId{1}, 100}};
  for (int page_size = 1; page_size <= 6; ++page_size) {
    CHECK(AllLikers(fixture.store(), Post(1), page_size) == expected);
  }
}

TEST_CASE("store: lists are what a model of all likes says, whatever the pages") {
  std::mt19937_64 random(TestSeed());
  const auto upto = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n)) + 1;
  };
  Fixture fixture;
  fixture.under_test->MakeLikersIndex();
  std::map<std::pair<int64_t, Item>, int64_t> likes;
  const int planted = Sized(300, 3000);
  for (int i = 0; i < planted; ++i) {
    const Item item = {ItemType{static_cast<int16_t>(upto(2))}, upto(20)};
    const int64_t user = upto(20);
    const int64_t at = upto(8);
    if (likes.emplace(std::pair(user, item), at).second) fixture.Plant(user, item, at);
  }
  for (int64_t user = 1; user <= 20; ++user) {
    std::vector<ListedLike> expected;
    for (const auto& [pair, at] : likes)
      if (pair.first == user) expected.push_back({pair.second, at});
    std::sort(expected.begin(), expected.end(), [](const ListedLike& a, const ListedLike& b) {
      return std::tie(a.liked_at, a.item) > std::tie(b.liked_at, b.item);
    });
    CHECK(AllLikes(fixture.store(), user, static_cast<int>(upto(9))) == expected);
  }
  for (int64_t id = 1; id <= 20; ++id) {
    std::vector<ListedLiker> expected;
    for (const auto& [pair, at] : likes)
      if (pair.second == Reel(id)) expected.push_back({UserId{pair.first}, at});
    std::sort(expected.begin(), expected.end(), [](const ListedLiker& a, const ListedLiker& b) {
      return std::tie(a.liked_at, a.user) > std::tie(b.liked_at, b.user);
    });
    CHECK(AllLikers(fixture.store(), Reel(id), static_cast<int>(upto(9))) == expected);
  }
}

}  // namespace
}  // namespace counter::testing
