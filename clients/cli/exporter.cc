#include "clients/cli/exporter.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/own_error.h"
#include "clients/cli/patience.h"

namespace counter::cli {
namespace {

using client::Error;
using client::ErrorKind;

constexpr absl::Duration kCallDeadline = absl::Seconds(10);
constexpr char kCsvHeader[] = "user_id,item_type,item_id\n";

}  // namespace

std::optional<Error> Exporter::Run(const Progress& progress) {
  if (std::optional<Error> failed = Skip()) return failed;
  if (ledger_.output_bytes() == 0 && options_.format == ImportFormat::kCsv)
    ledger_.Write(kCsvHeader, 0, "");
  std::optional<Error> failed;
  for (std::string line; !failed.has_value() && std::getline(users_, line);) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    int64_t user = 0;
    if (text.empty()) {
      ledger_.EndLine(line, /*user=*/false);
    } else if (!absl::SimpleAtoi(text, &user)) {
      ledger_.Refuse(line, "expected a user's id");
      ledger_.EndLine(line, /*user=*/false);
    } else {
      failed = Export(user, line, progress);
    }
    if (!failed.has_value()) failed = RecordNowAndThen();
  }
  const std::string fault = ledger_.Record();
  if (!failed.has_value() && !fault.empty()) failed = OwnError(fault);
  if (!failed.has_value()) ledger_.Finish();
  return failed;
}

std::optional<Error> Exporter::Skip() {
  uint64_t checksum = ExportLedger::kChecksumOfNone;
  std::string line;
  int64_t lines = 0;
  for (; lines < ledger_.lines_done() && std::getline(users_, line); ++lines)
    checksum = ExportLedger::Checksum(checksum, line);
  if (lines == ledger_.lines_done() && checksum == ledger_.lines_checksum()) return std::nullopt;
  return OwnError("the record of progress is of another list of users");
}

std::optional<Error> Exporter::Export(int64_t user, const std::string& line,
                                      const Progress& progress) {
  std::string token = ledger_.page_token();
  do {
    const client::Result<client::LikesReply> page = GetPage(user, token);
    if (!page.ok() && page.error().kind == ErrorKind::kInvalidArgument) {
      ledger_.Refuse(line, page.error().message);
      ledger_.EndLine(line, /*user=*/false);
      return std::nullopt;
    }
    if (!page.ok()) return page.error();
    token = page->next_page_token;
    ledger_.Write(Lines(user, page->likes), static_cast<int64_t>(page->likes.size()), token);
    progress(ledger_.totals());
    if (token.empty()) break;  // A record from here to the end of the line would begin it again.
    if (std::optional<Error> failed = RecordNowAndThen()) return failed;
  } while (true);
  ledger_.EndLine(line, /*user=*/true);
  return std::nullopt;
}

client::Result<client::LikesReply> Exporter::GetPage(int64_t user, const std::string& token) const {
  Pauses pauses(options_.patience);
  while (true) {
    client::Result<client::LikesReply> page = client_.ListLikes(
        user, {.size = options_.page_likes_max, .token = token, .item_types = options_.item_types},
        {.deadline = kCallDeadline});
    if (page.ok() || !MayPass(page.error().kind) || !pauses.Wait(page.error())) return page;
  }
}

std::string Exporter::Lines(int64_t user, const std::vector<client::LikedItem>& likes) const {
  std::string lines;
  for (const client::LikedItem& like : likes) {
    if (options_.format == ImportFormat::kCsv) {
      absl::StrAppend(&lines, user, ",", like.item.type, ",", like.item.id, "\n");
      continue;
    }
    // Types are of [a-z0-9_], so nothing is to be escaped.
    absl::StrAppend(&lines, "{\"user_id\":", user, ",\"item_type\":\"", like.item.type,
                    "\",\"item_id\":", like.item.id, ",\"liked_at\":\"",
                    absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", like.liked_at, absl::UTCTimeZone()),
                    "\"}\n");
  }
  return lines;
}

std::optional<Error> Exporter::RecordNowAndThen() {
  if (absl::Now() - recorded_ < options_.record_every) return std::nullopt;
  recorded_ = absl::Now();
  const std::string fault = ledger_.Record();
  if (fault.empty()) return std::nullopt;
  return OwnError(fault);
}

}  // namespace counter::cli
