// PipelineLedger: which request does the next result of the connection belong to?
//
// Use one for each connection in pipeline mode. Tell it what is given to the driver (Sent) and what
// the driver answers (Take); it says what the answer means. It is pure: no driver, no socket, no
// clock. It keeps no rows; the connection does.
//
// A unit is what stands between two syncs: some statements and the sync behind them. The server
// runs a unit in one transaction of its own and commits when it comes to the sync. So:
// - The unit is committed when its sync is answered and no error came before; not when its last
//   statement is answered.
// - An error in a statement rolls the unit back; its later statements are answered "aborted". The
//   next unit is not touched.
// - An error after the last statement, before the sync is answered, is one of the commit. Plain:
// the
//   unit was rolled back. Fatal: the server was told to end between the commit and its answer, or
//   before; nobody knows.
// - A fatal error ends the server's side: units behind the one that it hit were never begun.
// - Whatever was sent is answered or lost with the link; nothing is ever taken out of the middle. A
//   unit that nobody waits for any more is still here until its sync came.
//
// Threads: one at a time.
#ifndef COUNTER_STORAGE_POSTGRES_PIPELINE_LEDGER_H_
#define COUNTER_STORAGE_POSTGRES_PIPELINE_LEDGER_H_

#include <cstdint>
#include <deque>
#include <vector>

namespace counter::postgres {

// What became of a unit.
enum class UnitFate {
  kCommitted,
  kRolledBack,  // Certain: an error came for it before it could be committed.
  kNotRun,      // Certain: the server never came to it.
  kUnknown,     // The link was lost before its sync was answered.
};

class PipelineLedger {
 public:
  using UnitNumber = uint64_t;

  // What the driver gave.
  enum class Got {
    kRows,            // A statement's result, with rows or without.
    kError,           // An error of the server that leaves the connection alive.
    kFatalError,      // One that ends it.
    kAborted,         // The statement was skipped after an error in its unit.
    kEndOfStatement,  // No more results of this statement.
    kSync,            // The server has come to a sync.
  };

  struct Step {
    enum class Kind {
      kNothing,  // Bookkeeping only.
      kRows,     // Keep the rows: they are of `statement` of `unit`.
      kError,    // Keep the error: it is why `unit` will not be committed (or, fatal, may not be).
      kUnitEnded,  // `unit` is over, with `fate`; it is no longer in the ledger.
      kConfused,   // This cannot come here: close the connection.
    };
    Kind kind = Kind::kNothing;
    UnitNumber unit = 0;
    int statement = 0;
    UnitFate fate = UnitFate::kUnknown;
  };

  // The statements and a sync were given to the driver, in this order. Requires statements >= 1;
  // returns the unit's number; numbers rise.
  UnitNumber Sent(int statements);

  // Whether any answer is due. If not, the driver must not be asked for one.
  bool expecting() const { return !units_.empty(); }
  int units() const { return static_cast<int>(units_.size()); }

  Step Take(Got got);

  struct Lost {
    UnitNumber unit = 0;
    UnitFate fate = UnitFate::kUnknown;
  };
  // The link is gone: what became of the units that were not over, oldest first. Empties the
  // ledger.
  std::vector<Lost> LinkLost();

 private:
  struct Unit {
    UnitNumber number = 0;
    int statements = 0;
    int answered = 0;        // Statements whose end has come.
    bool answering = false;  // A result of statement `answered` has come, its end has not.
    bool failed = false;     // Certainly rolled back.
    bool doubtful = false;   // A fatal error came when only the commit was left.
  };

  Step TakeInStatement(Unit& unit, Got got);
  Step TakeAtSync(Unit& unit, Got got);

  UnitNumber next_number_ = 1;
  bool server_ended_ = false;  // A fatal error has come.
  std::deque<Unit> units_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_PIPELINE_LEDGER_H_
