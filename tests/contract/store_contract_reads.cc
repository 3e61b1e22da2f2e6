// Reads and audits of the contract suite of LikeStore.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/time/clock.h"
#include "base/error.h"
#include "tests/contract/store_calls.h"
#include "tests/contract/store_contract.h"

namespace counter::testing {
namespace {

struct Fixture {
  std::unique_ptr<StoreUnderTest> under_test = MakeStoreUnderTest();
  LikeStore& store() { return under_test->store(); }
  Applied Do(const Mutation& mutation) { return ApplyOne(store(), mutation).value(); }
};

TEST_CASE("store: a strong read sees every write that was acknowledged before it") {
  Fixture fixture;
  for (int round = 0; round < 200; ++round) {
    const Mutation mutation = round % 2 == 0 ? Like(1, Post(1)) : Unlike(1, Post(1));
    const Applied applied = fixture.Do(mutation);
    const ItemCount read = CountOf(fixture.store(), Post(1));
    CHECK(read.count == applied.count);
    CHECK(read.version == applied.version);
    CHECK(Likes(fixture.store(), 1, Post(1)) == (round % 2 == 0));
  }
}

TEST_CASE("store: answer i of a counts read is of item i, repeated and unknown ones too") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  fixture.Do(Like(2, Post(1)));
  const int64_t version = fixture.Do(Like(1, Post(2))).version;
  const CountsRead read =
      Counts(fixture.store(), {Post(2), Post(9), Post(1), Post(2), Post(1)}).value();
  const std::vector<int64_t> expected = {1, 0, 2, 1, 2};
  REQUIRE(read.counts.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) CHECK(read.counts[i].count == expected[i]);
  CHECK(read.counts[0].version == version);
  CHECK(read.counts[1].version == 0);
  CHECK(read.counts[0].source == ReadSource::kPrimary);
}

TEST_CASE("store: answer i of a has-liked read is of item i, repeated and unknown ones too") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  fixture.Do(Like(2, Post(2)));
  const PairsRead read = HasLiked(fixture.store(), 1, {Post(2), Post(1), Post(9), Post(1)}).value();
  REQUIRE(read.pairs.size() == 4);
  CHECK_FALSE(read.pairs[0].liked);
  CHECK(read.pairs[1].liked);
  CHECK_FALSE(read.pairs[2].liked);
  CHECK(read.pairs[3].liked);
}

TEST_CASE("store: a read of no items answers no items") {
  Fixture fixture;
  CHECK(Counts(fixture.store(), {}).value().counts.empty());
  CHECK(HasLiked(fixture.store(), 1, {}).value().pairs.empty());
}

TEST_CASE("store: a read of 1000 items answers them all") {
  Fixture fixture;
  std::vector<Mutation> mutations;
  std::vector<Item> items;
  for (int64_t id = 1; id <= 1000; ++id) {
    items.push_back(Post(id));
    if (id % 3 == 0) mutations.push_back(Like(1, Post(id)));
  }
  Apply(fixture.store(), mutations);
  const CountsRead counts = Counts(fixture.store(), items).value();
  const PairsRead pairs = HasLiked(fixture.store(), 1, items).value();
  for (size_t i = 0; i < items.size(); ++i) {
    CHECK(counts.counts[i].count == (items[i].id % 3 == 0 ? 1 : 0));
    CHECK(pairs.pairs[i].liked == (items[i].id % 3 == 0));
  }
}

TEST_CASE("store: a read with a version is not older than it") {
  Fixture fixture;
  for (int round = 0; round < 50; ++round) {
    const Applied applied = fixture.Do(round % 2 == 0 ? Like(1, Post(1)) : Unlike(1, Post(1)));
    const CountsRead read =
        BlockingWait(fixture.store().Counts({{Post(1), applied.version}}, Consistency::kCached, {}))
            .value();
    CHECK(read.counts[0].version >= applied.version);
  }
}

TEST_CASE("store: a version from the future does not keep the primary from answering") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  const CountsRead read =
      BlockingWait(fixture.store().Counts({{Post(1), int64_t{1} << 62}}, Consistency::kCached,
                                          Within(absl::Seconds(10))))
          .value();
  CHECK(read.counts[0].count == 1);
  CHECK(read.counts[0].source == ReadSource::kPrimary);
}

TEST_CASE("store: a liked pair comes with the item's version, an unliked one with 0") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  const int64_t version = fixture.Do(Like(2, Post(1))).version;
  CHECK(HasLiked(fixture.store(), 1, {Post(1)}).value().pairs[0].item_version == version);
  CHECK(HasLiked(fixture.store(), 3, {Post(1)}).value().pairs[0].item_version == 0);
}

TEST_CASE("store: as_of is not later than the read and not before the call") {
  Fixture fixture;
  const absl::Time before = absl::Now();
  const CountsRead counts = Counts(fixture.store(), {Post(1)}).value();
  const PairsRead pairs = HasLiked(fixture.store(), 1, {Post(1)}).value();
  const absl::Time after = absl::Now();
  for (const absl::Time as_of : {counts.as_of, pairs.as_of}) {
    CHECK(as_of >= before);
    CHECK(as_of <= after);
  }
}

TEST_CASE("store: an expired or cancelled read ends with its reason") {
  Fixture fixture;
  LikeStore& store = fixture.store();
  CHECK(ReasonOf(Counts(store, {Post(1)}, ExpiredLimits()).status()) ==
        ErrorReason::kDeadlineExceeded);
  CHECK(ReasonOf(HasLiked(store, 1, {Post(1)}, ExpiredLimits()).status()) ==
        ErrorReason::kDeadlineExceeded);
  CHECK(ReasonOf(Counts(store, {Post(1)}, CancelledLimits()).status()) == ErrorReason::kCancelled);
  CHECK(ReasonOf(HasLiked(store, 1, {Post(1)}, CancelledLimits()).status()) ==
        ErrorReason::kCancelled);
}

TEST_CASE("store: a strong read shows all its items at one moment") {
  Fixture fixture;
  // Each Apply moves a like from one item to the other or back, first adding, then taking: whatever
  // lies between two transactions, a snapshot sees one or two likes of user 1, never none.
  fixture.Do(Like(1, Post(1)));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int64_t from = 1; !stop; from = 3 - from) {
      (void)ApplyOne(fixture.store(), Like(1, Post(3 - from)));
      (void)ApplyOne(fixture.store(), Unlike(1, Post(from)));
    }
  });
  int wrong = 0;
  for (int i = 0; i < 300; ++i) {
    const CountsRead read = Counts(fixture.store(), {Post(1), Post(2)}).value();
    const int64_t total = read.counts[0].count + read.counts[1].count;
    wrong += total == 1 || total == 2 ? 0 : 1;
  }
  stop = true;
  writer.join();
  CHECK(wrong == 0);
}

TEST_CASE("store: an audit of a sound store finds nothing and counts the items") {
  Fixture fixture;
  for (int64_t id = 1; id <= 25; ++id) {
    fixture.Do(Like(1, {ItemType{static_cast<int16_t>(1 + id % 2)}, id}));
    fixture.Do(Like(2, {ItemType{static_cast<int16_t>(1 + id % 2)}, id}));
  }
  fixture.Do(Unlike(1, {ItemType{2}, 1}));
  for (const int page : {1, 2, 7, 12, 13, 24, 25, 26, 1000}) {
    const AuditPage all = AuditAll(fixture.store(), page);
    CHECK(all.findings.empty());
    CHECK(all.items_checked == 25);
  }
}

TEST_CASE("store: an audit page is as large as asked for and says where to go on") {
  Fixture fixture;
  for (int64_t id = 1; id <= 5; ++id) fixture.Do(Like(1, Post(id)));
  const AuditPage first = BlockingWait(fixture.store().Audit(std::nullopt, 2, {})).value();
  CHECK(first.items_checked == 2);
  CHECK(first.next == Post(2));
  const AuditPage rest = BlockingWait(fixture.store().Audit(first.next, 3, {})).value();
  CHECK(rest.items_checked == 3);
  CHECK_FALSE(rest.next);
}

TEST_CASE("store: an audit finds a wrong count") {
  Fixture fixture;
  fixture.Do(Like(7, Post(1)));
  fixture.Do(Like(7, Post(2)));
  const int64_t mix = LikerMix(UserId{7});
  fixture.under_test->PlantCounter(Post(1), 3, mix);
  const AuditPage all = AuditAll(fixture.store());
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0] == AuditFinding{Post(1), 3, mix, 1, mix});
}

TEST_CASE("store: an audit finds the right number of wrong likers by the digest") {
  Fixture fixture;
  fixture.Do(Like(7, Post(1)));
  fixture.under_test->RemoveLike(UserId{7}, Post(1));
  fixture.under_test->PlantLike(UserId{8}, Post(1));
  const AuditPage all = AuditAll(fixture.store());
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0] == AuditFinding{Post(1), 1, LikerMix(UserId{7}), 1, LikerMix(UserId{8})});
}

TEST_CASE("store: an audit finds likes without a counter and a counter without likes") {
  Fixture fixture;
  fixture.Do(Like(1, Post(5)));
  fixture.under_test->PlantLike(UserId{3}, Post(2));
  fixture.under_test->PlantLike(UserId{4}, Post(2));
  fixture.under_test->PlantLike(UserId{4}, {ItemType{2}, 1});
  fixture.under_test->PlantCounter(Post(8), 1, 42);
  const int64_t mix3 = LikerMix(UserId{3});
  const int64_t mix4 = LikerMix(UserId{4});
  const std::vector<AuditFinding> expected = {
      {Post(2), 0, 0, 2, mix3 ^ mix4}, {Post(8), 1, 42, 0, 0}, {{ItemType{2}, 1}, 0, 0, 1, mix4}};
  for (const int page : {1, 2, 3, 4, 100}) {
    INFO("pages of " << page);
    const AuditPage all = AuditAll(fixture.store(), page);
    CHECK(all.findings == expected);
    CHECK(all.items_checked == 4);
  }
}

}  // namespace
}  // namespace counter::testing
