#include "storage/postgres/sent_units.h"

#include <map>
#include <utility>

namespace counter::postgres {

void SentUnits::Add(int statements, size_t tables_dropped, UnitDone done) {
  Sent unit;
  unit.number = ledger_.Sent(statements);
  unit.tables_dropped = tables_dropped;
  unit.done = std::move(done);
  sent_.push_back(std::move(unit));
}

bool SentUnits::Take(PipelineLedger::Got got, Table table, ServerError error,
                     std::vector<Ended>& ended) {
  const PipelineLedger::Step step = ledger_.Take(got);
  using Kind = PipelineLedger::Step::Kind;
  switch (step.kind) {
    case Kind::kNothing:
      return true;
    case Kind::kRows: {
      Sent& unit = sent_.front();
      if (static_cast<size_t>(step.statement) >= unit.tables_dropped)
        unit.reply.tables.push_back(std::move(table));
      return true;
    }
    case Kind::kError:
      sent_.front().reply.error = std::move(error);
      return true;
    case Kind::kUnitEnded:
      End(step.fate, ended);
      return true;
    case Kind::kConfused:
      return false;
  }
  return false;
}

void SentUnits::End(UnitFate fate, std::vector<Ended>& ended) {
  Sent unit = std::move(sent_.front());
  sent_.pop_front();
  unit.reply.fate = fate;
  if (fate == UnitFate::kCommitted && unit.doubtful) {
    unit.reply.fate = UnitFate::kUnknown;
    unit.reply.error.message = "the standby did not confirm the commit";
  }
  ended.push_back({std::move(unit.done), std::move(unit.reply)});
}

void SentUnits::Unconfirmed() {
  if (!sent_.empty()) sent_.front().doubtful = true;
}

std::vector<SentUnits::Ended> SentUnits::LinkLost(const ServerError& error) {
  std::map<PipelineLedger::UnitNumber, UnitFate> fates;
  for (const PipelineLedger::Lost& lost : ledger_.LinkLost()) fates[lost.unit] = lost.fate;
  std::vector<Ended> ended;
  for (Sent& unit : std::exchange(sent_, {})) {
    unit.reply.fate = fates[unit.number];
    unit.reply.tables.clear();
    if (unit.reply.error.message.empty()) unit.reply.error = error;
    ended.push_back({std::move(unit.done), std::move(unit.reply)});
  }
  return ended;
}

}  // namespace counter::postgres
