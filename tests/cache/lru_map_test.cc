#include "cache/local/lru_map.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/like.h"

namespace counter {
namespace {

TEST_CASE("the oldest entry is the one that was used longest ago") {
  LruMap<int, std::string> map;
  map.FindOrMake(1) = "one";
  map.FindOrMake(2) = "two";
  map.FindOrMake(3) = "three";
  CHECK(map.Oldest().key == 1);
  REQUIRE(map.Find(1) != nullptr);
  CHECK(map.Oldest().key == 2);
  CHECK(map.FindOrMake(2) == "two");
  CHECK(map.Oldest().key == 3);
}

TEST_CASE("what was popped or erased is not found again and its place is not lost") {
  LruMap<int, int> map;
  for (int i = 0; i < 4; ++i) map.FindOrMake(i) = 10 * i;
  map.PopOldest();
  map.Erase(2);
  map.Erase(2);
  CHECK(map.size() == 2);
  CHECK(map.Find(0) == nullptr);
  CHECK(map.Find(2) == nullptr);
  CHECK(*map.Find(3) == 30);
  CHECK(map.Oldest().key == 1);
  CHECK(map.FindOrMake(2) == 0);
}

TEST_CASE("the shares of the shards add up to the bound") {
  for (size_t total : {16U, 17U, 31U, 1'000'000U}) {
    size_t sum = 0;
    for (size_t shard = 0; shard < 16; ++shard) sum += ShardShare(total, 16, shard);
    CHECK(sum == total);
    CHECK(ShardShare(total, 16, 0) - ShardShare(total, 16, 15) <= 1);
  }
}

TEST_CASE("ids in a row are spread evenly over the shards") {
  std::vector<int> counts(16);
  for (int64_t id = 1; id <= 16'000; ++id) ++counts[ShardOf(Item{ItemType{1}, id}, 16)];
  for (int count : counts) {
    CHECK(count > 800);
    CHECK(count < 1200);
  }
}

}  // namespace
}  // namespace counter
