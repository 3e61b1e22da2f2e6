// SentUnits: the units that were sent on one connection and are not over, with who waits for them
// and what has come of them so far.
//
// Use it in the connection. Which unit an answer belongs to says the ledger in it. It is pure: no
// driver, no socket, and it calls nobody: whoever is to be told is handed out.
//
// Threads: one at a time.
#ifndef COUNTER_STORAGE_POSTGRES_SENT_UNITS_H_
#define COUNTER_STORAGE_POSTGRES_SENT_UNITS_H_

#include <cstddef>
#include <deque>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "storage/postgres/pipeline_ledger.h"
#include "storage/postgres/sqlstate.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

// What became of a unit. tables[i] is of its i-th statement if it was committed.
struct UnitReply {
  UnitFate fate = UnitFate::kUnknown;
  std::vector<Table> tables;
  ServerError error;  // Why it was not committed, or not known to be.
};
using UnitDone = absl::AnyInvocable<void(UnitReply)>;

class SentUnits {
 public:
  struct Ended {
    UnitDone done;
    UnitReply reply;
  };

  // A unit was sent. Its first `tables_dropped` tables are not for who waits. Requires
  // statements >= 1.
  void Add(int statements, size_t tables_dropped, UnitDone done);

  // Whether any answer is due.
  bool expecting() const { return ledger_.expecting(); }

  // The table is of kRows, the error of kError and kFatalError. Adds the unit that is over, if one
  // is. False: this answer cannot come here, close the connection.
  bool Take(PipelineLedger::Got got, Table table, ServerError error, std::vector<Ended>& ended);

  // The standby did not confirm the commit whose answer comes next: its end is not known.
  void Unconfirmed();

  // The link is gone, with `error`: all units are over, oldest first.
  std::vector<Ended> LinkLost(const ServerError& error);

 private:
  // In the ledger's order.
  struct Sent {
    PipelineLedger::UnitNumber number = 0;
    size_t tables_dropped = 0;
    UnitReply reply;
    bool doubtful = false;
    UnitDone done;
  };

  void End(UnitFate fate, std::vector<Ended>& ended);

  PipelineLedger ledger_;
  std::deque<Sent> sent_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_SENT_UNITS_H_
