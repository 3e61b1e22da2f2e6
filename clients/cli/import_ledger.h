// ImportLedger: what has become of an import, batch by batch, and where to go on after a crash.
//
// Batches end in any order. The ledger takes them up in the order of the file: only when all before
// it have ended does a batch count, are its refused lines written to the errors file, and does the
// progress file move past it. So after a crash of the tool everything before the recorded place has
// been applied; what lies after it is applied again, which changes nothing.
//
// Threads: one at a time; the caller locks. Ownership: owns both files.
#ifndef COUNTER_CLIENTS_CLI_IMPORT_LEDGER_H_
#define COUNTER_CLIENTS_CLI_IMPORT_LEDGER_H_

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace counter::cli {

struct ImportTotals {
  int64_t lines = 0;      // Read, header and empty ones included.
  int64_t changed = 0;    // Likes and unlikes that changed something.
  int64_t unchanged = 0;  // That were so already.
  int64_t refused = 0;    // Lines in the errors file.
};

struct ImportBatchEnd {
  int64_t end_offset = 0;           // Bytes of the input up to the end of the batch.
  ImportTotals totals;              // Of this batch.
  std::vector<std::string> errors;  // Lines for the errors file.
};

class ImportLedger {
 public:
  // Empty progress_path: nothing is recorded (standard input).
  ImportLedger(std::string progress_path, std::string errors_path, int64_t input_bytes);

  // Takes up what an earlier run recorded. The fault, or empty if there is none: a record of
  // another input is one.
  std::string Resume();

  // Batch `number` has ended; numbers count from 0. The fault, or empty.
  std::string End(int64_t number, ImportBatchEnd end);
  // Writes the progress file anew. The fault, or empty.
  std::string Record();
  // All has been imported: there is nothing to resume.
  void Finish();

  int64_t offset() const { return offset_; }
  const ImportTotals& totals() const { return totals_; }

 private:
  const std::string progress_path_;
  const std::string errors_path_;
  const int64_t input_bytes_;
  int64_t next_ = 0;    // The first batch that does not count yet.
  int64_t offset_ = 0;  // Of the input.
  int64_t errors_bytes_ = 0;
  ImportTotals totals_;
  std::map<int64_t, ImportBatchEnd> early_;  // Ended before one that is in front of them.
  std::ofstream errors_;
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_IMPORT_LEDGER_H_
