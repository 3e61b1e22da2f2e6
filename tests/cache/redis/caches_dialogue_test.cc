// The three caches as dialogues with a scripted Redis, gone wrong at each step: whatever is
// answered, or not, they answer.
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "cache/redis/redis_count_cache.h"
#include "cache/redis/redis_rate_limiter.h"
#include "cache/redis/redis_recent_likes.h"
#include "cache/redis/scripts.h"
#include "tests/cache/redis/scripted_channel.h"

namespace counter::redis::testing {
namespace {

using Kind = CountLookup::Kind;
using Lookups = std::vector<CountLookup>;
constexpr Item kItem{ItemType{1}, 456};
constexpr Item kOther{ItemType{1}, 457};
constexpr Item kThird{ItemType{2}, 456};
constexpr UserId kUser{123};

std::vector<Answer> Wrong() {
  return {std::nullopt,
          std::vector<Reply>{Error("ERR what")},
          std::vector<Reply>{Nil()},
          std::vector<Reply>{Integer(1)},
          std::vector<Reply>{Array({})},
          std::vector<Reply>{Array({Nil(), Integer(1), Error("ERR x"), Array({})})}};
}

struct Fixture {
  std::string Value(int64_t count, int64_t version) {
    return std::to_string(count) + "@" + std::to_string(version) + "@" +
           std::to_string(absl::ToUnixMicros(clock.WallNow()));
  }
  CountPut Put(const Item& item, FillToken token = 0) {
    return {{item, 5, 10, clock.WallNow()}, token};
  }

  ManualClock clock;
  ScriptedChannel channel;
  Keys keys{{{1, "post"}, {2, "reel"}}};
  RedisCountCache counts{channel, keys, clock};
  RedisRecentLikes likes{channel, keys, clock};
  RedisRateLimiter limiter{channel, clock, {.limit = 10}};
};

// ---- Counts ------------------------------------------------------------------------------------

TEST_CASE("redis counts: hits take one round trip, what is missing a second for a lease") {
  Fixture fixture;
  Started<Lookups> get(fixture.counts.Get({kItem, kOther, kThird}));
  CHECK(fixture.channel.Commands() ==
        std::vector<std::vector<std::string>>{
            {"MGET", "counter:post:456", "counter:post:457", "counter:reel:456"}});
  fixture.channel.Reply({{Array({Text(fixture.Value(7, 10)), Nil(), Text("!99@5")})}});
  const auto leases = fixture.channel.Commands();
  REQUIRE(leases.size() == 1);
  CHECK(leases[0][0] == "SET");
  CHECK(leases[0][1] == "counter:post:457");
  CHECK(std::vector<std::string>(leases[0].begin() + 3, leases[0].end()) ==
        std::vector<std::string>{"NX", "GET", "PX", "3000"});
  fixture.channel.Reply({{Nil()}});
  REQUIRE(get.ended());
  CHECK(get.value()[0].kind == Kind::kHit);
  CHECK(get.value()[0].entry.count == 7);
  CHECK(get.value()[1].kind == Kind::kLease);
  CHECK(leases[0][2] == "!" + std::to_string(get.value()[1].token) + "@0");
  CHECK(get.value()[2].kind == Kind::kMiss);
}

TEST_CASE("redis counts: who finds something where nothing was takes it and no lease") {
  Fixture fixture;
  Started<Lookups> get(fixture.counts.Get({kItem, kOther}));
  fixture.channel.Reply({{Array({Nil(), Nil()})}});
  fixture.channel.Reply({{Text(fixture.Value(3, 9)), Text("!99@0")}});
  REQUIRE(get.ended());
  CHECK(get.value()[0].kind == Kind::kHit);
  CHECK(get.value()[1].kind == Kind::kMiss);
}

TEST_CASE("redis counts: whatever the first answer is, a get answers without inventing") {
  for (Answer& wrong : Wrong()) {
    Fixture fixture;
    Started<Lookups> get(fixture.counts.Get({kItem}));
    fixture.channel.Reply(std::move(wrong));
    while (fixture.channel.has_request()) fixture.channel.Reply(std::nullopt);
    REQUIRE(get.ended());
    CHECK(get.value()[0].kind == Kind::kMiss);
  }
}

TEST_CASE("redis counts: when the second answer fails, the hits of the first stand") {
  std::vector<Answer> wrong = {std::nullopt, std::vector<Reply>{Error("OOM command not allowed")},
                               std::vector<Reply>{Integer(3)}, std::vector<Reply>{Status("OK")}};
  for (Answer& second : wrong) {
    Fixture fixture;
    Started<Lookups> get(fixture.counts.Get({kItem, kOther}));
    fixture.channel.Reply({{Array({Text(fixture.Value(7, 10)), Nil()})}});
    fixture.channel.Reply(std::move(second));
    REQUIRE(get.ended());
    CHECK(get.value()[0].kind == Kind::kHit);
    CHECK(get.value()[1].kind == Kind::kMiss);
  }
}

TEST_CASE("redis counts: both round trips share one budget") {
  Fixture fixture;
  const MonotonicTime deadline = fixture.clock.MonotonicNow() + absl::Milliseconds(20);
  Started<Lookups> get(fixture.counts.Get({kItem}));
  CHECK(fixture.channel.deadline() == deadline);
  fixture.clock.Advance(absl::Milliseconds(15));
  fixture.channel.Reply({{Array({Nil()})}});
  CHECK(fixture.channel.deadline() == deadline);
  fixture.channel.Reply(std::nullopt);
  CHECK(get.ended());
}

TEST_CASE("redis counts: something foreign under a key is a miss and is deleted") {
  const bool in_first = GENERATE(true, false);
  Fixture fixture;
  Started<Lookups> get(fixture.counts.Get({kItem}));
  if (in_first) {
    fixture.channel.Reply({{Array({Text("1000000")})}});
  } else {
    fixture.channel.Reply({{Array({Nil()})}});  // MGET of a list.
    fixture.channel.Reply({{Error("WRONGTYPE Operation against a key")}});
  }
  REQUIRE(get.ended());
  CHECK(get.value()[0].kind == Kind::kMiss);
  REQUIRE(fixture.channel.has_request());
  CHECK(fixture.channel.Commands() ==
        std::vector<std::vector<std::string>>{{"DEL", "counter:post:456"}});
  CHECK(fixture.counts.Stats().damaged == 1);
}

TEST_CASE("redis counts: a value read longer ago than any value lives is not believed") {
  Fixture fixture;
  const std::string value = fixture.Value(7, 10);
  fixture.clock.Advance(absl::Hours(1) * 1.11);
  Started<Lookups> get(fixture.counts.Get({kItem}));
  fixture.channel.Reply({{Array({Text(value)})}});
  REQUIRE(get.ended());
  CHECK(get.value()[0].kind == Kind::kMiss);
}

TEST_CASE("redis counts: a value of before Redis was started is a miss, and stays to be put anew") {
  Fixture fixture;
  const std::string value = fixture.Value(7, 10);
  const absl::Time read_at = fixture.clock.WallNow();
  fixture.channel.set_believed_since(read_at);
  Started<Lookups> of_this_run(fixture.counts.Get({kItem}));
  fixture.channel.Reply({{Array({Text(value)})}});
  CHECK(of_this_run.value()[0].kind == Kind::kHit);
  fixture.channel.set_believed_since(read_at + absl::Microseconds(1));
  Started<Lookups> of_a_file(fixture.counts.Get({kItem}));
  fixture.channel.Reply({{Array({Text(value)})}});
  REQUIRE(of_a_file.ended());
  CHECK(of_a_file.value()[0].kind == Kind::kMiss);
  CHECK_FALSE(fixture.channel.has_request());
}

TEST_CASE("redis counts: a channel that is not usable is not asked") {
  Fixture fixture;
  fixture.channel.set_usable(false);
  Started<Lookups> get(fixture.counts.Get({kItem}));
  Started<bool> put(fixture.counts.Put({fixture.Put(kItem)}));
  REQUIRE(get.ended());
  REQUIRE(put.ended());
  CHECK(get.value()[0].kind == Kind::kMiss);
  CHECK_FALSE(put.value());
  CHECK_FALSE(fixture.channel.has_request());
}

TEST_CASE("redis counts: a put of a batch is one script call of all its keys") {
  Fixture fixture;
  Started<bool> put(fixture.counts.Put({fixture.Put(kItem, 77), fixture.Put(kThird)}));
  const auto commands = fixture.channel.Commands();
  REQUIRE(commands.size() == 1);
  CHECK(commands[0][0] == "EVALSHA");
  CHECK(commands[0][1] == PutCountsScript().digest());
  CHECK(commands[0][2] == "2");
  CHECK(commands[0][3] == "counter:post:456");
  CHECK(commands[0][5] == "5");
  CHECK(commands[0][6] == "10");
  CHECK(commands[0][8] == "77");
  fixture.channel.Reply({{Array({Integer(3), Integer(0)})}});
  REQUIRE(put.ended());
  CHECK(put.value());
}

TEST_CASE("redis counts: a write's put looks first, and leaves alone what it would not change") {
  Fixture fixture;
  std::vector<CountPut> puts;
  for (int64_t id = 1; id <= 8; ++id) puts.push_back(fixture.Put({ItemType{1}, id}));
  Started<bool> put(fixture.counts.Put(puts));
  REQUIRE(fixture.channel.Commands().size() == 1);
  CHECK(fixture.channel.Commands()[0][0] == "MGET");
  CHECK(fixture.channel.Commands()[0].size() == 9);
  // Nothing is there; newer; the same, as lately read; a lease that knows of it. And what is to be
  // changed: older; a lease of before; what nobody of us has written; an error.
  fixture.channel.Reply(
      {{Array({Nil(), Text(fixture.Value(9, 11)), Text(fixture.Value(5, 10)), Text("!3@10"),
               Text(fixture.Value(4, 9)), Text("!3@9"), Text("x"), Error("ERR what")})}});
  CHECK_FALSE(put.ended());
  const auto script = fixture.channel.Commands();
  REQUIRE(script.size() == 1);
  CHECK(script[0][0] == "EVALSHA");
  const std::vector<std::string> keys(script[0].begin() + 2, script[0].begin() + 7);
  CHECK(keys == std::vector<std::string>{"4", "counter:post:5", "counter:post:6", "counter:post:7",
                                         "counter:post:8"});
  fixture.channel.Reply({{Array({Integer(3), Integer(1), Integer(0), Integer(0)})}});
  REQUIRE(put.ended());
  CHECK(put.value());
  CHECK(fixture.counts.Stats().puts == 8);

  Started<bool> idle(fixture.counts.Put({fixture.Put(kItem)}));
  fixture.channel.Reply({{Array({Nil()})}});
  REQUIRE(idle.ended());
  CHECK(idle.value());
  CHECK_FALSE(fixture.channel.has_request());
}

TEST_CASE("redis counts: a look that is not answered is a put that is lost") {
  Fixture fixture;
  Started<bool> put(fixture.counts.Put({fixture.Put(kItem)}));
  fixture.channel.Reply(std::nullopt);
  REQUIRE(put.ended());
  CHECK_FALSE(put.value());
  CHECK(fixture.counts.Stats().puts_lost == 1);
  CHECK_FALSE(fixture.channel.has_request());
}

TEST_CASE("redis counts: whoever looks and answers wrongly is sent the script") {
  for (Answer& answer : Wrong()) {
    if (!answer || (*answer)[0].elements.size() == 1) continue;
    Fixture fixture;
    Started<bool> put(fixture.counts.Put({fixture.Put(kItem)}));
    fixture.channel.Reply(std::move(answer));
    REQUIRE(fixture.channel.has_request());
    CHECK(fixture.channel.Commands()[0][0] == "EVALSHA");
    fixture.channel.Reply({{Array({Integer(0)})}});
    CHECK(put.value());
  }
}

TEST_CASE("redis counts: while most puts change something, none looks first") {
  Fixture fixture;
  const auto put_of_100 = [&](const std::string& there, int64_t effect) {
    std::vector<CountPut> puts;
    for (int64_t id = 1; id <= 100; ++id) puts.push_back(fixture.Put({ItemType{1}, id}));
    Started<bool> put(fixture.counts.Put(puts));
    std::string first = fixture.channel.Commands()[0][0];
    if (first == "MGET") fixture.channel.Reply({{Array(std::vector<Reply>(100, Text(there)))}});
    if (fixture.channel.has_request())
      fixture.channel.Reply({{Array(std::vector<Reply>(100, Integer(effect)))}});
    CHECK(put.value());
    return first;
  };
  const std::string older = fixture.Value(4, 9);
  CHECK(put_of_100(older, 3) == "MGET");
  for (int i = 0; i < 10; ++i) put_of_100(older, 3);
  CHECK(put_of_100(older, 3) == "EVALSHA");
  for (int i = 0; i < 10; ++i) put_of_100(older, 0);
  CHECK(put_of_100(older, 3) == "MGET");
}

TEST_CASE("redis counts: large batches are split, so that Redis is not held up") {
  Fixture fixture;
  std::vector<CountPut> puts;
  for (int64_t id = 1; id <= 250; ++id) puts.push_back(fixture.Put({ItemType{1}, id}, 77));
  Started<bool> put(fixture.counts.Put(puts));
  CHECK(fixture.channel.Commands().size() == 3);
  fixture.channel.Reply({{Array({}), Array({}), Array({})}});
  CHECK(put.ended());
  CHECK(put.value());
}

TEST_CASE("redis counts: K23: a script that was forgotten is sent whole, the others not again") {
  Fixture fixture;
  std::vector<CountPut> puts;
  for (int64_t id = 1; id <= 150; ++id) puts.push_back(fixture.Put({ItemType{1}, id}, 77));
  Started<bool> put(fixture.counts.Put(puts));
  fixture.channel.Reply({{Array({}), Error("NOSCRIPT No matching script. Please use EVAL.")}});
  const auto again = fixture.channel.Commands();
  REQUIRE(again.size() == 1);
  CHECK(again[0][0] == "EVAL");
  CHECK(again[0][1] == PutCountsScript().text());
  CHECK(again[0][3] == "counter:post:101");
  SECTION("and then it is acknowledged") {
    fixture.channel.Reply({{Array({})}});
    CHECK(put.value());
  }
  SECTION("or is not") {
    fixture.channel.Reply(GENERATE(Answer(), Answer({Error("NOSCRIPT again")})));
    CHECK_FALSE(put.value());
  }
  CHECK_FALSE(fixture.channel.has_request());
}

TEST_CASE("redis counts: a put that was not acknowledged whole is not acknowledged") {
  std::vector<Answer> wrong = {std::nullopt, std::vector<Reply>{Error("READONLY")},
                               std::vector<Reply>{Nil()}};
  for (Answer& answer : wrong) {
    Fixture fixture;
    Started<bool> put(fixture.counts.Put({fixture.Put(kItem, 77)}));
    fixture.channel.Reply(std::move(answer));
    REQUIRE(put.ended());
    CHECK_FALSE(put.value());
    CHECK(fixture.counts.Stats().puts_lost == 1);
  }
}

TEST_CASE("redis counts: rule 6: puts of the last 10 s are remembered, acknowledged or not") {
  Fixture fixture;
  Started<bool> first(fixture.counts.Put({fixture.Put(kItem)}));
  fixture.channel.Reply(std::nullopt);
  fixture.clock.Advance(absl::Seconds(8));
  Started<bool> second(fixture.counts.Put({fixture.Put(kOther)}));
  fixture.channel.Reply({{Array({Nil()})}});
  CHECK(fixture.counts.RecentlyPut().size() == 2);
  fixture.clock.Advance(absl::Seconds(8));
  CHECK(fixture.counts.RecentlyPut() == std::vector<Item>{kOther});
}

// ---- Recent likes ------------------------------------------------------------------------------

using Found = std::vector<std::optional<absl::Time>>;

TEST_CASE("redis recent likes: find asks once for all items") {
  Fixture fixture;
  Started<Found> find(fixture.likes.Find(kUser, {kItem, kThird, kOther}));
  CHECK(fixture.channel.Commands() ==
        std::vector<std::vector<std::string>>{
            {"ZMSCORE", "recent_likes:{123}", "post:456", "reel:456", "post:457"}});
  const int64_t now_us = absl::ToUnixMicros(fixture.clock.WallNow());
  fixture.channel.Reply({{Array({Text(std::to_string(now_us - 5)), Nil(), Text("12")})}});
  REQUIRE(find.ended());
  CHECK(find.value()[0] == absl::FromUnixMicros(now_us - 5));
  CHECK_FALSE(find.value()[1]);
  CHECK_FALSE(find.value()[2]);  // Verified in 1970.
}

TEST_CASE("redis recent likes: one that was verified before Redis was started is not found") {
  Fixture fixture;
  const absl::Time now = fixture.clock.WallNow();
  fixture.channel.set_believed_since(now - absl::Seconds(1));
  const int64_t since_us = absl::ToUnixMicros(now - absl::Seconds(1));
  Started<Found> find(fixture.likes.Find(kUser, {kItem, kThird}));
  fixture.channel.Reply(
      {{Array({Text(std::to_string(since_us)), Text(std::to_string(since_us - 1))})}});
  REQUIRE(find.ended());
  CHECK(find.value()[0].has_value());
  CHECK_FALSE(find.value()[1].has_value());
}

TEST_CASE("redis recent likes: whatever is answered, nothing is invented") {
  std::vector<Answer> answers = Wrong();
  answers.push_back(std::vector<Reply>{Array({Text("nan")})});
  answers.push_back(std::vector<Reply>{Array({Text("inf")})});
  answers.push_back(std::vector<Reply>{Array({Text("post")})});
  for (Answer& wrong : answers) {
    Fixture fixture;
    Started<Found> find(fixture.likes.Find(kUser, {kItem}));
    fixture.channel.Reply(std::move(wrong));
    REQUIRE(find.ended());
    CHECK_FALSE(find.value()[0]);
  }
}

TEST_CASE("redis recent likes: after another run likes verified before it are not sent") {
  Fixture fixture;
  const absl::Time before = fixture.clock.WallNow();
  fixture.likes.OnNewRun();
  fixture.clock.Advance(absl::Seconds(1));
  Started<bool> old_like(fixture.likes.Record({{kUser, {{kItem, true, 10, before}}}}));
  CHECK_FALSE(fixture.channel.has_request());
  REQUIRE(old_like.ended());
  CHECK(old_like.value());
  Started<bool> old_unlike(fixture.likes.Record({{kUser, {{kItem, false, 10, before}}}}));
  REQUIRE(fixture.channel.has_request());
  fixture.channel.Reply({{Integer(1)}});
  Started<bool> like(fixture.likes.Record({{kUser, {{kItem, true, 10, fixture.clock.WallNow()}}}}));
  REQUIRE(fixture.channel.has_request());
  fixture.channel.Reply({{Integer(1)}});
}

TEST_CASE("redis recent likes: new likes of users of whom nothing is known end with a look") {
  Fixture fixture;
  const absl::Time now = fixture.clock.WallNow();
  const auto told = [&](int64_t user, bool liked) {
    return UserFacts{UserId{user}, {{kItem, liked, 7, now}}, true};
  };
  Started<bool> unknown(fixture.likes.Record({told(1, true), told(2, true)}));
  CHECK(fixture.channel.Commands() ==
        std::vector<std::vector<std::string>>{
            {"EXISTS", "recent_likes:{1}:versions", "recent_likes:{2}:versions"}});
  fixture.channel.Reply({{Integer(0)}});
  REQUIRE(unknown.ended());
  CHECK(unknown.value());
  CHECK_FALSE(fixture.channel.has_request());

  // An unlike leaves a trace, known or not; one who is known, or an error, keeps the whole group.
  Started<bool> mixed(fixture.likes.Record({told(1, false), told(2, true), told(3, true)}));
  REQUIRE(fixture.channel.Commands().size() == 1);
  CHECK(fixture.channel.Commands()[0].size() == 3);
  fixture.channel.Reply({{GENERATE(Integer(1), Error("ERR what"), Nil())}});
  REQUIRE(fixture.channel.has_request());
  CHECK(fixture.channel.Commands()[0][0] == "EVALSHA");
  CHECK(fixture.channel.Commands()[0][2] == "9");
  fixture.channel.Reply({{Integer(2)}});
  CHECK(mixed.value());
}

TEST_CASE("redis recent likes: a look that is not answered is a record that is lost") {
  Fixture fixture;
  Started<bool> record(
      fixture.likes.Record({UserFacts{kUser, {{kItem, true, 7, fixture.clock.WallNow()}}, true}}));
  fixture.channel.Reply(std::nullopt);
  REQUIRE(record.ended());
  CHECK_FALSE(record.value());
  CHECK(fixture.likes.Stats().records_lost == 1);
}

TEST_CASE("redis recent likes: facts of many users are one script call, of very many a few") {
  Fixture fixture;
  const absl::Time now = fixture.clock.WallNow();
  const auto facts_of = [&](int64_t user, int64_t count) {
    UserFacts facts{UserId{user}, {}, user == 2};
    for (int64_t id = 1; id <= count; ++id)
      facts.facts.push_back({{ItemType{1}, id}, id % 2 == 0, 7, now});
    return facts;
  };
  Started<bool> record(fixture.likes.Record({facts_of(1, 1), facts_of(2, 2), facts_of(3, 150)}));
  const auto commands = fixture.channel.Commands();
  REQUIRE(commands.size() == 2);
  const std::string us = std::to_string(absl::ToUnixMicros(now));
  const std::vector<std::string> begin(commands[0].begin() + 2, commands[0].begin() + 33);
  CHECK(begin == std::vector<std::string>{"9",
                                          "recent_likes:{1}",
                                          "recent_likes:{1}:unlikes",
                                          "recent_likes:{1}:versions",
                                          "recent_likes:{2}",
                                          "recent_likes:{2}:unlikes",
                                          "recent_likes:{2}:versions",
                                          "recent_likes:{3}",
                                          "recent_likes:{3}:unlikes",
                                          "recent_likes:{3}:versions",
                                          us,
                                          "86400000",
                                          "60000000",
                                          "1000",
                                          "1000",
                                          "1",
                                          "r",
                                          "post:1",
                                          "0",
                                          "7",
                                          us,
                                          "2",
                                          "w",
                                          "post:1",
                                          "0",
                                          "7",
                                          us,
                                          "post:2",
                                          "1",
                                          "7",
                                          us});
  CHECK(commands[0].size() == 3 + 9 + 5 + 3 * 2 + 100 * 4);
  CHECK(commands[0][33] == "97");
  CHECK(commands[1][2] == "3");
  CHECK(commands[1].size() == 3 + 3 + 5 + 2 + 53 * 4);
  SECTION("acknowledged when all of them were") {
    fixture.channel.Reply({{Integer(100), Integer(0)}});
    REQUIRE(record.ended());
    CHECK(record.value());
    CHECK(fixture.likes.Stats().records == 2);
  }
  SECTION("not when one of them was not") {
    fixture.channel.Reply({{Integer(100), Error("OOM command not allowed")}});
    REQUIRE(record.ended());
    CHECK_FALSE(record.value());
    CHECK(fixture.likes.Stats().records_lost == 2);
  }
  SECTION("not when there was no answer") {
    fixture.channel.Reply(std::nullopt);
    REQUIRE(record.ended());
    CHECK_FALSE(record.value());
  }
}

// ---- Rate limiter ------------------------------------------------------------------------------

using Grants = std::vector<LikeGrant>;

TEST_CASE("redis limiter: one call reserves for all users") {
  Fixture fixture;
  Started<Grants> reserve(fixture.limiter.Reserve({{kUser, 3}, {UserId{5}, 4}}));
  const auto commands = fixture.channel.Commands();
  REQUIRE(commands.size() == 1);
  CHECK(
      std::vector<std::string>(commands[0].begin() + 2, commands[0].end()) ==
      std::vector<std::string>{"2", "rate:{123}:likes", "rate:{5}:likes", "10", "60000", "3", "4"});
  fixture.channel.Reply(
      {{Array({Integer(3), Integer(3), Integer(1'700'000'060'000), Integer(0), Integer(10),
               Integer(1'700'000'001'000), Integer(1'700'000'000'000)})}});
  REQUIRE(reserve.ended());
  CHECK(reserve.value()[0].granted == 3);
  CHECK(reserve.value()[0].remaining == 7);
  CHECK(reserve.value()[0].resets_after == absl::Seconds(60));
  CHECK(reserve.value()[1].granted == 0);
  CHECK(reserve.value()[1].remaining == 0);
  CHECK(reserve.value()[1].resets_after == absl::Seconds(1));
}

TEST_CASE("redis limiter: whatever is answered, the limit inside the process holds instead") {
  for (const Answer& wrong : Wrong()) {
    Fixture fixture;
    int64_t granted = 0;
    for (int i = 0; i < 8; ++i) {
      Started<Grants> reserve(fixture.limiter.Reserve({{kUser, 3}}));
      fixture.channel.Reply(wrong);
      REQUIRE(reserve.ended());
      granted += reserve.value()[0].granted;
    }
    CHECK(granted == 10);
    CHECK(fixture.limiter.fallbacks() == 8);
  }
}

TEST_CASE("redis limiter: a refund goes to where the grant came from") {
  Fixture fixture;
  Started<Grants> local(fixture.limiter.Reserve({{kUser, 10}}));
  fixture.channel.Reply(std::nullopt);
  Spawn(fixture.limiter.GiveBack({{kUser, 4, local.value()[0].window}}));
  CHECK_FALSE(fixture.channel.has_request());
  Started<Grants> again(fixture.limiter.Reserve({{kUser, 10}}));
  fixture.channel.Reply(std::nullopt);
  CHECK(again.value()[0].granted == 4);

  Spawn(fixture.limiter.GiveBack({{kUser, 4, 1'700'000'060'000}}));
  REQUIRE(fixture.channel.has_request());
  const auto commands = fixture.channel.Commands();
  CHECK(commands[0].back() == "1700000060000");
  fixture.channel.Reply(std::nullopt);
}

}  // namespace
}  // namespace counter::redis::testing
