#include "clients/cli/import_ledger.h"

#include <boost/json.hpp>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/replace_file.h"

namespace counter::cli {
namespace {

namespace json = boost::json;

int64_t Number(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : -1;
}

}  // namespace

ImportLedger::ImportLedger(std::string progress_path, std::string errors_path, int64_t input_bytes)
    : progress_path_(std::move(progress_path)),
      errors_path_(std::move(errors_path)),
      input_bytes_(input_bytes) {}

std::string ImportLedger::Resume() {
  std::ifstream file(progress_path_);
  if (progress_path_.empty() || !file) return "";
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object() || Number(value.get_object(), "input_bytes") != input_bytes_)
    return absl::StrCat(progress_path_, " is of another input; remove it to import from the start");
  const json::object& record = value.get_object();
  offset_ = Number(record, "offset");
  errors_bytes_ = Number(record, "errors_bytes");
  totals_ = {Number(record, "lines"), Number(record, "changed"), Number(record, "unchanged"),
             Number(record, "refused")};
  // Lines behind the record will be refused once more.
  std::error_code ignored;
  if (std::filesystem::exists(errors_path_, ignored))
    std::filesystem::resize_file(errors_path_, static_cast<uintmax_t>(errors_bytes_), ignored);
  return "";
}

std::string ImportLedger::End(int64_t number, ImportBatchEnd end) {
  early_.emplace(number, std::move(end));
  for (auto first = early_.begin(); first != early_.end() && first->first == next_;
       first = early_.erase(first), ++next_) {
    const ImportBatchEnd& batch = first->second;
    for (const std::string& line : batch.errors) {
      if (!errors_.is_open())
        errors_.open(errors_path_, errors_bytes_ == 0 ? std::ios::trunc : std::ios::app);
      errors_ << line << '\n';
      errors_bytes_ += static_cast<int64_t>(line.size()) + 1;
    }
    if (!batch.errors.empty() && !errors_.flush())
      return absl::StrCat("cannot write ", errors_path_);
    offset_ = batch.end_offset;
    totals_.lines += batch.totals.lines;
    totals_.changed += batch.totals.changed;
    totals_.unchanged += batch.totals.unchanged;
    totals_.refused += batch.totals.refused;
  }
  return "";
}

std::string ImportLedger::Record() {
  if (progress_path_.empty()) return "";
  const json::object record = {{"input_bytes", input_bytes_},   {"offset", offset_},
                               {"errors_bytes", errors_bytes_}, {"lines", totals_.lines},
                               {"changed", totals_.changed},    {"unchanged", totals_.unchanged},
                               {"refused", totals_.refused}};
  return ReplaceFile(progress_path_, json::serialize(record) + "\n")
             ? ""
             : absl::StrCat("cannot write ", progress_path_);
}

void ImportLedger::Finish() {
  std::error_code ignored;
  if (!progress_path_.empty()) std::filesystem::remove(progress_path_, ignored);
}

}  // namespace counter::cli
