#include "storage/postgres/sent_units.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace counter::postgres {
namespace {

using Got = PipelineLedger::Got;

Table TableWith(const std::string& cell) {
  Table table(1);
  table.Add(cell);
  return table;
}

ServerError ErrorWith(const std::string& message) {
  ServerError error;
  error.message = message;
  return error;
}

class Fixture {
 public:
  // A unit whose reply is appended to replies.
  void Add(int statements, size_t tables_dropped = 0) {
    units.Add(statements, tables_dropped,
              [this](UnitReply reply) { replies.push_back(std::move(reply)); });
  }
  void Rows(const std::string& cell) {
    REQUIRE(units.Take(Got::kRows, TableWith(cell), {}, ended));
    REQUIRE(units.Take(Got::kEndOfStatement, {}, {}, ended));
  }
  void Sync() { REQUIRE(units.Take(Got::kSync, {}, {}, ended)); }
  // Tells who waited, as the connection does.
  void Tell() {
    for (SentUnits::Ended& unit : std::exchange(ended, {})) unit.done(std::move(unit.reply));
  }

  SentUnits units;
  std::vector<SentUnits::Ended> ended;
  std::vector<UnitReply> replies;
};

TEST_CASE("a unit is over at its sync, with the tables that are for who waits") {
  Fixture fixture;
  fixture.Add(3, /*tables_dropped=*/1);
  fixture.Rows("settings");
  fixture.Rows("a");
  fixture.Rows("b");
  CHECK(fixture.ended.empty());
  CHECK(fixture.units.expecting());
  fixture.Sync();
  CHECK_FALSE(fixture.units.expecting());
  fixture.Tell();
  REQUIRE(fixture.replies.size() == 1);
  CHECK(fixture.replies[0].fate == UnitFate::kCommitted);
  REQUIRE(fixture.replies[0].tables.size() == 2);
  CHECK(fixture.replies[0].tables[0].Cell(0, 0) == "a");
  CHECK(fixture.replies[0].tables[1].Cell(0, 0) == "b");
}

TEST_CASE("an error is handed to the unit that it hit, and to no other") {
  Fixture fixture;
  fixture.Add(1);
  fixture.Add(1);
  REQUIRE(fixture.units.Take(Got::kError, {}, ErrorWith("no"), fixture.ended));
  REQUIRE(fixture.units.Take(Got::kEndOfStatement, {}, {}, fixture.ended));
  fixture.Sync();
  fixture.Rows("a");
  fixture.Sync();
  fixture.Tell();
  REQUIRE(fixture.replies.size() == 2);
  CHECK(fixture.replies[0].fate == UnitFate::kRolledBack);
  CHECK(fixture.replies[0].error.message == "no");
  CHECK(fixture.replies[1].fate == UnitFate::kCommitted);
  CHECK(fixture.replies[1].error.message.empty());
}

TEST_CASE("a commit that the standby did not confirm is not known to have happened") {
  Fixture fixture;
  fixture.Add(1);
  fixture.Add(1);
  fixture.Rows("a");
  fixture.units.Unconfirmed();
  fixture.Sync();
  fixture.Rows("b");
  fixture.Sync();
  fixture.Tell();
  REQUIRE(fixture.replies.size() == 2);
  CHECK(fixture.replies[0].fate == UnitFate::kUnknown);
  CHECK(fixture.replies[1].fate == UnitFate::kCommitted);
}

TEST_CASE("with the link all units are over, oldest first, and none keeps a table") {
  Fixture fixture;
  fixture.Add(1);
  fixture.Add(2);
  fixture.Rows("a");
  fixture.ended = fixture.units.LinkLost(ErrorWith("gone"));
  fixture.Tell();
  REQUIRE(fixture.replies.size() == 2);
  for (const UnitReply& reply : fixture.replies) {
    CHECK(reply.fate == UnitFate::kUnknown);
    CHECK(reply.tables.empty());
    CHECK(reply.error.message == "gone");
  }
  CHECK_FALSE(fixture.units.expecting());
}

TEST_CASE("a sync before the statements were answered is refused") {
  Fixture fixture;
  fixture.Add(1);
  CHECK_FALSE(fixture.units.Take(Got::kSync, {}, {}, fixture.ended));
}

}  // namespace
}  // namespace counter::postgres
