#include "server/callers/caller_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace counter {

std::vector<CallerLine> SplitCallerLines(absl::string_view text) {
  std::vector<CallerLine> lines;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    CallerLine split = {number, {}};
    for (const absl::string_view word :
         absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      if (word.front() == '#') break;
      split.words.emplace_back(word);
    }
    if (!split.words.empty()) lines.push_back(std::move(split));
  }
  return lines;
}

bool IsCallerName(absl::string_view name) {
  constexpr size_t kBytesMax = 64;
  const auto is_allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kBytesMax &&
         absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

std::string ShowWord(absl::string_view word) {
  constexpr size_t kShownBytesMax = 100;
  return absl::StrCat("\"", absl::CHexEscape(word.substr(0, kShownBytesMax)), "\"");
}

void CallerFaults::Add(int line, absl::string_view what) {
  faults_.push_back(absl::StrCat(file_, " line ", line, ": ", what));
}

absl::Status CallerFaults::Verdict() const {
  constexpr size_t kShownMax = 20;
  if (faults_.empty()) return absl::OkStatus();
  const size_t shown = std::min(faults_.size(), kShownMax);
  std::string message = absl::StrJoin(faults_.begin(), faults_.begin() + shown, "; ");
  if (shown < faults_.size()) absl::StrAppend(&message, "; and ", faults_.size() - shown, " more");
  return absl::InvalidArgumentError(message);
}

}  // namespace counter
