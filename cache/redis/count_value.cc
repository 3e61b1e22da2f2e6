#include "cache/redis/count_value.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace counter::redis {
namespace {

// Exactly as we write numbers: else a comparison of strings would not be one of numbers.
template <class Number>
bool ParseNumber(absl::string_view text, Number& number) {
  if (text.empty() || (text[0] == '0' && text.size() > 1)) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::all_of(text.begin(), text.end(), is_digit) && absl::SimpleAtoi(text, &number);
}

}  // namespace

int64_t ToStoredMicros(absl::Time time) {
  return std::max<int64_t>(absl::ToUnixMicros(time), 0);  // ToUnixMicros rounds down.
}

std::string FormatCell(const CountCell& cell) {
  if (cell.kind == CountCell::Kind::kLease) return absl::StrCat("!", cell.token, "@", cell.version);
  return absl::StrCat(cell.count, "@", cell.version, "@", ToStoredMicros(cell.read_at));
}

std::optional<CountCell> ParseCell(absl::string_view text) {
  constexpr size_t kLongest = 64;  // Three numbers of 20 digits and what is between them.
  if (text.size() > kLongest) return std::nullopt;
  CountCell cell;
  const bool is_lease = absl::StartsWith(text, "!");
  if (is_lease) text.remove_prefix(1);
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '@');
  if (is_lease) {
    cell.kind = CountCell::Kind::kLease;
    if (parts.size() != 2 || !ParseNumber(parts[0], cell.token) ||
        !ParseNumber(parts[1], cell.version) || cell.token == 0) {
      return std::nullopt;
    }
    return cell;
  }
  int64_t read_at = 0;
  cell.kind = CountCell::Kind::kValue;
  if (parts.size() != 3 || !ParseNumber(parts[0], cell.count) ||
      !ParseNumber(parts[1], cell.version) || !ParseNumber(parts[2], read_at)) {
    return std::nullopt;
  }
  cell.read_at = absl::FromUnixMicros(read_at);
  return cell;
}

}  // namespace counter::redis
