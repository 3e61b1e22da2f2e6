// ExportLedger: what an export has written, and where to go on after a crash.
//
// Lines go to a file or, without one, to a stream; then nothing is recorded. The record, beside the
// file, says how many bytes of it are good, how many lines of the list of users are done and which
// page of the next one follows. What lies behind the record is cut off and got again.
//
// Threads: one. Ownership: owns its files, borrows the stream.
#ifndef COUNTER_CLIENTS_CLI_EXPORT_LEDGER_H_
#define COUNTER_CLIENTS_CLI_EXPORT_LEDGER_H_

#include <cstdint>
#include <fstream>
#include <ostream>
#include <string>

namespace counter::cli {

struct ExportTotals {
  int64_t users = 0;    // Whose likes have all been written.
  int64_t likes = 0;    // Lines written.
  int64_t refused = 0;  // Lines in the errors file.
};

class ExportLedger {
 public:
  // Empty output_path: lines go to `out`.
  ExportLedger(std::string output_path, std::string errors_path, std::ostream& out);

  // Takes up what an earlier run recorded, and opens the file. The fault, or empty.
  std::string Open();

  // A page of the likes of the user whose line is next; `token` is that of the page behind it.
  void Write(const std::string& text, int64_t likes, const std::string& token);
  // The user's line is done.
  void EndLine(const std::string& line, bool user);
  void Refuse(const std::string& line, const std::string& fault);

  // Writes the record anew. The fault, or empty; also of what could not be written before.
  std::string Record();
  // All has been exported: there is nothing to resume.
  void Finish();

  // Of the list of users: lines that are done, and a checksum of them.
  int64_t lines_done() const { return lines_done_; }
  uint64_t lines_checksum() const { return lines_checksum_; }
  static uint64_t Checksum(uint64_t before, const std::string& line);
  static constexpr uint64_t kChecksumOfNone = 0xcbf29ce484222325;

  // Where the user behind them goes on; empty: at the first page.
  const std::string& page_token() const { return page_token_; }
  int64_t output_bytes() const { return output_bytes_; }
  const ExportTotals& totals() const { return totals_; }

 private:
  std::string progress_path() const { return output_path_ + ".progress"; }
  std::ostream& output() { return output_path_.empty() ? out_ : file_; }

  const std::string output_path_;
  const std::string errors_path_;
  std::ostream& out_;
  std::ofstream file_;
  std::ofstream errors_;
  int64_t output_bytes_ = 0;
  int64_t errors_bytes_ = 0;
  int64_t lines_done_ = 0;
  uint64_t lines_checksum_ = kChecksumOfNone;
  std::string page_token_;
  ExportTotals totals_;
};

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_EXPORT_LEDGER_H_
