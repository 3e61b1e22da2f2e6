#include "clients/cli/export_command.h"

#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/exit_status.h"

namespace counter::cli {
namespace {

constexpr absl::Duration kShowEvery = absl::Milliseconds(200);

int Complain(const std::string& message, std::ostream& err) {
  err << "counterctl: " << message << '\n';
  return kExitUsage;
}

bool IsJson(const ExportSettings& settings) {
  if (!settings.format.empty()) return settings.format == "json";
  return absl::EndsWith(settings.to, ".json") || absl::EndsWith(settings.to, ".jsonl");
}

// One line that is written over and over: how far, how fast.
class ProgressLine {
 public:
  ProgressLine(int64_t likes_before, std::ostream& err) : likes_before_(likes_before), err_(err) {}

  void Show(const ExportTotals& totals) {
    const absl::Time now = absl::Now();
    if (now - shown_ < kShowEvery) return;
    shown_ = now;
    const double rate = static_cast<double>(totals.likes - likes_before_) /
                        absl::ToDoubleSeconds(now - start_ + absl::Milliseconds(1));
    err_ << absl::StrFormat("\r%d users, %d likes, %.0f/s\x1b[K", totals.users, totals.likes, rate)
         << std::flush;
  }
  void End() const { err_ << "\r\x1b[K" << std::flush; }

 private:
  const absl::Time start_ = absl::Now();
  const int64_t likes_before_;
  absl::Time shown_ = absl::InfinitePast();
  std::ostream& err_;
};

}  // namespace

int RunExport(const client::Client& client, const ExportSettings& settings, Format format,
              bool terminal, std::ostream& out, std::ostream& err) {
  std::ifstream file;
  std::istringstream named;
  const bool from_stdin = settings.users_file == "-";
  if (settings.users_file.empty()) {
    std::string lines;
    for (const int64_t user : settings.users) absl::StrAppend(&lines, user, "\n");
    named.str(lines);
  } else if (!from_stdin) {
    file.open(settings.users_file);
    if (!file) return Complain(absl::StrCat("cannot read ", settings.users_file), err);
  }
  std::istream& users = settings.users_file.empty() ? static_cast<std::istream&>(named)
                        : from_stdin                ? std::cin
                                                    : static_cast<std::istream&>(file);

  Exporter::Options options = settings.options;
  options.format = IsJson(settings) ? ImportFormat::kJson : ImportFormat::kCsv;
  const std::string errors =
      !settings.errors.empty()
          ? settings.errors
          : absl::StrCat(settings.to.empty() ? "export" : settings.to, ".errors");
  ExportLedger ledger(settings.to, errors, out);
  const std::string fault = ledger.Open();
  if (!fault.empty()) return Complain(fault, err);
  if (ledger.output_bytes() > 0)
    err << "counterctl: going on behind " << ledger.totals().likes << " likes\n";

  ProgressLine line(ledger.totals().likes, err);
  const std::optional<client::Error> failed =
      Exporter(client, users, ledger, options).Run([&](const ExportTotals& totals) {
        if (terminal) line.Show(totals);
      });
  if (terminal) line.End();
  const ExportTotals& totals = ledger.totals();
  if (!settings.to.empty())
    PrintRow({{"users", totals.users}, {"likes", totals.likes}, {"refused", totals.refused}},
             format, out);
  if (failed.has_value()) {
    err << "counterctl: " << failed->ToString()
        << (settings.to.empty() ? "" : "; run the same command again to go on") << '\n';
    return kExitUsage + failed->grpc_code;
  }
  if (totals.refused == 0) return 0;
  err << "counterctl: " << totals.refused << " users were refused; they are in " << errors << '\n';
  return kExitUsage + kGrpcInvalidArgument;
}

}  // namespace counter::cli
