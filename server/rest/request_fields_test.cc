#include "server/rest/request_fields.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace counter::rest {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// The only violation's field; "ok" without one.
std::string FaultOf(const RequestFields& fields) {
  if (fields.violations().empty()) return "ok";
  return fields.violations().size() == 1 ? fields.violations()[0].field : "several";
}

TEST_CASE("ids are exact to 2^63-1, as numbers and as strings") {
  for (const char* id : {"9223372036854775807", "\"9223372036854775807\""}) {
    RequestFields fields = RequestFields::FromJson(absl::StrCat("{\"id\": ", id, "}"));
    CHECK(fields.Id("id") == kMax);
    CHECK(FaultOf(fields) == "ok");
  }
  RequestFields query = RequestFields::FromQuery("id=9223372036854775807");
  CHECK(query.Id("id") == kMax);
  CHECK(FaultOf(query) == "ok");
}

TEST_CASE("what is no whole number from 1 to 2^63-1 is no id") {
  for (const char* id : {"0", "-1", "9223372036854775808", "18446744073709551616", "1.0", "1e3",
                         "1.5", "true", "null", "[]", "{}", "\"\"", "\" 1\"", "\"+1\"", "\"-1\"",
                         "\"0x10\"", "\"1.0\"", "\"a\"", "\"9223372036854775808\""}) {
    CAPTURE(id);
    RequestFields fields = RequestFields::FromJson(absl::StrCat("{\"id\": ", id, "}"));
    fields.Id("id");
    CHECK(FaultOf(fields) == "id");
  }
  for (const char* id : {"", "0", "-1", "1.0", "+1", "%201", "1%00", "9223372036854775808"}) {
    CAPTURE(id);
    RequestFields fields = RequestFields::FromQuery(absl::StrCat("id=", id));
    fields.Id("id");
    CHECK(FaultOf(fields) == "id");
  }
}

TEST_CASE("what is missing is named, unless there is no body to miss it in") {
  RequestFields fields = RequestFields::FromJson("{\"other\": 1}");
  fields.Id("user_id");
  fields.Ids("item_ids");
  fields.Items("items");
  CHECK(fields.violations().size() == 3);
  CHECK(fields.ItemType("item_type") == "post");
  for (const char* body : {"", "[]", "1", "{", "{\"a\":1}x", "{'a':1}", "\xff"}) {
    CAPTURE(body);
    RequestFields bad = RequestFields::FromJson(body);
    bad.Id("user_id");
    CHECK(FaultOf(bad) == "body");
  }
}

TEST_CASE("a body may be 16 levels deep and no deeper") {
  const auto nested = [](int arrays) {
    return RequestFields::FromJson(
        absl::StrCat("{\"a\":", std::string(arrays, '['), std::string(arrays, ']'), "}"));
  };
  CHECK(FaultOf(nested(15)) == "ok");
  CHECK(FaultOf(nested(16)) == "body");
  CHECK(FaultOf(nested(100'000)) == "body");
}

TEST_CASE("lists come as JSON, by commas, and by repetition") {
  RequestFields fields = RequestFields::FromJson(R"({"ids": [3, "2", 1], "none": []})");
  CHECK(fields.Ids("ids") == std::vector<int64_t>{3, 2, 1});
  CHECK(fields.Ids("none").empty());
  CHECK(FaultOf(fields) == "ok");
  RequestFields query = RequestFields::FromQuery("ids=3,2&x=y&ids=1&none=");
  CHECK(query.Ids("ids") == std::vector<int64_t>{3, 2, 1});
  CHECK(query.Ids("none").empty());
  CHECK(FaultOf(query) == "ok");
  RequestFields bad = RequestFields::FromQuery("ids=3,,1");
  bad.Ids("ids");
  CHECK(FaultOf(bad) == "ids[1]");
}

TEST_CASE("a list over the limit is refused by its size alone") {
  std::string list = "1";
  for (int i = 1; i < 1000; ++i) list += ",1";
  RequestFields fits = RequestFields::FromJson(absl::StrCat("{\"ids\":[", list, "]}"));
  CHECK(fits.Ids("ids").size() == 1000);
  for (RequestFields fields : {RequestFields::FromJson(absl::StrCat("{\"ids\":[", list, ",0]}")),
                               RequestFields::FromQuery(absl::StrCat("ids=", list, ",0"))}) {
    CHECK(fields.Ids("ids").empty());
    REQUIRE(FaultOf(fields) == "ids");
    CHECK(fields.violations()[0].description == "must have at most 1000 elements, got 1001");
  }
}

TEST_CASE("items name what is wrong with each of them") {
  RequestFields fields = RequestFields::FromJson(
      R"({"items": [{"item_id": 1}, {"item_id": "2", "item_type": "reel"}, 7, {"item_type": 3}]})");
  const std::vector<ItemRef> items = fields.Items("items");
  REQUIRE(items.size() == 4);
  CHECK(items[0].type == "post");
  CHECK(items[0].id == 1);
  CHECK(items[1].type == "reel");
  CHECK(items[1].id == 2);
  REQUIRE(fields.violations().size() == 3);
  CHECK(fields.violations()[0].field == "items[2]");
  CHECK(fields.violations()[1].field == "items[3].item_type");
  CHECK(fields.violations()[2].field == "items[3].item_id");
}

TEST_CASE("what is wrong with a mutation is its own, and not the request's") {
  RequestFields fields = RequestFields::FromJson(
      R"({"mutations": [{"user_id": 1, "item_id": "2", "item_type": "reel", "action": "unlike"},
                        {"user_id": 0, "action": "LIKE"}, 7,
                        {"user_id": 3, "item_id": 4, "action": "like"}]})");
  const std::vector<MutationFields> mutations = fields.Mutations("mutations");
  CHECK(fields.violations().empty());
  REQUIRE(mutations.size() == 4);
  CHECK(mutations[0].violations.empty());
  CHECK(mutations[0].mutation.user_id == 1);
  CHECK(mutations[0].mutation.item.id == 2);
  CHECK(mutations[0].mutation.item.type == "reel");
  CHECK(mutations[0].mutation.action == kActionUnlike);
  REQUIRE(mutations[1].violations.size() == 3);
  CHECK(mutations[1].violations[0].field == "mutations[1].user_id");
  CHECK(mutations[1].violations[1].field == "mutations[1].item_id");
  CHECK(mutations[1].violations[2].field == "mutations[1].action");
  REQUIRE(mutations[2].violations.size() == 1);
  CHECK(mutations[2].violations[0].field == "mutations[2]");
  CHECK(mutations[3].violations.empty());
  CHECK(mutations[3].mutation.item.type == "post");
  CHECK(mutations[3].mutation.action == kActionLike);
  for (const char* body : {"{}", R"({"mutations": 1})", "x"}) {
    RequestFields bad = RequestFields::FromJson(body);
    CHECK(bad.Mutations("mutations").empty());
    CHECK(bad.violations().size() == 1);
  }
}

TEST_CASE("a query is decoded once, and what is no escape stays as it is") {
  CHECK(DecodeQueryText("a+b%20c%3Ad") == "a b c:d");
  CHECK(DecodeQueryText("%s%n%b%") == "%s%n%b%");
  CHECK(DecodeQueryText("%2541") == "%41");
  CHECK(DecodeQueryText(std::string("%00")) == std::string(1, '\0'));
  RequestFields fields = RequestFields::FromQuery("&&=&item_type=a%3Ab&item_type=x+y");
  CHECK(fields.ItemType("item_type") == "x y");
}

}  // namespace
}  // namespace counter::rest
