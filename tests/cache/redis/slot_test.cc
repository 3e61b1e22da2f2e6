// Which slot a key has, and which keys may share a command; the former held to a real Redis.
#include "cache/redis/slot.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "cache/redis/key_groups.h"
#include "cache/redis/keys.h"
#include "tests/support/redis_server.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {
namespace {

using counter::testing::RedisServer;
using counter::testing::TestSeed;

TEST_CASE("slot: it is the CRC16 that the specification of Redis Cluster gives as a check") {
  CHECK(SlotOf("123456789") == 0x31C3);
  CHECK(SlotOf("") == 0);
}

TEST_CASE("slot: only what stands in the first braces counts, unless nothing does") {
  CHECK(SlotOf("recent_likes:{123}:unlikes") == SlotOf("123"));
  CHECK(SlotOf("foo{bar}{zap}") == SlotOf("bar"));
  CHECK(SlotOf("foo{{bar}}zap") == SlotOf("{bar"));
  CHECK(SlotOf("foo{}{bar}") != SlotOf("bar"));
  CHECK(SlotOf("foo{bar") != SlotOf("bar"));
}

TEST_CASE("slot: all keys of a user have one") {
  for (int64_t id = 1; id < 1000; id += 37) {
    const UserId user{id};
    const int slot = SlotOf(Keys::RecentLikes(user));
    CHECK(SlotOf(Keys::RecentUnlikes(user)) == slot);
    CHECK(SlotOf(Keys::RecentVersions(user)) == slot);
    CHECK(SlotOf(Keys::Rate(user)) == slot);
  }
}

TEST_CASE("slot: a real node of a cluster says the same of every key") {
  const auto node = RedisServer::Start({.cluster = true});
  INFO(node.status().ToString());
  REQUIRE(node.ok());
  std::mt19937_64 random(TestSeed());
  std::vector<std::string> keys = {"{",     "}",     "{}",     "a{}",    "a{b",
                                   "a}b{c", "{}{a}", "a{{b}}", "a{b}{c}"};
  for (int i = 0; i < 300; ++i) {
    std::string key;
    // Any bytes, and braces more often than chance would have them.
    for (uint64_t length = random() % 24; length > 0; --length) {
      const uint64_t byte = random();
      key += byte % 5 == 0 ? "{}"[byte >> 9 & 1] : static_cast<char>(byte >> 16);
    }
    keys.push_back(key);
    keys.push_back(Keys({{1, "post"}}).Count({ItemType{1}, static_cast<int64_t>(random() >> 1)}));
  }
  for (const std::string& key : keys) {
    CAPTURE(key);
    REQUIRE((*node)->Command({"CLUSTER", "KEYSLOT", key}) == absl::StrCat(SlotOf(key)));
  }
}

TEST_CASE("key groups: of one server as many keys share a command as may, in order") {
  const std::vector<std::string> keys = {"a", "b", "a", "c", "d"};
  const auto groups = GroupKeys(keys, /*by_slot=*/false, 2);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].members == std::vector<size_t>{0, 1});
  CHECK(groups[1].members == std::vector<size_t>{2, 3});
  CHECK(groups[2].members == std::vector<size_t>{4});
  CHECK(groups[0].slot == kNoSlot);
  CHECK(GroupKeys({}, false, 2).empty());
}

TEST_CASE("key groups: of a cluster no command holds keys of two slots, and none is left out") {
  std::mt19937_64 random(TestSeed());
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i)
    keys.push_back(absl::StrCat("{", random() % 300, "}", random() % 3));
  const size_t members_max = 4;
  std::vector<int> seen(keys.size());
  for (const KeyGroup& group : GroupKeys(keys, /*by_slot=*/true, members_max)) {
    REQUIRE_FALSE(group.members.empty());
    REQUIRE(group.members.size() <= members_max);
    REQUIRE(std::is_sorted(group.members.begin(), group.members.end()));
    for (const size_t member : group.members) {
      REQUIRE(SlotOf(keys[member]) == group.slot);
      ++seen[member];
    }
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

}  // namespace
}  // namespace counter::redis::testing
