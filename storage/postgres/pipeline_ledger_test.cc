#include "storage/postgres/pipeline_ledger.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

namespace counter::postgres {
namespace {

using Got = PipelineLedger::Got;
using Kind = PipelineLedger::Step::Kind;
using Fates = std::map<PipelineLedger::UnitNumber, UnitFate>;

// What a server says in answer to three units of 2, 1 and 2 statements.
using Dialogue = std::vector<Got>;
const Dialogue kAllWell = {Got::kRows, Got::kEndOfStatement, Got::kRows, Got::kEndOfStatement,
                           Got::kSync,                                    //
                           Got::kRows, Got::kEndOfStatement, Got::kSync,  //
                           Got::kRows, Got::kEndOfStatement, Got::kRows, Got::kEndOfStatement,
                           Got::kSync};
const Dialogue kFirstStatementFails = {
    Got::kError, Got::kEndOfStatement, Got::kAborted, Got::kEndOfStatement, Got::kSync,  //
    Got::kRows,  Got::kEndOfStatement, Got::kSync,                                       //
    Got::kRows,  Got::kEndOfStatement, Got::kRows,    Got::kEndOfStatement, Got::kSync};
const Dialogue kCommitOfSecondFails = {
    Got::kRows, Got::kEndOfStatement, Got::kRows,  Got::kEndOfStatement, Got::kSync,  //
    Got::kRows, Got::kEndOfStatement, Got::kError, Got::kEndOfStatement, Got::kSync,  //
    Got::kRows, Got::kEndOfStatement, Got::kRows,  Got::kEndOfStatement, Got::kSync};

PipelineLedger ThreeUnits() {
  PipelineLedger ledger;
  REQUIRE(ledger.Sent(2) == 1);
  REQUIRE(ledger.Sent(1) == 2);
  REQUIRE(ledger.Sent(2) == 3);
  return ledger;
}

// Plays the first `steps` steps of the dialogue; returns the units that ended.
Fates Play(PipelineLedger& ledger, const Dialogue& dialogue, size_t steps) {
  Fates fates;
  for (size_t i = 0; i < steps; ++i) {
    const PipelineLedger::Step step = ledger.Take(dialogue[i]);
    REQUIRE(step.kind != Kind::kConfused);
    if (step.kind == Kind::kUnitEnded) fates[step.unit] = step.fate;
  }
  return fates;
}

TEST_CASE("each result is given to its statement, and a unit is committed at its sync") {
  PipelineLedger ledger = ThreeUnits();
  std::vector<std::pair<PipelineLedger::UnitNumber, int>> rows;
  Fates fates;
  for (const Got got : kAllWell) {
    REQUIRE(ledger.expecting());
    const PipelineLedger::Step step = ledger.Take(got);
    if (step.kind == Kind::kRows) rows.emplace_back(step.unit, step.statement);
    if (step.kind == Kind::kUnitEnded) fates[step.unit] = step.fate;
  }
  CHECK(rows == std::vector<std::pair<PipelineLedger::UnitNumber, int>>{
                    {1, 0}, {1, 1}, {2, 0}, {3, 0}, {3, 1}});
  CHECK(fates ==
        Fates{{1, UnitFate::kCommitted}, {2, UnitFate::kCommitted}, {3, UnitFate::kCommitted}});
  CHECK_FALSE(ledger.expecting());
}

TEST_CASE("an error rolls its own unit back and no other") {
  PipelineLedger ledger = ThreeUnits();
  CHECK(Play(ledger, kFirstStatementFails, kFirstStatementFails.size()) ==
        Fates{{1, UnitFate::kRolledBack}, {2, UnitFate::kCommitted}, {3, UnitFate::kCommitted}});
}

TEST_CASE("an error of the commit comes after the last statement and rolls the unit back") {
  PipelineLedger ledger = ThreeUnits();
  CHECK(Play(ledger, kCommitOfSecondFails, kCommitOfSecondFails.size()) ==
        Fates{{1, UnitFate::kCommitted}, {2, UnitFate::kRolledBack}, {3, UnitFate::kCommitted}});
}

TEST_CASE("a link lost at any step leaves exactly the unanswered units, none believed committed") {
  for (const Dialogue* dialogue : {&kAllWell, &kFirstStatementFails, &kCommitOfSecondFails}) {
    for (size_t steps = 0; steps <= dialogue->size(); ++steps) {
      INFO("steps: " << steps);
      PipelineLedger ledger = ThreeUnits();
      const Fates ended = Play(ledger, *dialogue, steps);
      bool error_pending = false;
      for (size_t i = 0; i < steps; ++i) {
        if ((*dialogue)[i] == Got::kError) error_pending = true;
        if ((*dialogue)[i] == Got::kSync) error_pending = false;
      }
      const std::vector<PipelineLedger::Lost> lost = ledger.LinkLost();
      REQUIRE(ended.size() + lost.size() == 3);
      for (size_t i = 0; i < lost.size(); ++i) {
        CHECK(lost[i].unit == ended.size() + 1 + i);
        CHECK(lost[i].fate ==
              (i == 0 && error_pending ? UnitFate::kRolledBack : UnitFate::kUnknown));
      }
      CHECK_FALSE(ledger.expecting());
      CHECK(ledger.LinkLost().empty());
    }
  }
}

TEST_CASE("a fatal error in a statement: its unit is rolled back, those behind it never ran") {
  PipelineLedger ledger = ThreeUnits();
  Play(ledger, kAllWell, 1);
  CHECK(ledger.Take(Got::kEndOfStatement).kind == Kind::kNothing);
  CHECK(ledger.Take(Got::kFatalError).kind == Kind::kError);
  const auto lost = ledger.LinkLost();
  REQUIRE(lost.size() == 3);
  CHECK(lost[0].fate == UnitFate::kRolledBack);
  CHECK(lost[1].fate == UnitFate::kNotRun);
  CHECK(lost[2].fate == UnitFate::kNotRun);
}

TEST_CASE("a fatal error between the last statement and the sync leaves the unit unknown") {
  PipelineLedger ledger = ThreeUnits();
  Play(ledger, kAllWell, 4);
  CHECK(ledger.Take(Got::kFatalError).kind == Kind::kError);
  const auto lost = ledger.LinkLost();
  REQUIRE(lost.size() == 3);
  CHECK(lost[0].fate == UnitFate::kUnknown);
  CHECK(lost[1].fate == UnitFate::kNotRun);
}

// Plays `steps` steps and then `wrong`.
Kind PlayWrong(const Dialogue& dialogue, size_t steps, Got wrong) {
  PipelineLedger ledger = ThreeUnits();
  Play(ledger, dialogue, steps);
  return ledger.Take(wrong).kind;
}

TEST_CASE("what cannot come at a step is called confused, and never a commit") {
  for (size_t steps = 0; steps < kAllWell.size(); ++steps) {
    for (const Got wrong : {Got::kRows, Got::kAborted, Got::kEndOfStatement, Got::kSync}) {
      if (wrong == kAllWell[steps]) continue;
      INFO("steps: " << steps << " wrong: " << static_cast<int>(wrong));
      CHECK(PlayWrong(kAllWell, steps, wrong) == Kind::kConfused);
    }
  }
  // After an error nothing of its unit may answer, and no statement may be passed over.
  for (const size_t steps : {1U, 2U, 3U}) {
    INFO("steps: " << steps);
    CHECK(PlayWrong(kFirstStatementFails, steps, Got::kRows) == Kind::kConfused);
    CHECK(PlayWrong(kFirstStatementFails, steps, Got::kSync) == Kind::kConfused);
  }
}

TEST_CASE("an answer that nobody asked for is confused") {
  PipelineLedger ledger;
  for (const Got got : {Got::kRows, Got::kError, Got::kFatalError, Got::kAborted,
                        Got::kEndOfStatement, Got::kSync}) {
    CHECK(ledger.Take(got).kind == Kind::kConfused);
  }
}

}  // namespace
}  // namespace counter::postgres
