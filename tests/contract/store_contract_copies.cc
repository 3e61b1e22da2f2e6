// Copies of counters and recounts of the contract suite: storage/counter_copies.h.
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/contract/store_calls.h"
#include "tests/contract/store_contract.h"

namespace counter::testing {
namespace {

struct Fixture {
  std::unique_ptr<StoreUnderTest> under_test = MakeStoreUnderTest();
  Applied Do(const Mutation& mutation) { return ApplyOne(under_test->store(), mutation).value(); }
  void LikeMany(const Item& item, int64_t users) {
    std::vector<Mutation> likes;
    for (int64_t user = 1; user <= users; ++user) likes.push_back(Like(user, item));
    for (const auto& result : Apply(under_test->store(), likes)) REQUIRE(result.ok());
  }
  std::vector<RecountedCounter> Recount(std::vector<Item> items, const RecountBounds& bounds = {}) {
    return BlockingWait(under_test->copies().RecountSome(std::move(items), bounds, {})).value();
  }
  RecountedCounter RecountOne(const Item& item, const RecountBounds& bounds = {}) {
    return Recount({item}, bounds).at(0);
  }
};

int64_t DigestOf(int64_t users) {
  int64_t digest = 0;
  for (int64_t user = 1; user <= users; ++user) digest ^= LikerMix(UserId{user});
  return digest;
}

TEST_CASE(
    "store: a recount tells an item's counter with its version, and what its likes add up to") {
  Fixture fixture;
  fixture.LikeMany(Post(1), 3);
  fixture.LikeMany(Post(2), 1);
  const Item reel = {ItemType{2}, 1};
  fixture.Do(Like(9, reel));
  fixture.Do(Unlike(1, Post(2)));
  const std::vector<RecountedCounter> recounts =
      fixture.Recount({reel, Post(1), Post(2), Post(77)});
  REQUIRE(recounts.size() == 4);
  const ItemCount post = CountOf(fixture.under_test->store(), Post(1));
  CHECK(recounts[1] == RecountedCounter{{3, post.version, DigestOf(3)}, true, 3, DigestOf(3)});
  CHECK(recounts[0].count == 1);
  CHECK(recounts[0].digest == LikerMix(UserId{9}));
  CHECK(recounts[0].stored.count == 1);
  CHECK(recounts[2].stored.version == CountOf(fixture.under_test->store(), Post(2)).version);
  CHECK(recounts[2].stored.count == 0);
  CHECK(recounts[2].count == 0);
  CHECK(recounts[2].digest == 0);
  CHECK(recounts[3] == RecountedCounter{{0, 0, 0}, true, 0, 0});
}

TEST_CASE("store: a recount sees what was changed behind the store's back, of counter and likes") {
  Fixture fixture;
  fixture.LikeMany(Post(1), 3);
  fixture.LikeMany(Post(2), 3);
  fixture.under_test->PlantCounter(Post(1), 40, 7);
  fixture.under_test->RemoveLike(UserId{3}, Post(2));
  fixture.under_test->PlantLike(UserId{5}, Post(3));
  const RecountedCounter counter = fixture.RecountOne(Post(1));
  CHECK(counter.stored.count == 40);
  CHECK(counter.stored.digest == 7);
  CHECK(counter.count == 3);
  CHECK(counter.digest == DigestOf(3));
  const RecountedCounter like = fixture.RecountOne(Post(2));
  CHECK(like.stored.count == 3);
  CHECK(like.count == 2);
  CHECK(like.digest == DigestOf(2));
  const RecountedCounter orphan = fixture.RecountOne(Post(3));
  CHECK(orphan.stored == CounterRow{0, 0, 0});
  CHECK(orphan.count == 1);
}

TEST_CASE(
    "store: an item with more likes than the bound is not recounted, and its counter is told") {
  Fixture fixture;
  fixture.LikeMany(Post(1), 4);
  RecountBounds bounds;
  bounds.likes_max = 3;
  const RecountedCounter skipped = fixture.RecountOne(Post(1), bounds);
  CHECK_FALSE(skipped.recounted);
  CHECK(skipped.stored.count == 4);
  CHECK(skipped.stored.digest == DigestOf(4));
  bounds.likes_max = 4;
  CHECK(fixture.RecountOne(Post(1), bounds).recounted);
}

TEST_CASE("store: without the index of likers a type with too many likes is not recounted") {
  Fixture fixture;
  fixture.LikeMany(Post(1), 3);
  // More than any page of a store holds, so that one which goes by size notices, too.
  for (int64_t item = 100; item < 110; ++item) fixture.LikeMany(Post(item), 400);
  RecountBounds bounds;
  bounds.scanned_max = 50;
  CHECK_FALSE(fixture.RecountOne(Post(1), bounds).recounted);
  CHECK(fixture.RecountOne(Post(1)).recounted);
  fixture.under_test->MakeLikersIndex();
  const RecountedCounter indexed = fixture.RecountOne(Post(1), bounds);
  CHECK(indexed.recounted);
  CHECK(indexed.count == 3);
  CHECK(indexed.digest == DigestOf(3));
  // The index leads to the likes of the item alone, as many as there may be.
  bounds.likes_max = 3;
  fixture.under_test->PlantCounter(Post(100), 1, 0);
  const RecountedCounter more = fixture.RecountOne(Post(100), bounds);
  CHECK(more.recounted);
  CHECK(more.count == 4);
}

TEST_CASE("store: a recount whose deadline has passed, or whose caller has gone, ends so") {
  Fixture fixture;
  fixture.LikeMany(Post(1), 1);
  const auto late =
      BlockingWait(fixture.under_test->copies().RecountSome({Post(1)}, {}, ExpiredLimits()));
  CHECK(ReasonOf(late.status()) == ErrorReason::kDeadlineExceeded);
  const auto gone =
      BlockingWait(fixture.under_test->copies().RecountSome({Post(1)}, {}, CancelledLimits()));
  CHECK(ReasonOf(gone.status()) == ErrorReason::kCancelled);
}

}  // namespace
}  // namespace counter::testing
