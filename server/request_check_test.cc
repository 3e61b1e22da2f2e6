#include "server/request_check.h"

#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace counter {
namespace {

constexpr int64_t kIdMax = std::numeric_limits<int64_t>::max();
constexpr char kTimeline[] = "timeline1";

ItemTypes Types() { return ItemTypes({{"post", {1}}, {"reel", {2}}, {"comment", {3}}}); }

std::vector<FieldViolation> Violations(const RequestCheck& check) {
  return check.ok() ? std::vector<FieldViolation>() : FieldViolationsOf(check.error());
}

std::string TokenOf(const Item& item, int64_t version, const std::string& timeline = kTimeline) {
  return EncodeConsistencyToken({item, version, timeline});
}

TEST_CASE("ids from 1 to 2^63-1 are taken") {
  const ItemTypes types = Types();
  RequestCheck check(types);
  CHECK(check.User("user_id", 1) == UserId{1});
  CHECK(check.User("user_id", kIdMax) == UserId{kIdMax});
  CHECK(check.ItemAt("item", {"reel", kIdMax}) == Item{{2}, kIdMax});
  CHECK(check.ok());
}

TEST_CASE("an id out of range is refused with field, value and limits") {
  const ItemTypes types = Types();
  RequestCheck check(types);
  check.User("user_id", 0);
  check.ItemAt("items[7]", {"post", -5});
  CHECK(Violations(check) == std::vector<FieldViolation>{
                                 {"user_id", "must be 1 to 9223372036854775807, got 0"},
                                 {"items[7].item_id", "must be 1 to 9223372036854775807, got -5"}});
}

TEST_CASE("every fault of a request is reported at once") {
  const ItemTypes types = Types();
  RequestCheck check(types);
  check.User("user_id", -1);
  check.ItemAt("item", {"", 0});
  check.ActionAt("action", 0);
  check.ConsistencyAt("consistency", 9);
  CHECK(Violations(check).size() == 5);
}

TEST_CASE("an item type that is not configured is refused, with the ones that are") {
  const ItemTypes types = Types();
  RequestCheck check(types);
  check.ItemAt("item", {"story", 1});
  REQUIRE(Violations(check).size() == 1);
  CHECK(Violations(check)[0].field == "item.item_type");
  CHECK(Violations(check)[0].description ==
        "must be a configured type, comment, post or reel; got \"story\"");
}

TEST_CASE("a hostile item type is refused and shown escaped and cut") {
  const ItemTypes types = Types();
  for (const std::string& hostile :
       {std::string("x y"), std::string("%s%n%b"), std::string("a:b"), std::string("{a}"),
        std::string("a\r\nFLUSHALL\r\n"), std::string("\0post", 5), std::string("post\0", 5),
        std::string("POST"), std::string(65, 'a'), std::string(100'000, '\n')}) {
    RequestCheck check(types);
    check.ItemAt("item", {hostile, 1});
    REQUIRE(Violations(check).size() == 1);
    const std::string text = Violations(check)[0].description;
    CHECK(text.size() < 400);
    CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

TEST_CASE("a list of more than 1000 elements is refused by its size") {
  const ItemTypes types = Types();
  RequestCheck fits(types);
  CHECK(fits.Size("items", 1000));
  CHECK(fits.ok());
  RequestCheck check(types);
  CHECK_FALSE(check.Size("items", 1001));
  CHECK(Violations(check) ==
        std::vector<FieldViolation>{{"items", "must have at most 1000 elements, got 1001"}});
}

TEST_CASE("a read asks for each item once and answers every place of the request") {
  const ItemTypes types = Types();
  RequestCheck check(types);
  const CheckedRead read =
      CheckRead(check, {{{"post", 5}, {"reel", 5}, {"post", 5}}, 0, {}, false}, kTimeline);
  REQUIRE(check.ok());
  REQUIRE(read.distinct.size() == 2);
  CHECK(read.distinct[0].item == Item{{1}, 5});
  CHECK(read.distinct[1].item == Item{{2}, 5});
  CHECK(read.index == std::vector<size_t>{0, 1, 0});
  CHECK(read.consistency == Consistency::kCached);
}

TEST_CASE("of several tokens of one item the newest version counts, in any order") {
  const ItemTypes types = Types();
  const Item post5 = {{1}, 5};
  const Item post6 = {{1}, 6};
  RequestCheck check(types);
  const CheckedRead read = CheckRead(check,
                                     {{{"post", 5}, {"post", 6}},
                                      0,
                                      {TokenOf(post6, 3), TokenOf(post5, 9), TokenOf(post5, 7)},
                                      false},
                                     kTimeline);
  REQUIRE(check.ok());
  CHECK(read.distinct[0].min_version == 9);
  CHECK(read.distinct[1].min_version == 3);
}

TEST_CASE("a token of another timeline makes the read strong") {
  const ItemTypes types = Types();
  RequestCheck check(types);
  const CheckedRead read =
      CheckRead(check, {{{"post", 5}}, 1, {TokenOf({{1}, 5}, 9, "another")}, true}, kTimeline);
  REQUIRE(check.ok());
  CHECK(read.consistency == Consistency::kStrong);
  CHECK(read.distinct[0].min_version == 0);
}

TEST_CASE("a token of another item, or that is none, is refused by the name of its field") {
  const ItemTypes types = Types();
  RequestCheck batch(types);
  CheckRead(batch, {{{"post", 5}}, 0, {"garbage", TokenOf({{1}, 6}, 9)}, false}, kTimeline);
  REQUIRE(Violations(batch).size() == 2);
  CHECK(Violations(batch)[0].field == "consistency_tokens[0]");
  CHECK(Violations(batch)[1].field == "consistency_tokens[1]");

  RequestCheck single(types);
  CheckRead(single, {{{"post", 5}}, 0, {"garbage"}, true}, kTimeline);
  REQUIRE(Violations(single).size() == 1);
  CHECK(Violations(single)[0].field == "consistency_token");
}

}  // namespace
}  // namespace counter
