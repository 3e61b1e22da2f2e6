#include "server/counter_service.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "cache/local/local_count_cache.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/local/local_recent_likes.h"
#include "server/testing/model_store.h"

namespace counter {
namespace {

constexpr int kLike = 1;
constexpr int kUnlike = 2;
constexpr int kStrong = 2;
const Item kPost456 = {{1}, 456};

struct CountingObserver final : ServiceObserver {
  void CountLookups(int64_t hits, int64_t misses) override {
    count_hits += hits;
    count_misses += misses;
  }
  void RecentLikeLookups(int64_t hits, int64_t misses) override {
    recent_hits += hits;
    recent_misses += misses;
  }
  void RateLimited(int64_t likes) override { rate_limited += likes; }
  void OutcomeUnknown(int64_t writes) override { unknown += writes; }
  void Refused(ErrorReason reason) override { refused.push_back(reason); }

  int64_t count_hits = 0;
  int64_t count_misses = 0;
  int64_t recent_hits = 0;
  int64_t recent_misses = 0;
  int64_t rate_limited = 0;
  int64_t unknown = 0;
  std::vector<ErrorReason> refused;
};

// A cache that is gone: it knows nothing and takes nothing.
class GoneCountCache final : public CountCache {
 public:
  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override {
    co_return std::vector<CountLookup>(items.size());
  }
  Task<bool> Put(std::vector<CountPut>) override { co_return false; }
  void Evict(const std::vector<Item>&) override {}
};

// A cache in which something happens while a write tells it of itself.
class MeddledCountCache final : public CountCache {
 public:
  explicit MeddledCountCache(CountCache& cache) : cache_(cache) {}

  Task<std::vector<CountLookup>> Get(std::vector<Item> items) override {
    return cache_.Get(std::move(items));
  }
  Task<bool> Put(std::vector<CountPut> puts) override {
    if (during_put) std::exchange(during_put, nullptr)();
    return cache_.Put(std::move(puts));
  }
  void Evict(const std::vector<Item>& items) override { cache_.Evict(items); }

  std::function<void()> during_put;

 private:
  CountCache& cache_;
};

struct Setup {
  explicit Setup(int64_t likes_per_window = 0)
      : rate_limiter(clock, {.limit = likes_per_window, .window = absl::Seconds(60)}) {}

  CounterService Service() { return Service(count_cache); }
  CounterService Service(CountCache& cache, CounterService::Options options = {}) {
    return CounterService(ItemTypes({{"post", {1}}, {"reel", {2}}}),
                          {store, cache, recent_likes, rate_limiter, clock, observer}, options);
  }

  ManualClock clock;
  ModelStore store{clock};
  LocalCountCache count_cache{clock};
  LocalRecentLikes recent_likes{clock};
  LocalRateLimiter rate_limiter;
  CountingObserver observer;
};

absl::StatusOr<WriteAnswer> Like(CounterService& service, int64_t user, int64_t id = 456) {
  return BlockingWait(service.Like(user, {"post", id}, {}));
}
absl::StatusOr<WriteAnswer> Unlike(CounterService& service, int64_t user, int64_t id = 456) {
  return BlockingWait(service.Unlike(user, {"post", id}, {}));
}
CountAnswer Count(CounterService& service, int64_t id = 456, int consistency = 0,
                  std::vector<std::string> tokens = {}) {
  const auto answers = BlockingWait(
      service.Counts({{{"post", id}}, consistency, std::move(tokens), /*single=*/true}, {}));
  REQUIRE(answers.ok());
  return answers->at(0);
}
LikedAnswer HasLiked(CounterService& service, int64_t user, std::vector<ItemRef> items,
                     int consistency = 0, std::vector<std::string> tokens = {}) {
  const auto answer =
      BlockingWait(service.HasLiked({user, std::move(items), consistency, std::move(tokens)}, {}));
  REQUIRE(answer.ok());
  return *answer;
}
std::vector<absl::StatusOr<WriteAnswer>> WriteLikes(CounterService& service,
                                                    std::vector<MutationRef> mutations) {
  auto answers = BlockingWait(service.WriteLikes(std::move(mutations), {}, {}));
  REQUIRE(answers.ok());
  return *std::move(answers);
}

// ---- Writes

TEST_CASE("a like counts once, however often it is repeated") {
  Setup setup;
  CounterService service = setup.Service();
  const auto first = Like(service, 1);
  REQUIRE(first.ok());
  CHECK(first->changed);
  CHECK(first->count == 1);
  for (int i = 0; i < 3; ++i) {
    const auto repeat = Like(service, 1);
    REQUIRE(repeat.ok());
    CHECK_FALSE(repeat->changed);
    CHECK(repeat->count == 1);
    CHECK(repeat->consistency_token == first->consistency_token);
  }
  CHECK(Like(service, 2)->count == 2);
}

TEST_CASE("an unlike of what was never liked changes nothing and counts 0") {
  Setup setup;
  CounterService service = setup.Service();
  const auto answer = Unlike(service, 1);
  REQUIRE(answer.ok());
  CHECK_FALSE(answer->changed);
  CHECK(answer->count == 0);
}

TEST_CASE("a bad request reaches no store and names every field") {
  Setup setup;
  CounterService service = setup.Service();
  const auto answer = BlockingWait(service.Like(0, {"nope", -1}, {}));
  REQUIRE_FALSE(answer.ok());
  CHECK(ReasonOf(answer.status()) == ErrorReason::kInvalidRequest);
  CHECK(IsNotApplied(answer.status()));
  const auto violations = FieldViolationsOf(answer.status());
  REQUIRE(violations.size() == 3);
  CHECK(violations[0].field == "user_id");
  CHECK(violations[1].field == "item.item_type");
  CHECK(violations[2].field == "item.item_id");
  CHECK(setup.store.reads() == 0);
}

TEST_CASE("D5: a like after an unlike is stored, whatever the recent likes say") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Like(service, 1)->changed);
  CHECK(Unlike(service, 1)->changed);
  CHECK(Like(service, 1)->changed);
  CHECK(Count(service, 456, kStrong).count == 1);
}

TEST_CASE("D8: a cache that is gone fails no write and no read") {
  Setup setup;
  GoneCountCache gone;
  CounterService service = setup.Service(gone);
  CHECK(Like(service, 1)->count == 1);
  CHECK(Count(service).count == 1);
  CHECK(Count(service).source == AnswerSource::kPrimary);
}

TEST_CASE("the error of a store goes out as it came") {
  Setup setup;
  CounterService service = setup.Service();
  setup.store.FailWrites(kPost456, MakeError(ErrorReason::kStoreUnavailable, "try again"));
  const auto answer = Like(service, 1);
  REQUIRE_FALSE(answer.ok());
  CHECK(ReasonOf(answer.status()) == ErrorReason::kStoreUnavailable);
  CHECK_FALSE(IsNotApplied(answer.status()));
}

TEST_CASE("a batch of writes that finds no room is refused as a whole, and harms nobody") {
  Setup setup;
  MeddledCountCache cache(setup.count_cache);
  CounterService service = setup.Service(cache, {.items_in_flight_max = 3});
  const auto batch = [](int64_t user, int size) {
    std::vector<MutationRef> mutations;
    for (int i = 0; i < size; ++i) mutations.push_back({user, {"post", 456 + i}, kLike});
    return mutations;
  };
  bool has_meddled = false;
  cache.during_put = [&] {
    has_meddled = true;
    CHECK(service.mutations_in_flight() == 2);
    const auto refused = BlockingWait(service.WriteLikes(batch(2, 2), {}, {}));
    REQUIRE_FALSE(refused.ok());
    CHECK(ReasonOf(refused.status()) == ErrorReason::kOverloaded);
    CHECK(IsNotApplied(refused.status()));
    CHECK(RetryAfterOf(refused.status()).has_value());
    CHECK(setup.observer.refused == std::vector{ErrorReason::kOverloaded});
    // There is room for one, what comes alone needs none, and reads have a room of their own.
    CHECK(WriteLikes(service, batch(3, 1))[0]->changed);
    CHECK(Like(service, 4)->changed);
    CHECK(BlockingWait(service.Counts({{{"post", 456}, {"post", 457}, {"post", 458}}, 0, {}}, {}))
              .ok());
  };
  const auto answers = WriteLikes(service, batch(1, 2));
  REQUIRE(has_meddled);
  CHECK(answers[1]->changed);
  CHECK(service.mutations_in_flight() == 0);
  CHECK(Count(service, 456, kStrong).count == 3);
  // Nobody is refused for ever: what is larger than all room gets it when it is alone.
  CHECK(WriteLikes(service, batch(5, 4))[3]->changed);
}

TEST_CASE("a batch of reads that finds no room is refused as a whole") {
  Setup setup;
  CounterService service = setup.Service(setup.count_cache, {.items_in_flight_max = 3});
  const std::vector<ItemRef> two = {{"post", 1}, {"post", 2}};
  int refused = 0;
  bool has_read = false;
  setup.store.after_read = [&] {
    if (std::exchange(has_read, true)) return;
    CHECK(service.items_in_flight() == 2);
    refused += BlockingWait(service.Counts({two, kStrong, {}}, {})).ok() ? 0 : 1;
    refused += BlockingWait(service.HasLiked({1, two, kStrong, {}}, {})).ok() ? 0 : 1;
    CHECK(Count(service, 3, kStrong).count == 0);
    CHECK(Like(service, 1)->changed);
  };
  CHECK(BlockingWait(service.Counts({two, kStrong, {}}, {})).ok());
  CHECK(refused == 2);
  CHECK(setup.observer.refused.size() == 2);
  CHECK(service.items_in_flight() == 0);
  CHECK(BlockingWait(service.HasLiked({1, two, kStrong, {}}, {})).ok());
}

TEST_CASE("each mutation of WriteLikes has its own outcome, in the order of the request") {
  Setup setup;
  CounterService service = setup.Service();
  setup.store.FailWrites({{1}, 13}, MakeError(ErrorReason::kStoreUnavailable, "poison"));
  const auto answers = WriteLikes(service, {{1, {"post", 456}, kLike},
                                            {0, {"post", 456}, kLike},
                                            {1, {"post", 456}, kLike},
                                            {1, {"post", 13}, kLike},
                                            {1, {"post", 456}, kUnlike},
                                            {2, {"nope", 456}, kLike},
                                            {2, {"reel", 7}, 0},
                                            {2, {"reel", 7}, kLike}});
  REQUIRE(answers.size() == 8);
  CHECK((answers[0]->changed && answers[0]->count == 1));
  CHECK(FieldViolationsOf(answers[1].status()).at(0).field == "mutations[1].user_id");
  CHECK((!answers[2]->changed && answers[2]->count == 1));
  CHECK(ReasonOf(answers[3].status()) == ErrorReason::kStoreUnavailable);
  CHECK((answers[4]->changed && answers[4]->count == 0));
  CHECK(FieldViolationsOf(answers[5].status()).at(0).field == "mutations[5].item.item_type");
  CHECK(FieldViolationsOf(answers[6].status()).at(0).field == "mutations[6].action");
  CHECK((answers[7]->changed && answers[7]->count == 1));
}

TEST_CASE("a mutation that was refused before is not applied, and the others keep their places") {
  Setup setup;
  CounterService service = setup.Service();
  const absl::Status no = MakeError(ErrorReason::kUserNotAllowed, "not for this user");
  const auto answers = BlockingWait(service.WriteLikes({{5, {"post", 456}, kLike},
                                                        {0, {"post", 456}, kLike},
                                                        {1, {"post", 456}, kLike},
                                                        {0, {"nope", 456}, kLike},
                                                        {2, {"nope", 456}, kLike}},
                                                       {no, {}, {}, no, {}}, {}));
  REQUIRE(answers.ok());
  REQUIRE(answers->size() == 5);
  for (const int refused : {0, 3}) {
    CHECK(ReasonOf((*answers)[refused].status()) == ErrorReason::kUserNotAllowed);
  }
  CHECK(FieldViolationsOf((*answers)[1].status()).at(0).field == "mutations[1].user_id");
  CHECK(FieldViolationsOf((*answers)[4].status()).at(0).field == "mutations[4].item.item_type");
  CHECK(((*answers)[2]->changed && (*answers)[2]->count == 1));
}

TEST_CASE("WriteLikes takes 0 to 1000 mutations") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(WriteLikes(service, {}).empty());
  std::vector<MutationRef> mutations;
  for (int i = 0; i < 1000; ++i) mutations.push_back({i + 1, {"post", 456}, kLike});
  CHECK(WriteLikes(service, mutations).back()->count == 1000);
  mutations.push_back({1, {"post", 456}, kLike});
  const auto refused = BlockingWait(service.WriteLikes(mutations, {}, {}));
  CHECK(FieldViolationsOf(refused.status()) ==
        std::vector<FieldViolation>{{"mutations", "must have at most 1000 elements, got 1001"}});
}

// ---- Rate limit

TEST_CASE("a like over the limit is refused with a retry hint and applied nothing") {
  Setup setup(/*likes_per_window=*/2);
  CounterService service = setup.Service();
  CHECK(Like(service, 1, 1).ok());
  CHECK(Like(service, 1, 2).ok());
  const auto refused = Like(service, 1, 3);
  REQUIRE_FALSE(refused.ok());
  CHECK(ReasonOf(refused.status()) == ErrorReason::kRateLimited);
  CHECK(IsNotApplied(refused.status()));
  CHECK(RetryAfterOf(refused.status()) == absl::Seconds(60));
  CHECK(QuotaViolationOf(refused.status())->subject == "user:1");
  CHECK(Count(service, 3, kStrong).count == 0);
  CHECK(setup.observer.rate_limited == 1);

  CHECK(Like(service, 2, 3).ok());
  setup.clock.Advance(absl::Seconds(61));
  CHECK(Like(service, 1, 3).ok());
}

TEST_CASE("D10: repeats, unlikes, refusals and failures that applied nothing are free") {
  Setup setup(/*likes_per_window=*/2);
  CounterService service = setup.Service();
  CHECK(Like(service, 1, 1).ok());
  for (int i = 0; i < 5; ++i) CHECK(Like(service, 1, 1).ok());
  for (int i = 0; i < 5; ++i) CHECK(Unlike(service, 1, 77).ok());
  CHECK_FALSE(BlockingWait(service.Like(1, {"nope", 1}, {})).ok());
  absl::Status not_applied = MakeError(ErrorReason::kOverloaded, "full");
  MarkNotApplied(not_applied);
  setup.store.FailWrites(kPost456, not_applied);
  CHECK_FALSE(Like(service, 1, 456).ok());
  CHECK(Like(service, 1, 2).ok());
  CHECK(ReasonOf(Like(service, 1, 3).status()) == ErrorReason::kRateLimited);
  CHECK(ReasonOf(Like(service, 1, 3).status()) == ErrorReason::kRateLimited);
}

TEST_CASE("a like of unknown outcome stays charged") {
  Setup setup(/*likes_per_window=*/1);
  CounterService service = setup.Service();
  setup.store.FailWrites(kPost456, MakeError(ErrorReason::kStoreUnavailable, "broke off"));
  CHECK_FALSE(Like(service, 1, 456).ok());
  CHECK(ReasonOf(Like(service, 1, 2).status()) == ErrorReason::kRateLimited);
}

TEST_CASE("only a write that may or may not be applied is told as unknown") {
  Setup setup(/*likes_per_window=*/1);
  CounterService service = setup.Service();
  setup.store.FailWrites(kPost456, MakeError(ErrorReason::kStoreUnavailable, "broke off"));
  CHECK_FALSE(Like(service, 1, 456).ok());
  CHECK(setup.observer.unknown == 1);
  CHECK_FALSE(Unlike(service, 1, 456).ok());
  CHECK(setup.observer.unknown == 2);

  // Over the limit, not valid, certainly not applied, applied.
  CHECK_FALSE(Like(service, 1, 2).ok());
  CHECK_FALSE(BlockingWait(service.Like(1, {"nope", 1}, {})).ok());
  absl::Status not_applied = MakeError(ErrorReason::kOverloaded, "full");
  MarkNotApplied(not_applied);
  setup.store.FailWrites(kPost456, not_applied);
  CHECK_FALSE(Like(service, 3, 456).ok());
  CHECK(Like(service, 3, 2).ok());
  CHECK(setup.observer.unknown == 2);
}

TEST_CASE("WriteLikes is charged by its likes and refuses only those over the limit") {
  Setup setup(/*likes_per_window=*/2);
  CounterService service = setup.Service();
  const auto answers = WriteLikes(service, {{1, {"post", 1}, kLike},
                                            {1, {"post", 1}, kLike},
                                            {1, {"post", 2}, kLike},
                                            {1, {"post", 3}, kUnlike},
                                            {2, {"post", 1}, kLike}});
  CHECK(answers[0].ok());
  CHECK(answers[1].ok());
  CHECK(ReasonOf(answers[2].status()) == ErrorReason::kRateLimited);
  CHECK(answers[3].ok());
  CHECK(answers[4].ok());
  // The repeat was given back.
  CHECK(Like(service, 1, 2).ok());
  CHECK(ReasonOf(Like(service, 1, 3).status()) == ErrorReason::kRateLimited);
}

// ---- Counts

TEST_CASE("a count is read once and then comes from the cache, with every write in it") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Like(service, 1)->changed);
  CHECK(Count(service).source == AnswerSource::kPrimary);
  CHECK(Count(service).source == AnswerSource::kCache);
  CHECK(Like(service, 2)->changed);
  const CountAnswer cached = Count(service);
  CHECK(cached.source == AnswerSource::kCache);
  CHECK(cached.count == 2);
  CHECK(setup.store.reads() == 1);
  CHECK(setup.observer.count_hits == 2);
  CHECK(setup.observer.count_misses == 1);
}

TEST_CASE("D15: the count of an item that nobody liked comes from the cache") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Count(service).count == 0);
  CHECK(Count(service).source == AnswerSource::kCache);
  CHECK(Count(service).count == 0);
  CHECK(setup.store.reads() == 1);
}

TEST_CASE("D1, D3: a write to an item that is not cached puts no count of its own making there") {
  Setup setup;
  CounterService service = setup.Service();
  for (int user = 1; user <= 10; ++user) CHECK(Like(service, user)->changed);
  CHECK(Count(service).count == 10);
  setup.count_cache.Forget(kPost456);
  CHECK(Like(service, 11)->changed);
  CHECK(Count(service).count == 11);
  setup.count_cache.Forget(kPost456);
  CHECK(Unlike(service, 11)->changed);
  CHECK(Count(service).count == 10);
}

TEST_CASE("D4: a fill that is overtaken by a like does not bring the old count back") {
  Setup setup;
  CounterService service = setup.Service();
  setup.store.after_read = [&] {
    setup.store.after_read = nullptr;
    CHECK(Like(service, 1)->count == 1);
  };
  CHECK(Count(service).count == 0);
  CHECK(Count(service).count == 1);
}

TEST_CASE("a strong read goes to the primary and refreshes the cache") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Count(service).count == 0);
  // Behind the cache's back, as another server would.
  const Mutation elsewhere = {{9}, kPost456, Action::kLike};
  CHECK(BlockingWait(setup.store.Apply({elsewhere}, {})).at(0).ok());
  CHECK(Count(service).count == 0);
  CHECK(Count(service, 456, kStrong).count == 1);
  CHECK(Count(service).count == 1);
  CHECK(Count(service).source == AnswerSource::kCache);
}

TEST_CASE("a read with the token of a write includes that write") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Count(service).count == 0);
  GoneCountCache gone;
  CounterService other_server = setup.Service(gone);
  const auto written = Like(other_server, 1);
  CHECK(Count(service).count == 0);
  const CountAnswer answer = Count(service, 456, 0, {written->consistency_token});
  CHECK(answer.count == 1);
  CHECK(answer.source == AnswerSource::kPrimary);
  // And the cache has it now.
  CHECK(Count(service, 456, 0, {written->consistency_token}).source == AnswerSource::kCache);
}

TEST_CASE("counts come in the order of the request, repeated ones repeated") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Like(service, 1, 5)->changed);
  const auto answers = BlockingWait(
      service.Counts({{{"post", 7}, {"post", 5}, {"reel", 5}, {"post", 5}}, 0, {}, false}, {}));
  REQUIRE(answers.ok());
  REQUIRE(answers->size() == 4);
  CHECK((*answers)[0].count == 0);
  CHECK((*answers)[1].count == 1);
  CHECK((*answers)[2].count == 0);
  CHECK((*answers)[3].count == 1);
  CHECK(BlockingWait(service.Counts({}, {}))->empty());
}

TEST_CASE("cached counts are served while the store is gone") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Count(service).count == 0);
  setup.store.FailReads(MakeError(ErrorReason::kStoreUnavailable, "gone"));
  CHECK(Count(service).count == 0);
  const auto strong =
      BlockingWait(service.Counts({{{"post", 456}}, kStrong, {}, /*single=*/true}, {}));
  CHECK(ReasonOf(strong.status()) == ErrorReason::kStoreUnavailable);
}

// ---- Has liked

TEST_CASE("has-liked asks the store once, then knows the user's own recent likes") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Like(service, 1)->changed);
  CHECK(HasLiked(service, 1, {{"post", 456}}).source == AnswerSource::kPrimary);
  REQUIRE(setup.store.reads() == 1);
  CHECK(Like(service, 1, 457)->changed);
  const LikedAnswer answer = HasLiked(service, 1, {{"post", 456}, {"post", 457}});
  CHECK(answer.liked == std::vector<bool>{true, true});
  CHECK(answer.source == AnswerSource::kCache);
  CHECK(setup.store.reads() == 1);
  CHECK(Unlike(service, 1)->changed);
  CHECK(HasLiked(service, 1, {{"post", 456}}).liked == std::vector<bool>{false});
}

TEST_CASE("has-liked answers each place of the request and asks the store for the rest") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Like(service, 1, 5)->changed);
  CHECK(HasLiked(service, 1, {{"post", 5}}).liked == std::vector<bool>{true});
  setup.observer.recent_misses = 0;
  const LikedAnswer answer =
      HasLiked(service, 1, {{"post", 6}, {"post", 5}, {"reel", 5}, {"post", 5}});
  CHECK(answer.liked == std::vector<bool>{false, true, false, true});
  CHECK(answer.source == AnswerSource::kPrimary);
  CHECK(setup.observer.recent_hits == 1);
  CHECK(setup.observer.recent_misses == 2);
  CHECK(HasLiked(service, 1, {}).liked.empty());
}

TEST_CASE("D6: a has-liked that is overtaken by an unlike leaves no like behind") {
  Setup setup;
  CounterService service = setup.Service();
  CHECK(Like(service, 1)->changed);
  setup.clock.Advance(absl::Hours(25));  // The recent likes have forgotten it.
  setup.store.after_read = [&] {
    setup.store.after_read = nullptr;
    CHECK(Unlike(service, 1)->changed);
  };
  CHECK(HasLiked(service, 1, {{"post", 456}}).liked == std::vector<bool>{true});
  CHECK(HasLiked(service, 1, {{"post", 456}}).liked == std::vector<bool>{false});
}

TEST_CASE("a strong has-liked, and one with a token, ask the store") {
  Setup setup;
  CounterService service = setup.Service();
  const auto written = Like(service, 1);
  CHECK(HasLiked(service, 1, {{"post", 456}}, kStrong).source == AnswerSource::kPrimary);
  CHECK(HasLiked(service, 1, {{"post", 456}}, 0, {written->consistency_token}).source ==
        AnswerSource::kPrimary);
}

}  // namespace
}  // namespace counter
