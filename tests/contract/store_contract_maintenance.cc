// Repairs and scans of the contract suite: storage/like_maintenance.h.
#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/contract/store_calls.h"
#include "tests/contract/store_contract.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using Repaired = std::vector<RepairedCounter>;

struct Fixture {
  std::unique_ptr<StoreUnderTest> under_test = MakeStoreUnderTest();
  LikeStore& store() { return under_test->store(); }
  Applied Do(const Mutation& mutation) { return ApplyOne(store(), mutation).value(); }

  absl::StatusOr<Repaired> TryRepair(std::vector<Item> items) {
    return BlockingWait(under_test->maintenance().Repair(std::move(items), {}));
  }
  Repaired Repair(std::vector<Item> items) { return TryRepair(std::move(items)).value(); }
  std::vector<Item> SomeLikes(int64_t user, int items_max) {
    return BlockingWait(under_test->maintenance().SomeLikes(UserId{user}, items_max, {})).value();
  }
  // All likers, in the order of the scan, page after page.
  std::vector<int64_t> ScanAll(const Item& item, int scan_max, int likers_max, int& pages) {
    std::vector<int64_t> users;
    std::optional<LikePosition> after;
    pages = 0;
    do {
      const LikerScan scan =
          BlockingWait(under_test->maintenance().ScanLikers(item, after, scan_max, likers_max, {}))
              .value();
      CHECK(scan.likes_scanned <= scan_max);
      CHECK(static_cast<int>(scan.likers.size()) <= likers_max);
      for (const UserId user : scan.likers) users.push_back(user.value);
      after = scan.next;
      ++pages;
    } while (after.has_value());
    return users;
  }
};

TEST_CASE("store: a repair corrects the counters that differ from their likes, and no others") {
  Fixture fixture;
  for (int64_t id = 1; id <= 4; ++id) fixture.Do(Like(7, Post(id)));
  const Item reel = {ItemType{2}, 1};
  const int64_t mix7 = LikerMix(UserId{7});
  const int64_t mix8 = LikerMix(UserId{8});
  const ItemCount sound = CountOf(fixture.store(), Post(1));
  const ItemCount before = CountOf(fixture.store(), Post(2));
  fixture.under_test->PlantCounter(Post(2), 3, mix7);  // A wrong count.
  fixture.under_test->RemoveLike(UserId{7}, Post(3));  // Another liker than the digest's.
  fixture.under_test->PlantLike(UserId{8}, Post(3));
  fixture.under_test->PlantCounter(Post(5), 2, 42);  // No likes.
  fixture.under_test->PlantLike(UserId{8}, reel);    // No counter.
  const Repaired repaired = fixture.Repair({Post(1), Post(2), Post(3), Post(5), Post(9), reel});
  REQUIRE(repaired.size() == 4);
  CHECK(repaired[0].found == AuditFinding{Post(2), 3, mix7, 1, mix7});
  CHECK(repaired[1].found == AuditFinding{Post(3), 1, mix7, 1, mix8});
  CHECK(repaired[2].found == AuditFinding{Post(5), 2, 42, 0, 0});
  CHECK(repaired[3].found == AuditFinding{reel, 0, 0, 1, mix8});
  for (const RepairedCounter& counter : repaired) {
    const ItemCount now = CountOf(fixture.store(), counter.found.item);
    CHECK(now.count == counter.found.actual_count);
    CHECK(now.count == counter.count);
    CHECK(now.version == counter.version);
    CHECK(now.version > 1);
  }
  CHECK(repaired[0].version > before.version);
  CHECK(CountOf(fixture.store(), Post(1)).version == sound.version);
  CHECK(CountOf(fixture.store(), Post(9)).version == 0);
  CHECK(AuditAll(fixture.store()).findings.empty());
  CHECK(fixture.Repair({Post(2), Post(3), Post(5), reel}).empty());
  // Only what was asked for is corrected.
  fixture.under_test->PlantCounter(Post(1), 9, mix7);
  CHECK(fixture.Repair({Post(2)}).empty());
  CHECK(AuditAll(fixture.store()).findings.size() == 1);
}

TEST_CASE("store: a repaired counter goes on counting") {
  Fixture fixture;
  fixture.Do(Like(1, Post(1)));
  fixture.under_test->PlantCounter(Post(1), 0, 0);
  // What has drifted below its likes cannot lose one.
  CHECK_FALSE(ApplyOne(fixture.store(), Unlike(1, Post(1))).ok());
  const Repaired repaired = fixture.Repair({Post(1)});
  REQUIRE(repaired.size() == 1);
  const Applied liked = fixture.Do(Like(2, Post(1)));
  CHECK(liked.count == 2);
  CHECK(liked.version > repaired[0].version);
  CHECK(fixture.Do(Unlike(1, Post(1))).count == 1);
  CHECK(AuditAll(fixture.store()).findings.empty());
}

TEST_CASE("store: repairs while likes come and go lose none of them, and correct once") {
  Fixture fixture;
  constexpr int kRepairers = 3;
  constexpr int kWriters = 3;
  const std::vector<Item> items = {Post(1), Post(2), Post(3), Post(4)};
  std::vector<int> corrected(kRepairers);
  std::vector<int> failed(kRepairers + kWriters);
  const int rounds = Sized(6, 60);
  for (int round = 0; round < rounds; ++round) {
    // Drift of every kind; the counts stay above what unlikes may take.
    fixture.Do(Like(1'000 + round, Post(1)));
    fixture.under_test->PlantCounter(Post(1), 500 + round, 17);
    fixture.under_test->PlantCounter(Post(2), 700 + round, 18);
    for (int64_t user = 2'000; user < 2'010; ++user) {
      if (round == 0) fixture.under_test->PlantLike(UserId{user}, Post(3));
    }
    const int wrong = static_cast<int>(AuditAll(fixture.store()).findings.size());
    std::atomic<int> repairing{kRepairers};
    std::fill(corrected.begin(), corrected.end(), 0);
    RunWorkers(kRepairers + kWriters, [&](int worker) {
      const auto place = static_cast<size_t>(worker);
      if (worker < kRepairers) {
        for (int i = 0; i < 4; ++i) {
          const absl::StatusOr<Repaired> repaired = fixture.TryRepair(items);
          if (repaired.ok()) {
            corrected[place] += static_cast<int>(repaired->size());
          } else if (ReasonOf(repaired.status()) != ErrorReason::kOverloaded &&
                     ReasonOf(repaired.status()) != ErrorReason::kStoreUnavailable) {
            ++failed[place];
          }
        }
        --repairing;
        return;
      }
      std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(round * 10 + worker));
      while (repairing > 0) {
        const int64_t user = 1 + static_cast<int64_t>(random() % 50) + 100 * worker;
        const Item& item = items[random() % items.size()];
        const Mutation mutation = random() % 3 > 0 ? Like(user, item) : Unlike(user, item);
        if (!ApplyOne(fixture.store(), mutation).ok()) ++failed[place];
      }
    });
    int all = 0;
    for (const int some : corrected) all += some;
    CHECK(all == wrong);
    CHECK(AuditAll(fixture.store()).findings.empty());
  }
  for (const int some : failed) CHECK(some == 0);
}

TEST_CASE("store: some likes are the user's, of every type, and taking them back ends them") {
  Fixture fixture;
  std::set<Item> expected;
  for (int64_t id = 1; id <= 25; ++id) {
    const Item item = {ItemType{static_cast<int16_t>(1 + id % 2)}, id};
    fixture.Do(Like(7, item));
    fixture.Do(Like(8, item));
    expected.insert(item);
  }
  const std::vector<Item> all = fixture.SomeLikes(7, 1000);
  CHECK(std::set<Item>(all.begin(), all.end()) == expected);
  CHECK(all.size() == expected.size());
  int calls = 0;
  while (true) {
    const std::vector<Item> some = fixture.SomeLikes(7, 10);
    ++calls;
    CHECK(some.size() == std::min<size_t>(10, expected.size()));
    if (some.empty()) break;
    for (const Item& item : some) {
      CHECK(expected.erase(item) == 1);
      CHECK(fixture.Do(Unlike(7, item)).changed);
    }
  }
  CHECK(calls == 4);
  CHECK(fixture.SomeLikes(8, 1000).size() == 25);
  CHECK(fixture.SomeLikes(9, 1000).empty());
}

TEST_CASE("store: a scan finds every liker of an item once, however it is divided") {
  Fixture fixture;
  std::vector<int64_t> expected;
  for (int64_t user = 1; user <= 12; ++user) {
    for (int64_t id = 1; id <= 3; ++id) {
      if (id == 2 && user % 3 == 0) continue;
      fixture.Do(Like(user, Post(id)));
    }
    fixture.Do(Like(user, {ItemType{2}, 2}));
    if (user % 3 != 0) expected.push_back(user);
  }
  for (const int scan_max : {1, 2, 3, 7, 31, 32, 33, 1000}) {
    for (const int likers_max : {1, 2, 8, 1000}) {
      INFO("scans of " << scan_max << " likes for " << likers_max << " likers");
      int pages = 0;
      CHECK(fixture.ScanAll(Post(2), scan_max, likers_max, pages) == expected);
      CHECK(pages <= 33);
    }
  }
  int pages = 0;
  CHECK(fixture.ScanAll(Post(2), 1000, 1000, pages).size() == 8);
  CHECK(pages == 1);
  CHECK(fixture.ScanAll(Post(77), 1000, 1000, pages).empty());
  CHECK(fixture.ScanAll({ItemType{2}, 2}, 5, 5, pages).size() == 12);
}

}  // namespace
}  // namespace counter::testing
