#include "clients/cli/output.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace counter::cli {
namespace {

// Columns that only programs want: too wide for a table, of no use to the eye.
bool IsForProgramsOnly(const std::string& name) { return name == "consistency_token"; }

std::string Text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) return absl::StrCat(*number);
  return std::get<bool>(cell) ? "yes" : "no";
}

// The words of the header (no row) or of one line.
std::vector<std::string> Words(const Row& row, bool header) {
  std::vector<std::string> words;
  for (const auto& [name, cell] : row) {
    if (!IsForProgramsOnly(name))
      words.push_back(header ? absl::AsciiStrToUpper(name) : Text(cell));
  }
  return words;
}

void PrintTable(const std::vector<Row>& rows, std::ostream& out) {
  if (rows.empty()) return;
  std::vector<std::vector<std::string>> lines = {Words(rows.front(), /*header=*/true)};
  for (const Row& row : rows) lines.push_back(Words(row, /*header=*/false));
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  constexpr size_t kGap = 2;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      out << line[i];
      if (i + 1 < line.size()) out << std::string(widths[i] + kGap - line[i].size(), ' ');
    }
    out << '\n';
  }
}

}  // namespace

boost::json::object ToJson(const Row& row) {
  boost::json::object object;
  for (const auto& [name, cell] : row)
    object[name] = std::visit([](const auto& value) { return boost::json::value(value); }, cell);
  return object;
}

void PrintRow(const Row& row, Format format, std::ostream& out) {
  if (format == Format::kTable) return PrintTable({row}, out);
  out << boost::json::serialize(ToJson(row)) << '\n';
}

void PrintRows(const std::vector<Row>& rows, Format format, std::ostream& out) {
  if (format == Format::kTable) return PrintTable(rows, out);
  out << '[';
  for (size_t i = 0; i < rows.size(); ++i)
    out << (i == 0 ? "\n  " : ",\n  ") << boost::json::serialize(ToJson(rows[i]));
  out << (rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace counter::cli
