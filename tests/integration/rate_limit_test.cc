// The limit of likes a user and window, end to end.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using client::Action;
using client::Error;
using client::ErrorKind;

const Settings kFiveAMinute = {{"RATE_LIMIT_REQUESTS", "5"}, {"RATE_LIMIT_WINDOW_SECONDS", "60"}};

void RequireRateLimited(const Error& error, int64_t user) {
  INFO(error.ToString());
  REQUIRE(error.kind == ErrorKind::kRateLimited);
  REQUIRE(error.not_applied);
  REQUIRE(error.retry_after.has_value());
  REQUIRE(*error.retry_after > absl::ZeroDuration());
  REQUIRE(*error.retry_after <= absl::Seconds(60));
  REQUIRE(error.quota.has_value());
  REQUIRE(absl::StrContains(error.quota->subject, std::to_string(user)));
}

TEST_CASE("The sixth like of five is refused with its reason, and is not applied") {
  auto server = StartServer(kFiveAMinute);
  const Client client = ConnectTo(*server);
  for (int64_t id = 1; id <= 5; ++id) REQUIRE(client.Like(1, Post(id)).ok());
  RequireRateLimited(client.Like(1, Post(6)).error(), 1);
  CHECK_FALSE(StronglyLiked(client, 1, Post(6)));
  CHECK(StrongCount(client, Post(6)) == 0);
  // Somebody else's likes are not touched by it.
  CHECK(client.Like(2, Post(6)).ok());
}

TEST_CASE("D10: refused calls, repeats and unlikes eat no quota") {
  auto server = StartServer(kFiveAMinute);
  const Client client = ConnectTo(*server);
  for (int i = 0; i < 20; ++i) REQUIRE(client.Like(1, Post(1)).ok());  // Charged once.
  for (int i = 0; i < 20; ++i) REQUIRE(client.Unlike(1, Post(9)).ok());
  for (int i = 0; i < 20; ++i) REQUIRE_FALSE(client.Like(1, {"nothing", 1}).ok());
  for (int64_t id = 2; id <= 5; ++id) REQUIRE(client.Like(1, Post(id)).ok());
  RequireRateLimited(client.Like(1, Post(6)).error(), 1);
  // An unlike is free, and gives no like back: the window counts likes that were made.
  REQUIRE(client.Unlike(1, Post(1)).value().changed);
  RequireRateLimited(client.Like(1, Post(1)).error(), 1);
}

TEST_CASE(
    "A repeated like at the limit still answers that the pair is liked, or is refused whole") {
  auto server = StartServer(kFiveAMinute);
  const Client client = ConnectTo(*server);
  for (int64_t id = 1; id <= 5; ++id) REQUIRE(client.Like(1, Post(id)).ok());
  const auto repeat = client.Like(1, Post(1));
  if (repeat.ok()) {
    CHECK_FALSE(repeat->changed);
    CHECK(repeat->count == 1);
  } else {
    RequireRateLimited(repeat.error(), 1);
  }
}

TEST_CASE("WriteLikes charges each mutation to its own user") {
  auto server = StartServer(kFiveAMinute);
  const Client client = ConnectTo(*server);
  std::vector<client::Mutation> mutations;
  for (int64_t id = 1; id <= 10; ++id) {
    mutations.push_back({1, Post(id)});
    if (id <= 5) mutations.push_back({2, Post(id)});
    mutations.push_back({3, Post(id), Action::kUnlike});
  }
  const auto reply = client.WriteLikes(mutations);
  REQUIRE(reply.ok());
  int made = 0;
  int limited = 0;
  for (size_t i = 0; i < mutations.size(); ++i) {
    if (mutations[i].user_id != 1) {
      CHECK(reply->results[i].ok());
    } else if (reply->results[i].ok()) {
      ++made;
    } else {
      ++limited;
      RequireRateLimited(reply->results[i].error(), 1);
      CHECK_FALSE(StronglyLiked(client, 1, mutations[i].item));
    }
  }
  CHECK(made == 5);
  CHECK(limited == 5);
}

TEST_CASE("D9: a user at the limit is let in again when the window has ended, every time") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "3"}, {"RATE_LIMIT_WINDOW_SECONDS", "1"}});
  const Client client = ConnectTo(*server);
  int64_t post = 1;
  for (int window = 0; window < Sized(3, 20); ++window) {
    bool limited = false;
    for (int i = 0; i < 100 && !limited; ++i) limited = !client.Like(1, Post(post++)).ok();
    REQUIRE(limited);
    CAPTURE(window);
    // Asking all the time must not make the window longer.
    REQUIRE(Eventually(absl::Seconds(2) * Slowness(),
                       [&] { return client.Like(1, Post(post++)).ok(); }));
  }
}

TEST_CASE("A limit of 0 is no limit") {
  auto server = StartServer({{"RATE_LIMIT_REQUESTS", "0"}});
  const Client client = ConnectTo(*server);
  std::vector<client::Mutation> mutations;
  for (int64_t id = 1; id <= 1000; ++id) mutations.push_back({1, Post(id)});
  const auto reply = client.WriteLikes(mutations);
  REQUIRE(reply.ok());
  for (const auto& result : reply->results) REQUIRE(result.ok());
}

}  // namespace
}  // namespace counter::testing
