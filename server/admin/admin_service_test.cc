#include "server/admin/admin_service.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cache/local/local_count_cache.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/local/local_recent_likes.h"
#include "server/check/copy_checker.h"
#include "server/check/sampled_writes.h"
#include "server/rpc/wakeup.h"
#include "server/testing/model_store.h"

namespace counter {
namespace {

const Item kPost = {ItemType{1}, 1};

struct QuietObserver final : ServiceObserver {
  void CountLookups(int64_t, int64_t) override {}
  void RecentLikeLookups(int64_t, int64_t) override {}
  void RateLimited(int64_t) override {}
};

// Finds what it is told to find, and waits first if it is told to.
class ScriptedMaintenance final : public LikeMaintenance {
 public:
  Task<absl::StatusOr<std::vector<RepairedCounter>>> Repair(std::vector<Item>,
                                                            CallLimits) override {
    co_return std::vector<RepairedCounter>();
  }
  Task<absl::StatusOr<std::vector<Item>>> SomeLikes(UserId, int, CallLimits) override {
    if (wait != nullptr) co_await wait->Wait();
    if (!error.ok()) co_return error;
    co_return likes;
  }
  Task<absl::StatusOr<LikerScan>> ScanLikers(Item, std::optional<LikePosition>, int, int,
                                             CallLimits) override {
    co_return LikerScan();
  }

  rpc::Wakeup* wait = nullptr;
  absl::Status error;
  std::vector<Item> likes;
};

// Finds every item sound, and waits first if it is told to.
class SoundCopies final : public CounterCopies {
 public:
  int replicas() const override { return 0; }
  Task<absl::StatusOr<std::vector<CounterRow>>> ReplicaRows(int, std::vector<Item> items,
                                                            CallLimits) override {
    co_return std::vector<CounterRow>(items.size());
  }
  Task<absl::StatusOr<std::vector<RecountedCounter>>> RecountSome(std::vector<Item> items,
                                                                  RecountBounds,
                                                                  CallLimits) override {
    asked = items;
    co_return std::vector<RecountedCounter>(items.size());
  }

  std::vector<Item> asked;
};

struct Setup {
  absl::StatusOr<ErasureAnswer> Erase(int64_t user) {
    return BlockingWait(admin.EraseUser({user, 0}, {}));
  }
  absl::StatusOr<AuditAnswer> Audit() { return BlockingWait(admin.Audit({}, {})); }

  ManualClock clock;
  ModelStore store{clock};
  LocalCountCache count_cache{clock};
  LocalRecentLikes recent_likes{clock};
  LocalRateLimiter rate_limiter{clock, {.limit = 0, .window = absl::Seconds(60)}};
  QuietObserver observer;
  ItemTypes types{{{"post", {1}}}};
  CounterService service{types, {store, count_cache, recent_likes, rate_limiter, clock, observer}};
  ScriptedMaintenance maintenance;
  SoundCopies copies;
  SampledWrites sampled{clock, {.writes_per_second = 1}};
  CopyChecker checker{
      {store, copies, {{CopyLayer::kLocal, &count_cache}}, clock}, sampled, types, {}};
  AdminService admin{types,
                     {store, maintenance, count_cache, service, checker, clock},
                     {.audited_items_per_second = 1000, .likes_per_second = 10}};
};

Task<> EraseLater(AdminService& admin, bool& ended) {
  Task<absl::StatusOr<ErasureAnswer>> erase = admin.EraseUser({7, 0}, {});
  const absl::StatusOr<ErasureAnswer> answer = co_await std::move(erase);
  ended = answer.ok();
}

TEST_CASE("while one call is worked on, another one is OVERLOADED with a time to come again") {
  Setup setup;
  rpc::Wakeup wakeup;
  setup.maintenance.wait = &wakeup;
  bool ended = false;
  Spawn(EraseLater(setup.admin, ended));
  const absl::StatusOr<AuditAnswer> refused = setup.Audit();
  CHECK(ReasonOf(refused.status()) == ErrorReason::kOverloaded);
  CHECK(RetryAfterOf(refused.status()).has_value());
  CHECK(IsNotApplied(refused.status()));
  CHECK_FALSE(ended);
  wakeup.Wake();
  CHECK(ended);
  CHECK(setup.Audit().ok());
}

TEST_CASE("a call that failed makes room for the next one") {
  Setup setup;
  setup.maintenance.error = MakeError(ErrorReason::kStoreUnavailable, "gone");
  CHECK(ReasonOf(setup.Erase(7).status()) == ErrorReason::kStoreUnavailable);
  setup.maintenance.error = absl::OkStatus();
  CHECK(setup.Erase(7).ok());
}

TEST_CASE("likes that are taken back are paid for before the next ones are") {
  Setup setup;
  for (int64_t id = 1; id <= 5; ++id) {
    REQUIRE(BlockingWait(setup.service.Like(7, {"post", id}, {})).ok());
    setup.maintenance.likes.push_back({ItemType{1}, id});
  }
  CHECK(setup.Erase(7).value().likes_removed == 5);
  const absl::StatusOr<ErasureAnswer> soon = setup.Erase(7);
  REQUIRE(ReasonOf(soon.status()) == ErrorReason::kRateLimited);
  CHECK(RetryAfterOf(soon.status()) == absl::Milliseconds(500));
  CHECK(setup.Audit().ok());  // Recounts have a pace of their own.
  setup.clock.Advance(absl::Milliseconds(500));
  CHECK(setup.Erase(7).value().likes_removed == 0);
}

TEST_CASE("a check asks for each item once, and is paid for before the next recount") {
  Setup setup;
  const auto checked =
      BlockingWait(setup.admin.CheckCopies({{{"post", 9}, {"post", 2}, {"post", 9}}}, {}));
  REQUIRE(checked.ok());
  CHECK(setup.copies.asked == std::vector<Item>{{ItemType{1}, 2}, {ItemType{1}, 9}});
  CHECK(checked->items.size() == 2);
  CHECK(ReasonOf(setup.Audit().status()) == ErrorReason::kRateLimited);
  setup.clock.Advance(absl::Milliseconds(200));
  CHECK(setup.Audit().ok());
}

TEST_CASE("a check without items is of those that were sampled last; of none there is none") {
  Setup setup;
  const auto none = BlockingWait(setup.admin.CheckCopies({}, {}));
  REQUIRE(none.ok());
  CHECK(none->items.empty());
  CHECK(setup.copies.asked.empty());
  setup.sampled.Acknowledged(kPost, 1, 1);
  const auto last = BlockingWait(setup.admin.CheckCopies({}, {}));
  REQUIRE(last.ok());
  CHECK(setup.copies.asked == std::vector<Item>{kPost});
}

TEST_CASE("an erasure of which a part failed does not say that nothing was applied") {
  Setup setup;
  REQUIRE(BlockingWait(setup.service.Like(7, {"post", 1}, {})).ok());
  REQUIRE(BlockingWait(setup.service.Like(7, {"post", 2}, {})).ok());
  setup.maintenance.likes = {{ItemType{1}, 1}, {ItemType{1}, 2}};
  absl::Status failure = MakeError(ErrorReason::kStoreUnavailable, "not now");
  MarkNotApplied(failure);
  setup.store.FailWrites(kPost, failure);
  const absl::StatusOr<ErasureAnswer> erased = setup.Erase(7);
  CHECK(ReasonOf(erased.status()) == ErrorReason::kStoreUnavailable);
  CHECK_FALSE(IsNotApplied(erased.status()));
  CHECK(setup.admin.stats().likes_written == 1);
}

}  // namespace
}  // namespace counter
