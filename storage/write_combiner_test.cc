// Each sentence of write_combiner.h. The seeded comparison with a sequential execution is in
// write_combiner_model_test.cc.
#include "storage/write_combiner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/time/time.h"
#include "base/error.h"

namespace counter {
namespace {

const MonotonicTime kNow = MonotonicTime(std::chrono::hours(1));

Item Post(int64_t id) { return {ItemType{1}, id}; }
Mutation Like(int64_t user, int64_t item) { return {UserId{user}, Post(item), Action::kLike}; }
Mutation Unlike(int64_t user, int64_t item) { return {UserId{user}, Post(item), Action::kUnlike}; }

CallLimits Until(MonotonicTime deadline) { return {deadline, {}}; }

absl::Status Broken() { return MakeError(ErrorReason::kInternal, "broken"); }

// A combiner whose tickets are the numbers of the pushes, from 0.
class Lane {
 public:
  explicit Lane(WriteCombiner::Limits limits = {}) : combiner(limits) {}

  bool Push(const Mutation& mutation, const CallLimits& limits = {}) {
    return combiner.Push(mutation, limits, Ticket{nullptr, pushes_++});
  }
  std::optional<WriteUnit> Next(int rows_max = 100, MonotonicTime now = kNow) {
    return combiner.NextUnit(rows_max, now, ended);
  }
  // Completes the unit as if every row changed something: outcome i is {true, count, version}.
  void Complete(const WriteUnit& unit, int64_t count = 1, int64_t version = 1) {
    combiner.Complete(unit.id, std::vector<Applied>(unit.rows.size(), {true, count, version}),
                      ended);
  }
  void Fail(const WriteUnit& unit, UnitFailure failure) {
    combiner.Fail(unit.id, failure, Broken(), ended);
  }
  // The tickets that ended so far, and with what.
  std::map<int, absl::StatusOr<Applied>> Results() const {
    std::map<int, absl::StatusOr<Applied>> results;
    for (const EndedMutation& one : ended) {
      CHECK(results.emplace(one.ticket.position, one.result).second);
    }
    return results;
  }

  WriteCombiner combiner;
  std::vector<EndedMutation> ended;

 private:
  int pushes_ = 0;
};

std::vector<int64_t> UsersOf(const WriteUnit& unit) {
  std::vector<int64_t> users;
  for (const UnitRow& row : unit.rows) users.push_back(row.user.value);
  return users;
}

TEST_CASE("an empty combiner gives out no unit") { CHECK_FALSE(Lane().Next()); }

TEST_CASE("a unit's rows are in primary-key order and its counters in key order") {
  Lane lane;
  lane.combiner.Push({UserId{1}, {ItemType{2}, 5}, Action::kLike}, {}, {});
  lane.combiner.Push({UserId{9}, {ItemType{1}, 7}, Action::kLike}, {}, {});
  lane.combiner.Push({UserId{2}, {ItemType{1}, 8}, Action::kLike}, {}, {});
  lane.combiner.Push({UserId{2}, {ItemType{1}, 7}, Action::kLike}, {}, {});
  const std::optional<WriteUnit> unit = lane.Next();
  REQUIRE(unit);
  CHECK(UsersOf(*unit) == std::vector<int64_t>{2, 2, 9, 1});
  CHECK(unit->counters == std::vector<Item>{Post(7), Post(8), {ItemType{2}, 5}});
  for (const UnitRow& row : unit->rows) CHECK(unit->counters[row.counter] == row.item);
}

TEST_CASE("a unit holds likes only or unlikes only, the kind of the oldest mutation first") {
  Lane lane;
  lane.Push(Unlike(1, 1));
  lane.Push(Like(2, 1));
  lane.Push(Unlike(3, 1));
  const std::optional<WriteUnit> first = lane.Next();
  const std::optional<WriteUnit> second = lane.Next();
  REQUIRE((first && second));
  CHECK(first->action == Action::kUnlike);
  CHECK(UsersOf(*first) == std::vector<int64_t>{1, 3});
  CHECK(second->action == Action::kLike);
  CHECK(UsersOf(*second) == std::vector<int64_t>{2});
  CHECK_FALSE(lane.Next());
}

TEST_CASE("a unit has at most rows_max rows, the oldest ones") {
  Lane lane;
  for (int user = 5; user >= 1; --user) lane.Push(Like(user, 1));
  CHECK(UsersOf(*lane.Next(2)) == std::vector<int64_t>{4, 5});
  CHECK(UsersOf(*lane.Next(2)) == std::vector<int64_t>{2, 3});
  CHECK(UsersOf(*lane.Next(2)) == std::vector<int64_t>{1});
}

TEST_CASE("a like and an unlike of one pair leave in consecutive units, in their order") {
  Lane lane;
  lane.Push(Like(1, 1));
  lane.Push(Unlike(1, 1));
  lane.Push(Like(1, 1));
  for (const Action action : {Action::kLike, Action::kUnlike, Action::kLike}) {
    const std::optional<WriteUnit> unit = lane.Next();
    REQUIRE(unit);
    CHECK(unit->action == action);
    CHECK(unit->rows.size() == 1);
    CHECK_FALSE(lane.Next());  // The pair is held while its unit is in flight.
    lane.Complete(*unit);
  }
  CHECK(lane.Results().size() == 3);
}

TEST_CASE("equal mutations that wait together share a row and only the first has changed") {
  Lane lane;
  for (int i = 0; i < 3; ++i) lane.Push(Like(1, 1));
  const std::optional<WriteUnit> unit = lane.Next();
  REQUIRE(unit);
  CHECK(unit->rows.size() == 1);
  CHECK(unit->mutations == 3);
  lane.Complete(*unit, 7, 99);
  const auto results = lane.Results();
  CHECK(*results.at(0) == Applied{true, 7, 99});
  CHECK(*results.at(1) == Applied{false, 7, 99});
  CHECK(*results.at(2) == Applied{false, 7, 99});
}

TEST_CASE("equal mutations with a different one between them do not share a row") {
  Lane lane;
  lane.Push(Like(1, 1));
  lane.Push(Unlike(1, 1));
  lane.Push(Like(1, 1));
  CHECK(lane.Next()->mutations == 1);
}

TEST_CASE("a mutation does not join a row that is in flight") {
  Lane lane;
  lane.Push(Like(1, 1));
  const std::optional<WriteUnit> first = lane.Next();
  lane.Push(Like(1, 1));
  lane.Complete(*first);
  CHECK(lane.Results().size() == 1);
  CHECK(lane.Next()->mutations == 1);
}

TEST_CASE("units in flight at once never share a pair") {
  Lane lane;
  lane.Push(Like(1, 1));
  const std::optional<WriteUnit> first = lane.Next();
  lane.Push(Unlike(1, 1));
  lane.Push(Like(2, 1));
  const std::optional<WriteUnit> second = lane.Next();
  REQUIRE(second);
  CHECK(UsersOf(*second) == std::vector<int64_t>{2});
  CHECK_FALSE(lane.Next());
  lane.Complete(*first);
  CHECK(lane.Next()->action == Action::kUnlike);
}

TEST_CASE("a mutation that was held back leaves before younger ones") {
  Lane lane;
  lane.Push(Like(1, 1));
  const std::optional<WriteUnit> first = lane.Next();
  lane.Push(Unlike(1, 1));
  for (int user = 2; user <= 9; ++user) lane.Push(Unlike(user, 1));
  lane.Complete(*first);
  CHECK(UsersOf(*lane.Next(1)) == std::vector<int64_t>{1});
}

TEST_CASE("a mutation beyond the limit is refused, and fits again when one has ended") {
  Lane lane({.mutations_max = 2});
  CHECK(lane.Push(Like(1, 1)));
  CHECK(lane.Push(Like(1, 1)));  // The limit is in mutations, not rows.
  CHECK_FALSE(lane.Push(Like(2, 1)));
  const std::optional<WriteUnit> unit = lane.Next();
  CHECK_FALSE(lane.Push(Like(2, 1)));  // What is in flight counts.
  lane.Complete(*unit);
  CHECK(lane.combiner.mutations() == 0);
  CHECK(lane.Push(Like(2, 1)));
  CHECK(ReasonOf(WriteCombiner::FullError()) == ErrorReason::kOverloaded);
  CHECK(IsNotApplied(WriteCombiner::FullError()));
}

TEST_CASE("an expired mutation is dropped before it is sent, marked as not applied") {
  Lane lane;
  lane.Push(Like(1, 1), Until(kNow));
  CHECK_FALSE(lane.Next());
  const auto results = lane.Results();
  CHECK(ReasonOf(results.at(0).status()) == ErrorReason::kDeadlineExceeded);
  CHECK(IsNotApplied(results.at(0).status()));
}

TEST_CASE("a cancelled mutation is dropped before it is sent, marked as not applied") {
  Lane lane;
  Cancellation gone = Cancellation::Make();
  lane.Push(Like(1, 1), CallLimits{MonotonicTime::max(), gone});
  lane.Push(Like(2, 1));
  gone.Cancel();
  CHECK(UsersOf(*lane.Next()) == std::vector<int64_t>{2});
  const auto results = lane.Results();
  CHECK(ReasonOf(results.at(0).status()) == ErrorReason::kCancelled);
  CHECK(IsNotApplied(results.at(0).status()));
}

TEST_CASE("a shared row leaves while one of its mutations is wanted, which gets the transition") {
  Lane lane;
  lane.Push(Like(1, 1), Until(kNow));
  lane.Push(Like(1, 1));
  const std::optional<WriteUnit> unit = lane.Next();
  REQUIRE(unit);
  CHECK(unit->mutations == 1);
  lane.Complete(*unit);
  CHECK_FALSE(lane.Results().at(0).ok());
  CHECK(lane.Results().at(1)->changed);
}

TEST_CASE("what waits behind a dropped mutation leaves in the same unit or the next") {
  Lane lane;
  lane.Push(Like(1, 1), Until(kNow));
  lane.Push(Unlike(1, 1));
  const std::optional<WriteUnit> unit = lane.Next();
  REQUIRE(unit);
  CHECK(unit->action == Action::kUnlike);
}

TEST_CASE("a unit's deadline is that of its most patient mutation") {
  Lane lane;
  lane.Push(Like(1, 1), Until(kNow + absl::Seconds(1)));
  lane.Push(Like(1, 1), Until(kNow + absl::Seconds(3)));
  lane.Push(Like(2, 1), Until(kNow + absl::Seconds(2)));
  CHECK(lane.Next()->deadline == kNow + absl::Seconds(3));
}

TEST_CASE("a rejected unit is halved until the row at fault stands alone") {
  Lane lane;
  for (int user = 1; user <= 8; ++user) lane.Push(Like(user, 1));
  int units = 0;
  while (std::optional<WriteUnit> unit = lane.Next()) {
    ++units;
    const std::vector<int64_t> users = UsersOf(*unit);
    if (std::count(users.begin(), users.end(), 6) > 0) {
      lane.Fail(*unit, UnitFailure::kRejected);
    } else {
      lane.Complete(*unit);
    }
  }
  CHECK(units == 7);  // 8; 4 4; 2 2; 1 1.
  for (const auto& [ticket, result] : lane.Results()) CHECK(result.ok() == (ticket != 5));
  CHECK(lane.Results().size() == 8);
}

TEST_CASE("halves leave before fresh mutations, and what waits on their pairs waits on") {
  Lane lane;
  lane.Push(Like(1, 1));
  lane.Push(Like(2, 1));
  lane.Fail(*lane.Next(), UnitFailure::kRejected);
  CHECK(lane.combiner.has_retries());
  lane.Push(Unlike(1, 1));
  lane.Push(Unlike(3, 1));
  CHECK(UsersOf(*lane.Next()) == std::vector<int64_t>{1});
  CHECK(UsersOf(*lane.Next()) == std::vector<int64_t>{2});
  CHECK_FALSE(lane.combiner.has_retries());
  CHECK(UsersOf(*lane.Next()) == std::vector<int64_t>{3});
}

TEST_CASE("a retryable failure is tried again until its budget is spent") {
  Lane lane({.retries_max = 2});
  lane.Push(Like(1, 1));
  for (int i = 0; i < 3; ++i) {
    CHECK(lane.Results().empty());
    const std::optional<WriteUnit> unit = lane.Next();
    REQUIRE(unit);
    lane.Fail(*unit, UnitFailure::kRetryable);
  }
  CHECK_FALSE(lane.Next());
  CHECK(lane.Results().at(0).status() == Broken());
}

TEST_CASE("a unit that was not sent is given out again without end") {
  Lane lane({.retries_max = 2});
  lane.Push(Like(1, 1));
  for (int i = 0; i < 20; ++i) lane.Fail(*lane.Next(), UnitFailure::kNotSent);
  lane.Complete(*lane.Next());
  CHECK(lane.Results().at(0).ok());
}

TEST_CASE("a mutation that expires between two tries is dropped as not applied") {
  Lane lane;
  lane.Push(Like(1, 1), Until(kNow + absl::Seconds(1)));
  lane.Push(Like(2, 1));
  lane.Fail(*lane.Next(), UnitFailure::kRetryable);
  CHECK(UsersOf(*lane.Next(100, kNow + absl::Seconds(2))) == std::vector<int64_t>{2});
  CHECK(IsNotApplied(lane.Results().at(0).status()));
  CHECK(lane.Push(Unlike(1, 1)));
  CHECK(UsersOf(*lane.Next()) == std::vector<int64_t>{1});  // Its pair is free again.
}

TEST_CASE("a final failure ends the unit's mutations with the error as it is") {
  Lane lane;
  lane.Push(Like(1, 1));
  lane.Push(Like(1, 1));
  lane.Fail(*lane.Next(), UnitFailure::kFinal);
  CHECK(lane.Results().at(0).status() == Broken());
  CHECK(lane.Results().at(1).status() == Broken());
  CHECK(lane.combiner.mutations() == 0);
}

TEST_CASE("DropUnwanted drops what has expired, wherever it waits") {
  Lane lane;
  const CallLimits brief = Until(kNow);
  lane.Push(Like(1, 1));
  lane.Push(Like(2, 1), brief);
  lane.Fail(*lane.Next(100, kNow - std::chrono::seconds(1)), UnitFailure::kNotSent);  // 0, 1.
  lane.Push(Unlike(1, 1), brief);                                                     // 2
  lane.Push(Like(3, 1), brief);                                                       // 3
  lane.Push(Unlike(3, 1));                                                            // 4
  lane.combiner.DropUnwanted(kNow, lane.ended);
  const auto results = lane.Results();
  CHECK(results.size() == 3);
  for (const int ticket : {1, 2, 3}) CHECK(results.count(ticket) == 1);
  CHECK(lane.combiner.waiting() == 2);
  CHECK(UsersOf(*lane.Next()) == std::vector<int64_t>{1});
  CHECK(UsersOf(*lane.Next()) == std::vector<int64_t>{3});
}

TEST_CASE("FailWaiting ends everything that waits and nothing that is in flight") {
  Lane lane;
  lane.Push(Like(1, 1));
  lane.Push(Like(2, 1));
  lane.Fail(*lane.Next(), UnitFailure::kRejected);
  const std::optional<WriteUnit> in_flight = lane.Next();
  lane.Push(Unlike(1, 1));
  lane.Push(Like(3, 1));
  lane.combiner.FailWaiting(Broken(), lane.ended);
  CHECK(lane.Results().size() == 3);
  CHECK(lane.combiner.waiting() == 0);
  CHECK(lane.combiner.mutations() == 1);
  CHECK_FALSE(lane.Next());
  lane.Complete(*in_flight);
  CHECK(lane.Results().at(0).ok());
  lane.Push(Like(2, 1));
  CHECK(lane.Next());
}

TEST_CASE("a refusal says when to come again, and that nothing was applied") {
  for (const absl::Status& refusal : {WriteCombiner::FullError(), WriteCombiner::SlowError()}) {
    CHECK(ReasonOf(refusal) == ErrorReason::kOverloaded);
    CHECK(IsNotApplied(refusal));
    CHECK(RetryAfterOf(refusal).has_value());
  }
}

}  // namespace
}  // namespace counter
