// How fresh reads are: tokens, STRONG, CACHED.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"

namespace counter::testing {
namespace {

using client::Consistency;
using client::Error;
using client::ErrorKind;
using client::Source;

TEST_CASE("A read with the token of a write includes the write") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  for (int64_t user = 1; user <= 50; ++user) {
    const auto liked = client.Like(user, Post(1));
    REQUIRE(liked.ok());
    const std::vector<std::string> tokens = {liked->consistency_token};
    REQUIRE_FALSE(tokens[0].empty());
    REQUIRE(client.Count(Post(1), {.consistency_tokens = tokens}).value().count.count == user);
    const auto counts = client.Counts({Post(2), Post(1)}, {.consistency_tokens = tokens});
    REQUIRE(counts.value().counts[1].count == user);
    REQUIRE(client.HasLiked(user, {Post(1)}, {.consistency_tokens = tokens}).value().liked[0]);
  }
  const auto unliked = client.Unlike(1, Post(1));
  const std::vector<std::string> tokens = {unliked.value().consistency_token};
  CHECK(client.Count(Post(1), {.consistency_tokens = tokens}).value().count.count == 49);
  CHECK_FALSE(client.HasLiked(1, {Post(1)}, {.consistency_tokens = tokens}).value().liked[0]);
}

TEST_CASE("Tokens come in any order, and those of reads and repeats count too") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const std::string older = client.Like(1, Post(1)).value().consistency_token;
  const std::string newer = client.Like(2, Post(1)).value().consistency_token;
  const std::string repeat = client.Like(1, Post(1)).value().consistency_token;
  const std::string other = client.Like(1, Post(2)).value().consistency_token;
  const std::string read = client.Count(Post(1)).value().count.consistency_token;
  const std::string never_liked = client.Count(Post(3)).value().count.consistency_token;
  const auto counts = client.Counts(
      {Post(1), Post(2), Post(3)},
      {.consistency_tokens = {newer, other, older, repeat, never_liked, read, newer}});
  REQUIRE(counts.ok());
  CHECK(counts->counts[0].count == 2);
  CHECK(counts->counts[1].count == 1);
  CHECK(counts->counts[2].count == 0);
}

TEST_CASE("A token outlives the server, and the read that it asks for includes the write") {
  auto server = StartServer();
  std::string token;
  {
    const Client client = ConnectTo(*server);
    token = client.Like(1, Post(1)).value().consistency_token;
  }
  server->Kill9();
  RestartServer(*server);
  const Client client = ConnectTo(*server);
  CHECK(client.Count(Post(1), {.consistency_tokens = {token}}).value().count.count == 1);
}

TEST_CASE("A token that is none, or of another item, is refused naming the field") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const std::string good = client.Like(1, Post(1)).value().consistency_token;
  const std::string other = client.Like(1, Post(2)).value().consistency_token;
  const std::string of_reel = client.Like(1, {"reel", 1}).value().consistency_token;
  std::string garbled = good;
  garbled[garbled.size() / 2] = garbled[garbled.size() / 2] == 'a' ? 'b' : 'a';
  for (const std::string& bad :
       {std::string("garbage"), std::string("%s%n"), std::string(10'000, 'a'), good + "a",
        good.substr(0, good.size() - 1), garbled, other, of_reel}) {
    CAPTURE(bad.substr(0, 40));
    const Error one = client.Count(Post(1), {.consistency_tokens = {bad}}).error();
    REQUIRE(one.kind == ErrorKind::kInvalidArgument);
    CHECK(one.violations.at(0).field == "consistency_token");
    const Error many = client.Counts({Post(1)}, {.consistency_tokens = {good, bad}}).error();
    REQUIRE(many.kind == ErrorKind::kInvalidArgument);
    CHECK(many.violations.at(0).field == "consistency_tokens[1]");
    const Error has = client.HasLiked(1, {Post(1)}, {.consistency_tokens = {bad}}).error();
    REQUIRE(has.kind == ErrorKind::kInvalidArgument);
    CHECK(has.violations.at(0).field == "consistency_tokens[0]");
  }
}

TEST_CASE("STRONG reads the primary store, whatever is cached and whatever tokens say") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const std::string token = client.Like(1, Post(1)).value().consistency_token;
  REQUIRE(client.Count(Post(1)).ok());  // Cached from here on.
  const auto count =
      client.Count(Post(1), {.consistency = Consistency::kStrong, .consistency_tokens = {token}});
  REQUIRE(count.ok());
  CHECK(count->count.source == Source::kPrimary);
  const auto liked = client.HasLiked(1, {Post(1)}, {.consistency = Consistency::kStrong});
  REQUIRE(liked.ok());
  CHECK(liked->source == Source::kPrimary);
  CHECK(liked->liked[0]);
}

TEST_CASE("The time of an answer is an instant of the call or before it, and not of long ago") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const absl::Time before = absl::Now();
  REQUIRE(client.Like(1, Post(1)).ok());
  const auto strong = client.Count(Post(1), {.consistency = Consistency::kStrong});
  const absl::Time after = absl::Now();
  CHECK(strong.value().count.as_of >= before);
  CHECK(strong.value().count.as_of <= after);
  const auto cached = client.Count(Post(1));
  CHECK(cached.value().count.as_of >= before);
  CHECK(cached.value().count.as_of <= absl::Now());
}

TEST_CASE("A cached count follows a write within the bound of a second") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  REQUIRE(client.Count(Post(1)).value().count.count == 0);
  for (int64_t user = 1; user <= 20; ++user) {
    REQUIRE(client.Like(user, Post(1)).ok());
    REQUIRE(Eventually(absl::Seconds(1),
                       [&] { return client.Count(Post(1)).value().count.count == user; }));
  }
  CHECK(client.Count(Post(1)).value().count.source == Source::kCache);
}

}  // namespace
}  // namespace counter::testing
