#include "clients/cli/import_command.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/exit_status.h"

namespace counter::cli {
namespace {

// One line that is written over and over: how far, how fast, how long still.
class ProgressLine {
 public:
  ProgressLine(int64_t bytes_before, int64_t bytes_all, const ImportTotals& before,
               std::ostream& err)
      : bytes_before_(bytes_before),
        bytes_all_(bytes_all),
        lines_before_(before.lines),
        err_(err) {}

  void Show(int64_t bytes, const ImportTotals& totals) const {
    const double seconds = absl::ToDoubleSeconds(absl::Now() - start_);
    if (seconds <= 0) return;
    const double rate = static_cast<double>(totals.lines - lines_before_) / seconds;
    std::string text = absl::StrFormat("%d lines, %.0f/s", totals.lines, rate);
    const double done = static_cast<double>(bytes - bytes_before_);
    if (bytes_all_ > 0 && done > 0) {
      const double left = static_cast<double>(bytes_all_ - bytes) * seconds / done;
      absl::StrAppendFormat(&text, ", %d %%, %.0f s left", 100 * bytes / bytes_all_, left);
    }
    if (totals.refused > 0) absl::StrAppendFormat(&text, ", %d refused", totals.refused);
    err_ << '\r' << text << "\x1b[K" << std::flush;
  }
  void End() const { err_ << '\n'; }

 private:
  const absl::Time start_ = absl::Now();
  const int64_t bytes_before_;
  const int64_t bytes_all_;
  const int64_t lines_before_;
  std::ostream& err_;
};

int Complain(const std::string& message, std::ostream& err) {
  err << "counterctl: " << message << '\n';
  return kExitUsage;
}

}  // namespace

int RunImport(Importer::Write write, const ImportSettings& settings, Format format, bool terminal,
              std::ostream& out, std::ostream& err) {
  const bool from_stdin = settings.file == "-";
  std::ifstream file;
  int64_t bytes = 0;
  if (!from_stdin) {
    std::error_code error;
    bytes = static_cast<int64_t>(std::filesystem::file_size(settings.file, error));
    file.open(settings.file, std::ios::binary);
    if (error || !file) return Complain(absl::StrCat("cannot read ", settings.file), err);
  }
  Importer::Options options = settings.options;
  const bool json = settings.format.empty() ? absl::EndsWith(settings.file, ".json") ||
                                                  absl::EndsWith(settings.file, ".jsonl")
                                            : settings.format == "json";
  options.format = json ? ImportFormat::kJson : ImportFormat::kCsv;
  const std::string name = from_stdin ? "stdin" : settings.file;
  const std::string errors = settings.errors.empty() ? name + ".errors" : settings.errors;
  ImportLedger ledger(from_stdin ? "" : name + ".progress", errors, bytes);
  const std::string fault = ledger.Resume();
  if (!fault.empty()) return Complain(fault, err);
  if (ledger.offset() > 0) {
    file.seekg(ledger.offset());
    err << "counterctl: going on behind line " << ledger.totals().lines << '\n';
  }

  const ProgressLine line(ledger.offset(), bytes, ledger.totals(), err);
  Importer importer(std::move(write), from_stdin ? std::cin : file, ledger, options);
  const std::optional<client::Error> failed =
      importer.Run([&](int64_t offset, const ImportTotals& totals) {
        if (terminal) line.Show(offset, totals);
      });
  if (terminal) line.End();
  const ImportTotals& totals = ledger.totals();
  PrintRow({{"lines", totals.lines},
            {"changed", totals.changed},
            {"unchanged", totals.unchanged},
            {"refused", totals.refused}},
           format, out);
  if (failed.has_value()) {
    err << "counterctl: " << failed->ToString() << "; run the same command again to go on\n";
    return kExitUsage + failed->grpc_code;
  }
  if (totals.refused == 0) return 0;
  err << "counterctl: " << totals.refused << " lines were refused; they are in " << errors << '\n';
  return kExitUsage + kGrpcInvalidArgument;
}

}  // namespace counter::cli
