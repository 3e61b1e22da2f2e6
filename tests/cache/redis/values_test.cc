// What stands in Redis: keys, values of counts, and the memory of recent puts.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cache/redis/count_value.h"
#include "cache/redis/keys.h"
#include "cache/redis/recent_puts.h"

namespace counter::redis::testing {
namespace {

constexpr int64_t kMax = 9'223'372'036'854'775'807;

TEST_CASE("keys: they are the names that operators rely on") {
  const Keys keys({{1, "post"}, {2, "reel"}});
  CHECK(keys.Count({ItemType{1}, 456}) == "counter:post:456");
  CHECK(keys.Count({ItemType{2}, kMax}) == "counter:reel:9223372036854775807");
  CHECK(keys.ItemName({ItemType{1}, 456}) == "post:456");
  CHECK(Keys::RecentLikes(UserId{123}) == "recent_likes:{123}");
  CHECK(Keys::Rate(UserId{123}) == "rate:{123}:likes");
}

TEST_CASE("keys: a type without a name cannot be mistaken for one with a name") {
  CHECK(Keys({{1, "post"}}).Count({ItemType{7}, 456}) == "counter:7:456");
}

TEST_CASE("count value: a value and a lease are written as operators read them") {
  CountCell value;
  value.kind = CountCell::Kind::kValue;
  value.count = 12;
  value.version = 1'700'000'000'123'456;
  value.read_at = absl::FromUnixMicros(1'700'000'000'200'000) + absl::Nanoseconds(999);
  CHECK(FormatCell(value) == "12@1700000000123456@1700000000200000");
  CountCell lease;
  lease.kind = CountCell::Kind::kLease;
  lease.token = 18'446'744'073'709'551'615U;
  lease.version = 5;
  CHECK(FormatCell(lease) == "!18446744073709551615@5");
}

TEST_CASE("count value: what was written is read again") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    CountCell cell;
    cell.kind = random() % 2 == 0 ? CountCell::Kind::kLease : CountCell::Kind::kValue;
    cell.version = static_cast<int64_t>(random() >> (1 + random() % 60));
    if (cell.kind == CountCell::Kind::kLease) cell.token = random() | 1;
    if (cell.kind == CountCell::Kind::kValue) {
      cell.count = static_cast<int64_t>(random() >> (1 + random() % 60));
      cell.read_at = absl::FromUnixMicros(static_cast<int64_t>(random() >> 12));
    }
    const auto read = ParseCell(FormatCell(cell));
    REQUIRE(read.has_value());
    CHECK(FormatCell(*read) == FormatCell(cell));
  }
  REQUIRE(ParseCell("9223372036854775807@9223372036854775807@0").has_value());
  CHECK(ParseCell("9223372036854775807@9223372036854775807@0")->version == kMax);
}

TEST_CASE("count value: what we have not written is not read") {
  for (const char* foreign :
       {"",       "5",      "5@1",
        "5@1@",   "@@",     "5@1@2@3",
        "-1@1@1", "5@01@1", "5@1@1 ",
        "+5@1@1", "x@1@1",  "9223372036854775808@1@1",
        "!",      "!@",     "!5",
        "!0@0",   "!5@",    "!5@-1",
        "!5@1@1", "!!5@1",  "5@1@99999999999999999999999999999999999999999999999999999999999999"}) {
    INFO(foreign);
    CHECK_FALSE(ParseCell(foreign).has_value());
  }
}

const MonotonicTime kStart = MonotonicTime(std::chrono::hours(1));
Item PostOf(int64_t id) { return {ItemType{1}, id}; }
std::vector<Item> Sorted(std::vector<Item> items) {
  std::sort(items.begin(), items.end());
  return items;
}

TEST_CASE("recent puts: the items of the span are remembered, each once") {
  RecentPuts puts(absl::Seconds(10), 100);
  puts.Note(PostOf(1), kStart);
  puts.Note(PostOf(2), kStart + absl::Seconds(3));
  puts.Note(PostOf(2), kStart + absl::Seconds(6));
  CHECK(Sorted(puts.Since(kStart + absl::Seconds(9))) == std::vector<Item>{PostOf(1), PostOf(2)});
  CHECK(Sorted(puts.Since(kStart + absl::Seconds(15))) == std::vector<Item>{PostOf(2)});
  CHECK(puts.Since(kStart + absl::Seconds(30)).empty());
  CHECK(puts.size() == 0);
}

TEST_CASE("recent puts: an item that is put all the time is remembered for the whole span") {
  RecentPuts puts(absl::Seconds(10), 100);
  MonotonicTime now = kStart;
  for (int i = 0; i < 100'000; ++i) puts.Note(PostOf(1), now = now + absl::Microseconds(100));
  CHECK(puts.Since(now + absl::Seconds(10)).size() == 1);
  CHECK(puts.Since(now + absl::Seconds(12)).empty());
}

TEST_CASE("recent puts: over the bound the item put longest ago goes first") {
  RecentPuts puts(absl::Seconds(10), 3);
  for (int64_t id = 1; id <= 3; ++id) puts.Note(PostOf(id), kStart + absl::Seconds(id));
  puts.Note(PostOf(1), kStart + absl::Seconds(5));
  puts.Note(PostOf(4), kStart + absl::Seconds(6));
  CHECK(Sorted(puts.Since(kStart + absl::Seconds(6))) ==
        std::vector<Item>{PostOf(1), PostOf(3), PostOf(4)});
}

}  // namespace
}  // namespace counter::redis::testing
