#include <catch2/catch.hpp>

#include "base/error.h"
#include "storage/postgres/binary.h"
#include "storage/postgres/outbox_statements.h"
#include "storage/postgres/prepared_statements.h"
#include "storage/postgres/read_statements.h"
#include "storage/postgres/session_statements.h"
#include "storage/postgres/unit_statements.h"

namespace counter::postgres {
namespace {

std::string True() { return std::string(1, '\1'); }
std::string False() { return std::string(1, '\0'); }

WriteUnit TwoLikes() {
  WriteUnit unit;
  unit.action = Action::kLike;
  unit.rows = {{UserId{5}, {ItemType{1}, 10}, 0}, {UserId{6}, {ItemType{2}, 11}, 1}};
  unit.counters = {{ItemType{1}, 10}, {ItemType{2}, 11}};
  return unit;
}

// One row of a unit's answer.
void AddRow(Table& table, int64_t n, bool changed, int64_t count, int64_t version) {
  table.Add(EncodeInt8(n));
  table.Add(changed ? True() : False());
  table.Add(EncodeInt8(count));
  table.Add(EncodeInt8(version));
  table.Add(EncodeInt8(77));
}

TEST_CASE("a unit's rows become parallel arrays in their order") {
  const StatementCall call = ApplyUnit(TwoLikes(), {3, {8, 9}});
  REQUIRE(call.parameters.size() == call.statement->parameters.size());
  CHECK(DecodeIntArray(call.parameters[0]) == std::vector<int64_t>{1, 2});
  CHECK(DecodeIntArray(call.parameters[1]) == std::vector<int64_t>{5, 6});
  CHECK(DecodeIntArray(call.parameters[2]) == std::vector<int64_t>{10, 11});
  CHECK(DecodeIntArray(call.parameters[3]) == std::vector<int64_t>{LikerMix({5}), LikerMix({6})});
  CHECK(DecodeInt(call.parameters[4]) == 3);
  CHECK(DecodeIntArray(call.parameters[5]) == std::vector<int64_t>{8, 9});
}

TEST_CASE("likes and unlikes are different statements") {
  WriteUnit unit = TwoLikes();
  const Statement* like = ApplyUnit(unit, {}).statement;
  unit.action = Action::kUnlike;
  CHECK(ApplyUnit(unit, {}).statement != like);
}

TEST_CASE("answers are put in place by their number, in whatever order they come") {
  Table table(5);
  AddRow(table, 2, false, 7, 70);
  AddRow(table, 1, true, 3, 30);
  const auto applied = DecodeUnit(table, 2);
  REQUIRE(applied.ok());
  CHECK(applied->rows[0] == Applied{true, 3, 30});
  CHECK(applied->rows[1] == Applied{false, 7, 70});
  CHECK(applied->outbox_id == 77);
}

TEST_CASE("a unit's answer with a row missing, twice, or of nobody is refused") {
  Table missing(5);
  AddRow(missing, 1, true, 1, 1);
  Table twice(5);
  AddRow(twice, 1, true, 1, 1);
  AddRow(twice, 1, true, 1, 1);
  Table of_nobody(5);
  AddRow(of_nobody, 1, true, 1, 1);
  AddRow(of_nobody, 3, true, 1, 1);
  Table narrow(1);
  narrow.Add(EncodeInt8(1));
  narrow.Add(EncodeInt8(2));
  for (const Table* table : {&missing, &twice, &of_nobody, &narrow}) {
    const auto applied = DecodeUnit(*table, 2);
    REQUIRE_FALSE(applied.ok());
    CHECK(ReasonOf(applied.status()) == ErrorReason::kInternal);
    // It was committed: nobody may say that it was not.
    CHECK_FALSE(IsNotApplied(applied.status()));
  }
}

TEST_CASE("items without a counter are 0 at version 0, pairs without a row are not liked") {
  Table counts(3);
  counts.Add(EncodeInt8(2));
  counts.Add(EncodeInt8(9));
  counts.Add(EncodeInt8(90));
  const auto read = DecodeCounts(counts, 3);
  REQUIRE(read.ok());
  CHECK((*read)[0].count == 0);
  CHECK((*read)[1].count == 9);
  CHECK((*read)[1].version == 90);
  CHECK((*read)[2].version == 0);
  Table pairs(2);
  pairs.Add(EncodeInt8(3));
  pairs.Add(EncodeInt8(90));
  const auto states = DecodePairs(pairs, 3);
  REQUIRE(states.ok());
  CHECK_FALSE((*states)[0].liked);
  CHECK((*states)[2].liked);
  CHECK((*states)[2].item_version == 90);
}

void AddAudited(Table& table, int64_t item, int64_t stored, int64_t actual) {
  table.Add(EncodeInt2(1));
  for (const int64_t value : {item, stored, int64_t{0}, actual, int64_t{0}})
    table.Add(EncodeInt8(value));
}

TEST_CASE("an audit tells differences only, and where to go on if there is more") {
  Table table(6);
  AddAudited(table, 10, 2, 2);
  AddAudited(table, 11, 3, 2);
  AddAudited(table, 12, 5, 4);
  const auto all = DecodeAudit(table, 3);
  REQUIRE(all.ok());
  CHECK(all->items_checked == 3);
  CHECK(all->findings.size() == 2);
  CHECK_FALSE(all->next.has_value());
  const auto page = DecodeAudit(table, 2);
  REQUIRE(page.ok());
  CHECK(page->items_checked == 2);
  CHECK(page->findings.size() == 1);
  CHECK(page->next == Item{ItemType{1}, 11});
}

}  // namespace
}  // namespace counter::postgres
