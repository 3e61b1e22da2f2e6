#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cache/local/local_count_cache.h"
#include "cache/local/local_rate_limiter.h"
#include "cache/local/local_recent_likes.h"
#include "server/counter_service.h"
#include "server/testing/model_store.h"

namespace counter {
namespace {

struct QuietObserver final : ServiceObserver {
  void CountLookups(int64_t, int64_t) override {}
  void RecentLikeLookups(int64_t, int64_t) override {}
  void RateLimited(int64_t) override {}
};

struct Setup {
  absl::StatusOr<LikesAnswer> Likes(LikesListRequest request) {
    return BlockingWait(service.ListLikes(std::move(request), {}));
  }
  absl::StatusOr<LikersAnswer> Likers(LikersListRequest request) {
    return BlockingWait(service.ListLikers(std::move(request), {}));
  }
  // One second after the one before.
  void Like(int64_t user, const std::string& type, int64_t id) {
    clock.Advance(absl::Seconds(1));
    REQUIRE(BlockingWait(service.Like(user, {type, id}, {})).ok());
  }

  ManualClock clock;
  ModelStore store{clock};
  LocalCountCache count_cache{clock};
  LocalRecentLikes recent_likes{clock};
  LocalRateLimiter rate_limiter{clock, {.limit = 0, .window = absl::Seconds(60)}};
  QuietObserver observer;
  CounterService service{ItemTypes({{"reel", {2}}, {"post", {1}}}),
                         {store, count_cache, recent_likes, rate_limiter, clock, observer}};
};

std::vector<std::string> NamesOf(const LikesAnswer& answer) {
  std::vector<std::string> names;
  for (const LikedItem& like : answer.likes) {
    names.push_back(like.item.type + ":" + std::to_string(like.item.id));
  }
  return names;
}

std::set<std::string> FieldsOf(const absl::Status& error) {
  CHECK(ReasonOf(error) == ErrorReason::kInvalidRequest);
  std::set<std::string> fields;
  for (const FieldViolation& violation : FieldViolationsOf(error)) fields.insert(violation.field);
  return fields;
}

std::string DescriptionOf(const absl::Status& error) {
  const std::vector<FieldViolation> violations = FieldViolationsOf(error);
  REQUIRE(violations.size() == 1);
  return violations[0].description;
}

using Names = std::vector<std::string>;

TEST_CASE("a list names items and times, newest first, and each page the next") {
  Setup setup;
  setup.Like(1, "post", 5);
  setup.Like(1, "reel", 6);
  setup.Like(1, "post", 7);
  setup.Like(2, "post", 8);
  const auto whole = setup.Likes({1, {}, 0, ""});
  REQUIRE(whole.ok());
  CHECK(NamesOf(*whole) == Names{"post:7", "reel:6", "post:5"});
  CHECK(whole->next_page_token.empty());
  CHECK(whole->likes[0].liked_at - whole->likes[2].liked_at == absl::Seconds(2));

  const auto first = setup.Likes({1, {}, 2, ""});
  REQUIRE(first.ok());
  CHECK(NamesOf(*first) == Names{"post:7", "reel:6"});
  const auto second = setup.Likes({1, {}, 1, first->next_page_token});
  REQUIRE(second.ok());
  CHECK(NamesOf(*second) == Names{"post:5"});
  CHECK(second->next_page_token.empty());
}

TEST_CASE("a filter names types in any order, once or twice, and its token is of that filter") {
  Setup setup;
  for (int64_t id = 1; id <= 3; ++id) setup.Like(1, "post", id);
  setup.Like(1, "reel", 4);
  const auto posts = setup.Likes({1, {"post"}, 2, ""});
  REQUIRE(posts.ok());
  CHECK(NamesOf(*posts) == Names{"post:3", "post:2"});
  CHECK(setup.Likes({1, {"post", "post"}, 2, posts->next_page_token}).ok());
  CHECK(FieldsOf(setup.Likes({1, {}, 2, posts->next_page_token}).status()) ==
        std::set<std::string>{"page_token"});
  CHECK_FALSE(setup.Likes({1, {"post", "reel"}, 2, posts->next_page_token}).ok());
  const auto both = setup.Likes({1, {"reel", "post"}, 2, ""});
  CHECK(setup.Likes({1, {"post", "reel"}, 2, both->next_page_token}).ok());
}

TEST_CASE("a page token that is none, or of another user, is refused and says what it must be") {
  Setup setup;
  for (int64_t id = 1; id <= 3; ++id) setup.Like(1, "post", id);
  const std::string token = setup.Likes({1, {}, 1, ""})->next_page_token;
  REQUIRE_FALSE(token.empty());
  const auto of_another = setup.Likes({2, {}, 1, token});
  CHECK(DescriptionOf(of_another.status()) ==
        "must be the next_page_token of an earlier page with the same user_id and item_types, got "
        "\"" +
            token + "\"");
  for (const std::string& bad : {std::string("garbage"), std::string(100'000, 'a'), token + "="}) {
    CHECK(FieldsOf(setup.Likes({1, {}, 1, bad}).status()) == std::set<std::string>{"page_token"});
  }
  CHECK_FALSE(setup.Likers({{"post", 1}, 1, token}).ok());
}

TEST_CASE("everything that is wrong with a list is named at once, with its limits") {
  Setup setup;
  const auto likes = setup.Likes({0, {"post", "no such", "nothing"}, 1001, "x"});
  CHECK(FieldsOf(likes.status()) ==
        std::set<std::string>{"user_id", "item_types[1]", "item_types[2]", "page_size"});
  const auto likers = setup.Likers({{"nothing", 0}, -1, "x"});
  CHECK(FieldsOf(likers.status()) ==
        std::set<std::string>{"item.item_type", "item.item_id", "page_size"});
  CHECK(DescriptionOf(setup.Likes({1, {}, 1001, ""}).status()) ==
        "must be 1 to 1000, or 0 for 100; got 1001");
  CHECK(setup.Likes({1, {}, 1000, ""}).ok());
  CHECK(FieldsOf(setup.Likes({1, Names(1001, "post"), 1, ""}).status()) ==
        std::set<std::string>{"item_types"});
}

TEST_CASE("a page holds 100 unless it is asked for more or less") {
  Setup setup;
  for (int64_t id = 1; id <= 150; ++id) setup.Like(1, "post", id);
  CHECK(setup.Likes({1, {}, 0, ""})->likes.size() == 100);
  CHECK(setup.Likes({1, {}, 149, ""})->likes.size() == 149);
  const auto whole = setup.Likes({1, {}, 150, ""});
  CHECK(whole->likes.size() == 150);
  CHECK(whole->next_page_token.empty());
}

TEST_CASE("likers come newest first, page by page") {
  Setup setup;
  for (int64_t user = 1; user <= 5; ++user) setup.Like(user, "post", 456);
  setup.Like(6, "post", 457);
  std::vector<int64_t> users;
  std::string token;
  do {
    const auto page = setup.Likers({{"post", 456}, 2, token});
    REQUIRE(page.ok());
    for (const ItemLiker& liker : page->likers) users.push_back(liker.user_id);
    token = page->next_page_token;
  } while (!token.empty());
  CHECK(users == std::vector<int64_t>{5, 4, 3, 2, 1});
}

TEST_CASE("a list that the store cannot give ends with the store's reason") {
  Setup setup;
  setup.store.FailReads(MakeError(ErrorReason::kLikersNotIndexed, "no index"));
  CHECK(ReasonOf(setup.Likers({{"post", 1}, 1, ""}).status()) == ErrorReason::kLikersNotIndexed);
  setup.store.FailReads(MakeError(ErrorReason::kStoreUnavailable, "gone"));
  CHECK(ReasonOf(setup.Likes({1, {}, 1, ""}).status()) == ErrorReason::kStoreUnavailable);
}

}  // namespace
}  // namespace counter
