#include "server/check/copy_checker.h"

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace counter {
namespace {

constexpr Item kPost = {ItemType{1}, 7};
constexpr int64_t kVersion = 1'700'000'000'000'000;
constexpr int64_t kDigest = 0x55;

class FakeCache final : public CountPeek {
 public:
  Task<std::vector<PeekedCount>> Peek(std::vector<Item> items) override {
    std::vector<PeekedCount> peeked;
    for (const Item& item : items) {
      PeekedCount& one = peeked.emplace_back();
      one.kind = answers ? PeekedCount::Kind::kNothing : PeekedCount::Kind::kUnanswered;
      const auto found = entries.find(item);
      if (answers && found != entries.end()) one = {PeekedCount::Kind::kValue, found->second};
    }
    co_return peeked;
  }

  bool answers = true;
  std::map<Item, CountEntry> entries;
};

class FakeStore final : public CounterCopies {
 public:
  int replicas() const override { return 1; }
  Task<absl::StatusOr<std::vector<CounterRow>>> ReplicaRows(int, std::vector<Item> items,
                                                            CallLimits) override {
    ++replica_reads;
    if (!replica_error.ok()) co_return replica_error;
    std::vector<CounterRow> rows;
    for (const Item& item : items) rows.push_back(replica[item]);
    co_return rows;
  }
  Task<absl::StatusOr<std::vector<RecountedCounter>>> RecountSome(std::vector<Item> items,
                                                                  RecountBounds,
                                                                  CallLimits) override {
    ++primary_reads;
    if (before_primary) before_primary();
    if (!primary_error.ok()) co_return primary_error;
    std::vector<RecountedCounter> recounts;
    for (const Item& item : items) recounts.push_back(primary[item]);
    co_return recounts;
  }

  int replica_reads = 0;
  int primary_reads = 0;
  std::function<void()> before_primary;
  absl::Status replica_error;
  absl::Status primary_error;
  std::map<Item, CounterRow> replica;
  std::map<Item, RecountedCounter> primary;
};

// Of a store only its last failover is asked for.
class FailedOverStore final : public LikeStore {
 public:
  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation>, CallLimits) override {
    co_return std::vector<absl::StatusOr<Applied>>();
  }
  Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead>, Consistency, CallLimits) override {
    co_return absl::UnimplementedError("");
  }
  Task<absl::StatusOr<PairsRead>> HasLiked(UserId, std::vector<ItemRead>, Consistency,
                                           CallLimits) override {
    co_return absl::UnimplementedError("");
  }
  Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery, CallLimits) override {
    co_return absl::UnimplementedError("");
  }
  Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery, CallLimits) override {
    co_return absl::UnimplementedError("");
  }
  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item>, int, CallLimits) override {
    co_return absl::UnimplementedError("");
  }
  std::string Timeline() const override { return "one"; }
  std::optional<Failover> LastFailover() const override { return failover; }
  absl::Status Health() const override { return absl::OkStatus(); }
  void Stop() override {}

  std::optional<Failover> failover;
};

CopyChecker::Options WithoutPauses() {
  CopyChecker::Options options;
  options.pause = absl::ZeroDuration();
  return options;
}

// All layers have the item at count 3.
struct Setup {
  Setup()
      : checker(
            {like_store, store, {{CopyLayer::kNear, &near}, {CopyLayer::kRedis, &redis}}, clock},
            writes, ItemTypes({{"post", ItemType{1}}}), WithoutPauses()) {
    SetAll(3, kVersion);
  }

  void SetAll(int64_t count, int64_t version) {
    near.entries[kPost] = {kPost, count, version, clock.WallNow()};
    redis.entries[kPost] = near.entries[kPost];
    store.replica[kPost] = {count, version, kDigest};
    store.primary[kPost] = {{count, version, kDigest}, true, count, kDigest};
  }
  // Samples a write that made it so, and checks it after 0.1 s.
  void CheckWrite(int64_t count = 3, int64_t version = kVersion) {
    writes.Acknowledged(kPost, count, version);
    clock.Advance(absl::Milliseconds(100));
    checker.CheckDue();
  }
  int64_t Got(CopyLayer layer, CopyResult result, int age = 0) const {
    return checker.tally().Get(layer, age, result);
  }
  int64_t AllOf(CopyResult result, int age = 0) const {
    int64_t all = 0;
    for (const CopyLayer layer : checker.layers()) all += Got(layer, result, age);
    return all;
  }

  ManualClock clock;
  FakeCache near;
  FakeCache redis;
  FakeStore store;
  FailedOverStore like_store;
  SampledWrites writes{clock, {.writes_per_second = 1}};
  CopyChecker checker;
};

TEST_CASE("copies that agree are equal in each layer at each age, and nothing diverges") {
  Setup setup;
  setup.writes.Acknowledged(kPost, 3, kVersion);
  absl::Duration passed;
  for (int age = 0; age < kCheckAges; ++age) {
    setup.clock.Advance(CheckAges()[static_cast<size_t>(age)] - passed);
    passed = CheckAges()[static_cast<size_t>(age)];
    setup.checker.CheckDue();
    CHECK(setup.AllOf(CopyResult::kEqual, age) == 5);
  }
  CHECK(setup.checker.layers() == std::vector<CopyLayer>{CopyLayer::kNear, CopyLayer::kRedis,
                                                         CopyLayer::kReplica, CopyLayer::kPrimary,
                                                         CopyLayer::kRecount});
  CHECK_FALSE(setup.checker.FirstDiverging().has_value());
  setup.clock.Advance(absl::Hours(1));
  setup.checker.CheckDue();
  CHECK(setup.store.primary_reads == kCheckAges);
}

TEST_CASE("a wrong count in each layer is seen there, and remembered with its versions") {
  const auto seen = [](CopyLayer layer, const std::function<void(Setup&)>& plant, int64_t layers) {
    Setup setup;
    plant(setup);
    setup.CheckWrite();
    CAPTURE(CopyLayerName(layer));
    CHECK(setup.Got(layer, CopyResult::kDiverged) == 1);
    CHECK(setup.AllOf(CopyResult::kDiverged) == layers);
    const std::optional<CopyChecker::Finding> first = setup.checker.FirstDiverging();
    REQUIRE(first.has_value());
    CHECK(first->item.item == kPost);
    CHECK(first->item.copies.size() == 5);
    CHECK(first->age == 0);
    for (const Copy& copy : first->item.copies) CHECK(copy.version == kVersion);
  };
  seen(
      CopyLayer::kNear, [](Setup& s) { s.near.entries[kPost].count = 9; }, 1);
  seen(
      CopyLayer::kRedis, [](Setup& s) { s.redis.entries[kPost].count = 9; }, 1);
  seen(
      CopyLayer::kReplica, [](Setup& s) { s.store.replica[kPost].digest = 9; }, 1);
  // The row is wrong, and the recount says so.
  seen(
      CopyLayer::kPrimary, [](Setup& s) { s.store.primary[kPost].stored.digest = 9; }, 2);
}

TEST_CASE("the first item that diverged is kept, whatever diverges after it") {
  Setup setup;
  setup.redis.entries[kPost].count = 9;
  setup.CheckWrite();
  setup.clock.Advance(absl::Seconds(1));
  setup.checker.CheckDue();
  constexpr Item kOther = {ItemType{1}, 8};
  setup.writes.Acknowledged(kOther, 1, 5);
  setup.clock.Advance(absl::Milliseconds(100));
  setup.checker.CheckDue();
  CHECK(setup.checker.FirstDiverging()->item.item == kPost);
}

TEST_CASE(
    "layers that are behind, overtaken or have nothing are counted as that, and not as wrong") {
  Setup setup;
  setup.SetAll(5, kVersion + 20);
  setup.near.entries.clear();
  setup.redis.entries[kPost] = {kPost, 4, kVersion + 10, setup.clock.WallNow()};
  setup.store.replica[kPost] = {2, kVersion - 10, 1};
  setup.CheckWrite(3, kVersion);
  CHECK(setup.Got(CopyLayer::kNear, CopyResult::kAbsent) == 1);
  CHECK(setup.Got(CopyLayer::kRedis, CopyResult::kOvertaken) == 1);
  CHECK(setup.Got(CopyLayer::kReplica, CopyResult::kBehind) == 1);
  CHECK(setup.Got(CopyLayer::kPrimary, CopyResult::kEqual) == 1);
  CHECK_FALSE(setup.checker.FirstDiverging().has_value());
}

TEST_CASE("what is ahead is read again, and counted as what it comes to") {
  Setup setup;
  setup.store.replica[kPost] = {4, kVersion + 1, kDigest + 1};
  setup.store.before_primary = [&setup] {
    if (setup.store.primary_reads == 2) setup.SetAll(4, kVersion + 1);
    setup.store.replica[kPost] = {4, kVersion + 1, kDigest};
  };
  setup.CheckWrite();
  CHECK(setup.store.primary_reads == 2);
  CHECK(setup.Got(CopyLayer::kRedis, CopyResult::kOvertaken) == 1);
  CHECK(setup.Got(CopyLayer::kReplica, CopyResult::kEqual) == 1);
  CHECK(setup.AllOf(CopyResult::kAhead) == 0);
  CHECK_FALSE(setup.checker.FirstDiverging().has_value());
}

TEST_CASE("what stays ahead is counted as ahead after so many readings") {
  Setup setup;
  setup.redis.entries[kPost].version = kVersion + 1;
  setup.CheckWrite();
  CHECK(setup.store.primary_reads == 4);
  CHECK(setup.Got(CopyLayer::kRedis, CopyResult::kAhead) == 1);
}

TEST_CASE("a check that would come too late is not made, and nothing is said of any layer") {
  Setup setup;
  setup.writes.Acknowledged(kPost, 3, kVersion);
  setup.clock.Advance(absl::Milliseconds(151));
  setup.checker.CheckDue();
  CHECK(setup.store.primary_reads == 0);
  CHECK(setup.AllOf(CopyResult::kUnanswered) == 5);
  // At a later age the same delay is nothing.
  setup.clock.Advance(absl::Milliseconds(849 + 100));
  setup.checker.CheckDue();
  CHECK(setup.AllOf(CopyResult::kEqual, 1) == 5);
}

TEST_CASE("a primary that does not answer leaves all unanswered, and an operator's check fails") {
  Setup setup;
  setup.store.primary_error = MakeError(ErrorReason::kStoreUnavailable, "gone");
  setup.CheckWrite();
  CHECK(setup.AllOf(CopyResult::kUnanswered) == 5);
  const auto checked = BlockingWait(setup.checker.Check({kPost}, {}));
  CHECK(ReasonOf(checked.status()) == ErrorReason::kStoreUnavailable);
}

TEST_CASE(
    "a replica that does not answer is left alone for a second, and the others are compared") {
  Setup setup;
  setup.store.replica_error = MakeError(ErrorReason::kStoreUnavailable, "gone");
  setup.CheckWrite();
  CHECK(setup.Got(CopyLayer::kReplica, CopyResult::kUnanswered) == 1);
  CHECK(setup.Got(CopyLayer::kRedis, CopyResult::kEqual) == 1);
  setup.store.replica_error = absl::OkStatus();
  CHECK(BlockingWait(setup.checker.Check({kPost}, {})).ok());
  CHECK(setup.store.replica_reads == 1);
  setup.clock.Advance(absl::Seconds(1));
  CHECK(BlockingWait(setup.checker.Check({kPost}, {})).ok());
  CHECK(setup.store.replica_reads == 2);
}

TEST_CASE("a cached count that a failover may have lost is absent, for no read believes it") {
  Setup setup;
  Failover failover;
  failover.seen = setup.clock.WallNow();
  failover.kept_until = absl::FromUnixMicros(kVersion) - absl::Minutes(1);
  setup.like_store.failover = failover;
  setup.redis.entries[kPost].version = kVersion + 1;
  setup.redis.entries[kPost].read_at = failover.seen;
  setup.near.answers = false;
  const auto checked = BlockingWait(setup.checker.Check({kPost}, {})).value();
  REQUIRE(checked.size() == 1);
  CHECK(checked[0].results == std::vector<CopyResult>{CopyResult::kUnanswered, CopyResult::kAbsent,
                                                      CopyResult::kEqual, CopyResult::kEqual,
                                                      CopyResult::kEqual});
}

TEST_CASE("the background checks what is sampled, and ends when it is told to") {
  SampledWrites writes(Clock::System(), {.writes_per_second = 100});
  Setup setup;
  CopyChecker checker(
      {setup.like_store, setup.store, {{CopyLayer::kRedis, &setup.redis}}, Clock::System()}, writes,
      ItemTypes({{"post", ItemType{1}}}), {});
  checker.Start();
  const MonotonicTime until = Clock::System().MonotonicNow() + absl::Seconds(30);
  const auto first = [&] {
    return checker.tally().Get(CopyLayer::kRedis, 0, CopyResult::kEqual) +
           checker.tally().Get(CopyLayer::kRedis, 0, CopyResult::kUnanswered);
  };
  writes.Acknowledged(kPost, 3, kVersion);
  while (first() == 0 && Clock::System().MonotonicNow() < until) std::this_thread::yield();
  CHECK(first() == 1);
  checker.Stop();
  CHECK(writes.stats().waiting == 1);
}

}  // namespace
}  // namespace counter
