// The Lua scripts on a real Redis 7, held to the pure rules that they repeat: random states and
// random calls, script and rule side by side.
#include "cache/redis/scripts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "cache/count_protocol.h"
#include "cache/local/like_window.h"
#include "cache/local/recent_set.h"
#include "cache/redis/count_value.h"
#include "tests/cache/redis/live_redis.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {
namespace {

using counter::testing::Sized;
using counter::testing::TestSeed;

constexpr int64_t kMax = 9'223'372'036'854'775'807;
constexpr const char* kDamaged[] = {"", "-5", "1.5", "x"};
constexpr int64_t kDoublesEnd = int64_t{1} << 53;

template <class T, size_t size>
T Pick(const T (&values)[size], std::mt19937_64& random) {
  return values[random() % size];
}

std::vector<Reply> Call(LiveRedis& redis, const Script& script, std::vector<ScriptCall> calls) {
  Answer answer =
      BlockingWait(AskScript(redis.connection(), script, std::move(calls), MonotonicTime::max()));
  REQUIRE(answer.has_value());
  return *std::move(answer);
}

// ---- Puts of counts ----------------------------------------------------------------------------

constexpr int64_t kVersions[] = {
    0, 1, 2, 9, 10, 11, 99, 100, 999, kDoublesEnd, kDoublesEnd + 1, kMax - 1, kMax};
constexpr FillToken kTokens[] = {1, 10, 18'446'744'073'709'551'615U};

CountCell RandomCell(std::mt19937_64& random) {
  CountCell cell;
  cell.kind = static_cast<CountCell::Kind>(random() % 3);
  if (cell.kind == CountCell::Kind::kAbsent) return cell;
  cell.version = Pick(kVersions, random);
  if (cell.kind == CountCell::Kind::kLease) {
    cell.token = Pick(kTokens, random);
  } else {
    cell.count = Pick(kVersions, random);
    cell.read_at = absl::FromUnixMicros(95 + static_cast<int64_t>(random() % 10));
  }
  return cell;
}

CountPut RandomPut(const Item& item, std::mt19937_64& random) {
  CountPut put;
  put.entry = {item, Pick(kVersions, random), Pick(kVersions, random),
               absl::FromUnixMicros(95 + static_cast<int64_t>(random() % 10))};
  if (random() % 2 == 0) put.token = Pick(kTokens, random);
  return put;
}

void AddPut(const std::string& key, const CountPut& put, int64_t life_ms, ScriptCall& call) {
  call.keys.push_back(key);
  call.args.push_back(absl::StrCat(put.entry.count));
  call.args.push_back(absl::StrCat(put.entry.version));
  call.args.push_back(absl::StrCat(ToStoredMicros(put.entry.read_at)));
  call.args.push_back(absl::StrCat(put.token));
  call.args.push_back(absl::StrCat(life_ms));
}

TEST_CASE("script put counts: from every state it does what the pure rules say") {
  LiveRedis redis;
  std::mt19937_64 random(TestSeed());
  const int runs = Sized(200, 5000);
  constexpr int kKeys = 60;
  int stored = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<CountCell> cells;
    std::vector<int> expected;
    Commands states;
    ScriptCall call;
    states.Add({"FLUSHALL"});
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = absl::StrCat("counter:post:", i);
      cells.push_back(RandomCell(random));
      if (cells[i].kind != CountCell::Kind::kAbsent) {
        states.Add({"SET", key, FormatCell(cells[i]), "PX", "100000"});
      }
      // Up to three puts of one key in one call, which apply in order.
      for (uint64_t puts = 1 + random() % 3; puts > 0; --puts) {
        const CountPut put = RandomPut({ItemType{1}, i + 1}, random);
        AddPut(key, put, 50'000, call);
        const CountPutStep step = StepPut(cells[i], put);
        cells[i] = step.cell;
        expected.push_back(static_cast<int>(step.effect));
      }
    }
    redis.Ask(std::move(states));
    const std::vector<Reply> replies = Call(redis, PutCountsScript(), {call});
    REQUIRE(replies[0].is_array());
    REQUIRE(replies[0].elements.size() == expected.size());
    Commands reads;
    for (int i = 0; i < kKeys; ++i) reads.Add({"GET", absl::StrCat("counter:post:", i)});
    const std::vector<Reply> values = redis.Ask(std::move(reads));
    for (size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(replies[0].elements[i].integer == expected[i]);
      stored += expected[i] == static_cast<int>(CountPutStep::Effect::kStored) ? 1 : 0;
    }
    for (int i = 0; i < kKeys; ++i) {
      const bool is_absent = cells[i].kind == CountCell::Kind::kAbsent;
      REQUIRE(values[i].is_nil() == is_absent);
      if (!is_absent) REQUIRE(values[i].text == FormatCell(cells[i]));
    }
  }
  CHECK(stored > runs);
}

TEST_CASE("script put counts: what it writes lives as long as the rules say") {
  LiveRedis redis;
  const auto put = [&](int64_t version, int64_t read_at, FillToken token, int64_t life_ms) {
    ScriptCall call;
    AddPut("counter:post:1", {{{}, 5, version, absl::FromUnixMicros(read_at)}, token}, life_ms,
           call);
    return Call(redis, PutCountsScript(), {call})[0].elements.at(0).integer;
  };
  const auto life = [&] { return redis.Ask({"PTTL", "counter:post:1"}).integer; };
  SECTION("a raised lease ends when it would have ended") {
    redis.Ask({"SET", "counter:post:1", "!7@0", "PX", "3000"});
    CHECK(put(10, 100, 0, 60'000) == 1);
    CHECK(redis.Ask({"GET", "counter:post:1"}).text == "!7@10");
    CHECK(life() <= 3000);
    CHECK(life() > 1000);
  }
  SECTION("a stored value's life begins") {
    redis.Ask({"SET", "counter:post:1", "!7@0", "PX", "3000"});
    CHECK(put(10, 100, 7, 60'000) == 3);
    CHECK(life() > 50'000);
    CHECK(put(11, 101, 0, 30'000) == 3);
    CHECK(life() <= 30'000);
  }
  SECTION("to see a value again cannot shorten its life") {
    redis.Ask({"SET", "counter:post:1", "5@10@100", "PX", "60000"});
    CHECK(put(10, 101, 0, 30'000) == 4);
    CHECK(life() > 50'000);
    CHECK(put(10, 102, 0, 90'000) == 4);
    CHECK(life() > 80'000);
  }
  SECTION("what ends as soon as a count of a replica keeps its end") {
    const int64_t short_ms = absl::ToInt64Milliseconds(kReplicaFillLife);
    redis.Ask({"SET", "counter:post:1", "5@10@100", "PX", absl::StrCat(short_ms)});
    CHECK(put(10, 101, 0, 60'000) == 4);
    CHECK(life() <= short_ms);
    CHECK(put(11, 102, 0, 60'000) == 3);
    CHECK(life() <= short_ms);
    CHECK(life() > short_ms / 2);
    CHECK(redis.Ask({"GET", "counter:post:1"}).text == "5@11@102");
    redis.Ask({"PEXPIRE", "counter:post:1", absl::StrCat(2 * short_ms)});
    CHECK(put(12, 103, 0, 60'000) == 3);
    CHECK(life() > 50'000);
  }
  SECTION("where all values end soon they live on") {
    redis.Ask({"SET", "counter:post:1", "5@10@100", "PX", "2000"});
    CHECK(put(10, 101, 0, 4000) == 4);
    CHECK(life() > 2000);
  }
  SECTION("what has ended on its way is not stored") {
    redis.Ask({"SET", "counter:post:1", "!7@0", "PX", "3000"});
    CHECK(put(10, 100, 7, 0) == 3);
    CHECK(redis.Ask({"EXISTS", "counter:post:1"}).integer == 0);
  }
  SECTION("something foreign is deleted") {
    redis.Ask({"RPUSH", "counter:post:1", "x"});
    CHECK(put(10, 100, 0, 60'000) == 0);
    CHECK(redis.Ask({"EXISTS", "counter:post:1"}).integer == 0);
    redis.Ask({"SET", "counter:post:1", "1000000"});
    CHECK(put(10, 100, 0, 60'000) == 0);
    CHECK(redis.Ask({"EXISTS", "counter:post:1"}).integer == 0);
  }
}

// ---- Recent likes ------------------------------------------------------------------------------

const std::vector<std::string> kUserKeys = {"recent_likes:{1}", "recent_likes:{1}:unlikes",
                                            "recent_likes:{1}:versions"};

int64_t RedisMicros(LiveRedis& redis) {
  const Reply time = redis.Ask({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1'000'000 + std::stoll(time.elements.at(1).text);
}

// The rules for one user, as LocalRecentLikes applies them.
class PureUser {
 public:
  explicit PureUser(const RecentSetBounds& bounds) : bounds_(bounds) {}

  int64_t Record(const std::vector<LikeFact>& facts, bool of_write, int64_t now_us) {
    int64_t taken = 0;
    const MonotonicTime now = At(now_us);
    (void)set_.Trim(now, bounds_);  // Traces that have ended by now refuse nothing.
    for (LikeFact fact : facts) {
      if (!is_known_ && of_write && fact.liked) continue;
      fact.verified_at = std::min(fact.verified_at, absl::FromUnixMicros(now_us));
      const MonotonicTime verified = At(absl::ToUnixMicros(fact.verified_at));
      const bool refused =
          fact.liked && (verified <= refused_up_to_ || IsTooLate(verified, now, bounds_));
      if (!refused && set_.Record(fact, verified, now)) {
        ++taken;
        is_known_ = true;
      }
    }
    if (auto forgotten = set_.Trim(now, bounds_)) {
      refused_up_to_ = std::max(refused_up_to_, *forgotten);
    }
    return taken;
  }
  std::optional<int64_t> VerifiedMicros(const Item& item, int64_t now_us) const {
    const auto found = set_.Find(item, At(now_us), bounds_);
    if (!found) return std::nullopt;
    return absl::ToUnixMicros(*found);
  }

 private:
  static MonotonicTime At(int64_t us) { return MonotonicTime() + absl::Microseconds(us); }

  const RecentSetBounds bounds_;
  RecentSet set_;
  bool is_known_ = false;
  MonotonicTime refused_up_to_ = MonotonicTime::min();
};

TEST_CASE("script record likes: it takes, orders and trims as the pure set does") {
  LiveRedis redis;
  std::mt19937_64 random(TestSeed());
  constexpr int64_t kItems = 9;
  RecentSetBounds bounds;
  bounds.likes_max = 5;
  bounds.traces_max = 3;
  bounds.fresh_for = absl::Hours(24);
  const int runs = Sized(60, 1500);
  int64_t likes_seen = 0;
  int64_t refused_seen = 0;
  for (int run = 0; run < runs; ++run) {
    PureUser pure(bounds);
    redis.Ask({"FLUSHALL"});
    // Ahead of Redis's own clock, so that the test says what time it is.
    int64_t now_us = RedisMicros(redis) + 86'400'000'000;
    for (int step = 0; step < 40; ++step) {
      now_us += 1 + static_cast<int64_t>(random() % 8'000'000);
      std::vector<LikeFact> facts;
      ScriptCall call{kUserKeys, {absl::StrCat(now_us), "60000", "60000000", "5", "3"}};
      const uint64_t facts_count = 1 + random() % 4;
      const bool of_write = random() % 2 == 0;
      call.args.push_back(absl::StrCat(facts_count));
      call.args.emplace_back(of_write ? "w" : "r");
      for (uint64_t i = facts_count; i > 0; --i) {
        // Late ones, and some from the future.
        const auto age = static_cast<int64_t>(random() % 70'000'000) - 2'000'000;
        facts.push_back({{ItemType{1}, 1 + static_cast<int64_t>(random() % kItems)},
                         random() % 2 == 0,
                         static_cast<int64_t>(1 + random() % 30) * 7,
                         absl::FromUnixMicros(now_us - age)});
        call.args.push_back(absl::StrCat("post:", facts.back().item.id));
        call.args.emplace_back(facts.back().liked ? "1" : "0");
        call.args.push_back(absl::StrCat(facts.back().item_version));
        call.args.push_back(absl::StrCat(now_us - age));
      }
      const int64_t taken = pure.Record(facts, of_write, now_us);
      const Reply reply = Call(redis, RecordLikesScript(), {call})[0];
      INFO("seed " << TestSeed() << ", run " << run << ", step " << step << " " << reply.text);
      REQUIRE(reply.integer == taken);
      refused_seen += static_cast<int64_t>(facts.size()) - taken;
      Commands commands;
      for (int64_t id = 1; id <= kItems; ++id) {
        commands.Add({"ZSCORE", kUserKeys[0], absl::StrCat("post:", id)});
      }
      const std::vector<Reply> scores = redis.Ask(std::move(commands));
      for (int64_t id = 1; id <= kItems; ++id) {
        const auto verified = pure.VerifiedMicros({ItemType{1}, id}, now_us);
        const Reply& score = scores[static_cast<size_t>(id - 1)];
        REQUIRE(score.is_nil() == !verified.has_value());
        if (verified) REQUIRE(score.text == absl::StrCat(*verified));
        likes_seen += verified ? 1 : 0;
      }
    }
  }
  CHECK(likes_seen > runs);
  CHECK(refused_seen > runs);
}

TEST_CASE(
    "script record likes: K26: every key of a user ends, and nothing grows when one is lost") {
  LiveRedis redis;
  const int64_t now_us = RedisMicros(redis);
  for (int64_t round = 0; round < 30; ++round) {
    ScriptCall call{kUserKeys, {absl::StrCat(now_us), "60000", "60000000", "20", "20", "20", "w"}};
    for (int64_t i = 0; i < 20; ++i) {
      call.args.push_back(absl::StrCat("post:", round * 20 + i));
      call.args.emplace_back(i % 2 == 0 ? "1" : "0");
      call.args.emplace_back("7");
      call.args.push_back(absl::StrCat(now_us + i));
    }
    REQUIRE(Call(redis, RecordLikesScript(), {call})[0].is_integer());
    for (const std::string& key : kUserKeys) {
      REQUIRE(redis.Ask({"PTTL", key}).integer != -1);
    }
    REQUIRE(redis.Ask({"HLEN", kUserKeys[2]}).integer <= 20 + 20 + 1 + 100);
    redis.Ask({"DEL", kUserKeys[round % 2]});  // As an eviction of one key alone would.
  }
}

TEST_CASE("script record likes: a delayed call goes by Redis's clock, not by when it was sent") {
  LiveRedis redis;
  const int64_t now_us = RedisMicros(redis);
  const int64_t sent_us = now_us - 61'000'000;
  const ScriptCall late{kUserKeys,
                        {absl::StrCat(sent_us), "60000", "60000000", "20", "20", "1", "r", "post:1",
                         "1", "7", absl::StrCat(sent_us)}};
  CHECK(Call(redis, RecordLikesScript(), {late})[0].integer == 0);
}

// ---- Rate limits -------------------------------------------------------------------------------

TEST_CASE("script reserve likes: it grants as the pure window does, and heals damage") {
  LiveRedis redis;
  std::mt19937_64 random(TestSeed());
  constexpr int64_t kLimit = 10;
  constexpr int64_t kLengthMs = 60'000;
  constexpr int kUsers = 50;
  const int runs = Sized(40, 1000);
  for (int run = 0; run < runs; ++run) {
    redis.Ask({"FLUSHALL"});
    std::vector<LikeWindow> windows(kUsers);
    const MonotonicTime now = MonotonicTime(std::chrono::hours(1));
    Commands states;
    std::vector<std::string> keys;
    for (int i = 0; i < kUsers; ++i) {
      keys.push_back(absl::StrCat("rate:{", i, "}:likes"));
      const uint64_t state = random() % 8;
      const auto used = static_cast<int64_t>(random() % 13);
      if (state == 0) states.Add({"SET", keys[i], absl::StrCat(used)});  // D9: ends never.
      if (state == 1) states.Add({"SET", keys[i], absl::StrCat(used), "PX", "90000"});
      if (state == 2) states.Add({"SET", keys[i], Pick(kDamaged, random), "PX", "50000"});
      if (state == 3) states.Add({"RPUSH", keys[i], "x"});
      if (state >= 5) {
        states.Add({"SET", keys[i], absl::StrCat(used), "PX", "50000"});
        windows[i] = {1, now + absl::Seconds(50), used};
      }
    }
    if (states.count() > 0) redis.Ask(std::move(states));
    for (int round = 0; round < 3; ++round) {
      ScriptCall call{keys, {absl::StrCat(kLimit), absl::StrCat(kLengthMs)}};
      std::vector<int64_t> granted;
      for (int i = 0; i < kUsers; ++i) {
        const auto likes = static_cast<int64_t>(1 + random() % 8);
        call.args.push_back(absl::StrCat(likes));
        const absl::Duration length = absl::Milliseconds(kLengthMs);
        if (!windows[i].IsOpen(now, length)) windows[i] = {1, now + length, 0};
        granted.push_back(windows[i].Reserve(likes, kLimit));
      }
      const Reply reply = Call(redis, ReserveLikesScript(), {call})[0];
      INFO("seed " << TestSeed() << ", run " << run << " " << reply.text);
      REQUIRE(reply.is_array());
      REQUIRE(reply.elements.size() == 3 * kUsers + 1);
      ScriptCall give_back{keys, {}};
      for (size_t i = 0; i < kUsers; ++i) {
        REQUIRE(reply.elements[3 * i].integer == granted[i]);
        REQUIRE(reply.elements[3 * i + 1].integer == windows[i].used);
        const bool right_window = random() % 3 != 0;
        const auto likes = static_cast<int64_t>(1 + random() % 12);
        give_back.args.push_back(absl::StrCat(likes));
        const int64_t window = reply.elements[3 * i + 2].integer;
        give_back.args.push_back(absl::StrCat(right_window ? window : window - 1));
        if (right_window) windows[i].GiveBack(likes);
      }
      REQUIRE(Call(redis, GiveBackLikesScript(), {give_back})[0].is_integer());
      Commands reads;
      for (const std::string& key : keys) reads.Add({"GET", key});
      for (const std::string& key : keys) reads.Add({"PTTL", key});
      const std::vector<Reply> values = redis.Ask(std::move(reads));
      for (int i = 0; i < kUsers; ++i) {
        REQUIRE(values[i].text == absl::StrCat(windows[i].used));
        REQUIRE(values[kUsers + i].integer > 0);
        REQUIRE(values[kUsers + i].integer <= kLengthMs);
      }
    }
  }
}

TEST_CASE("scripts: K23: after SCRIPT FLUSH each runs again") {
  LiveRedis redis;
  for (int round = 0; round < 3; ++round) {
    redis.Ask({"SCRIPT", "FLUSH"});
    ScriptCall put;
    AddPut("counter:post:1", {{{}, 5, 10, absl::FromUnixMicros(1)}, 0}, 1000, put);
    CHECK(Call(redis, PutCountsScript(), {put, put})[1].is_array());
    CHECK(Call(redis, RecordLikesScript(),
               {{kUserKeys, {"1", "60000", "60000000", "20", "20", "0"}}})[0]
              .is_integer());
    CHECK(Call(redis, ReserveLikesScript(), {{{"rate:{1}:likes"}, {"10", "1000", "1"}}})[0]
              .is_array());
    CHECK(Call(redis, GiveBackLikesScript(), {{{"rate:{1}:likes"}, {"1", "5"}}})[0].is_integer());
  }
}

}  // namespace
}  // namespace counter::redis::testing
