#include "cache/redis/count_value.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace counter::redis {
namespace {

// Exactly as we write numbers: else a comparison of strings would not be one of numbers.
template <class Number>
bool ParseNumber(absl::string_view text, Number& number) {
  if (text.empty() || (text[0] == '0' && text.size() > 1)) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::all_of(text.begin(), text.end(), is_digit) && absl::SimpleAtoi(text, &number);
}

// What stands before the next @, and `text` what stands behind it; nothing if there is none.
absl::string_view UpToAt(absl::string_view& text) {
  const size_t at = text.find('@');
  if (at == absl::string_view::npos) return {};
  const absl::string_view part = text.substr(0, at);
  text.remove_prefix(at + 1);
  return part;
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
  if (is_lease) {
    cell.kind = CountCell::Kind::kLease;
    const absl::string_view token = UpToAt(text);
    if (!ParseNumber(token, cell.token) || !ParseNumber(text, cell.version) || cell.token == 0)
      return std::nullopt;
    return cell;
  }
  int64_t read_at = 0;
  cell.kind = CountCell::Kind::kValue;
  const absl::string_view count = UpToAt(text);
  const absl::string_view version = UpToAt(text);
  if (!ParseNumber(count, cell.count) || !ParseNumber(version, cell.version) ||
      !ParseNumber(text, read_at)) {
    return std::nullopt;
  }
  cell.read_at = absl::FromUnixMicros(read_at);
  return cell;
}

}  // namespace counter::redis
