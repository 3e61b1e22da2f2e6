#include "storage/postgres/pipeline_ledger.h"

namespace counter::postgres {

using Step = PipelineLedger::Step;

PipelineLedger::UnitNumber PipelineLedger::Sent(int statements) {
  Unit unit;
  unit.number = next_number_++;
  unit.statements = statements;
  units_.push_back(unit);
  return unit.number;
}

Step PipelineLedger::Take(Got got) {
  Step step;
  step.kind = Step::Kind::kConfused;
  if (units_.empty()) return step;
  Unit& unit = units_.front();
  if (got == Got::kFatalError) server_ended_ = true;
  return unit.answered < unit.statements ? TakeInStatement(unit, got) : TakeAtSync(unit, got);
}

Step PipelineLedger::TakeInStatement(Unit& unit, Got got) {
  Step step;
  step.kind = Step::Kind::kConfused;
  step.unit = unit.number;
  step.statement = unit.answered;
  switch (got) {
    case Got::kRows:
      if (unit.failed || unit.answering) return step;
      step.kind = Step::Kind::kRows;
      unit.answering = true;
      return step;
    case Got::kError:
    case Got::kFatalError:
      // Rows may have come before the error, as when a result is streamed.
      if (unit.failed && got == Got::kError) return step;
      step.kind = unit.failed ? Step::Kind::kNothing : Step::Kind::kError;
      unit.answering = true;
      unit.failed = true;
      return step;
    case Got::kAborted:
      if (!unit.failed || unit.answering) return step;
      step.kind = Step::Kind::kNothing;
      unit.answering = true;
      return step;
    case Got::kEndOfStatement:
      if (!unit.answering) return step;
      step.kind = Step::Kind::kNothing;
      unit.answering = false;
      ++unit.answered;
      return step;
    case Got::kSync:
      return step;
  }
  return step;
}

Step PipelineLedger::TakeAtSync(Unit& unit, Got got) {
  Step step;
  step.kind = Step::Kind::kConfused;
  step.unit = unit.number;
  step.statement = unit.statements;
  switch (got) {
    case Got::kError:
      if (unit.failed) return step;
      step.kind = Step::Kind::kError;
      unit.failed = true;
      return step;
    case Got::kFatalError:
      step.kind = unit.failed ? Step::Kind::kNothing : Step::Kind::kError;
      unit.doubtful = !unit.failed;
      return step;
    case Got::kEndOfStatement:
      // The driver ends an error of the commit like one of a statement.
      if (!unit.failed && !unit.doubtful) return step;
      step.kind = Step::Kind::kNothing;
      return step;
    case Got::kSync:
      step.kind = Step::Kind::kUnitEnded;
      step.fate = unit.failed     ? UnitFate::kRolledBack
                  : unit.doubtful ? UnitFate::kUnknown
                                  : UnitFate::kCommitted;
      units_.pop_front();
      return step;
    case Got::kRows:
    case Got::kAborted:
      return step;
  }
  return step;
}

std::vector<PipelineLedger::Lost> PipelineLedger::LinkLost() {
  std::vector<Lost> lost;
  for (const Unit& unit : units_) {
    const bool first = &unit == &units_.front();
    UnitFate fate = UnitFate::kUnknown;
    if (unit.failed) {
      fate = UnitFate::kRolledBack;
    } else if (server_ended_ && !first) {
      fate = UnitFate::kNotRun;
    }
    lost.push_back({unit.number, fate});
  }
  units_.clear();
  server_ended_ = false;
  return lost;
}

}  // namespace counter::postgres
