#include "clients/cli/export_ledger.h"

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

// Of the record of an earlier run; nothing of it is missing, or it was not this tool's.
struct Fields {
  const json::object& object;
  bool good = true;

  int64_t Number(const char* name) {
    const json::value* value = object.if_contains(name);
    const bool there = value != nullptr && value->is_int64() && value->get_int64() >= 0;
    good = good && there;
    return there ? value->get_int64() : 0;
  }
  std::string Text(const char* name) {
    const json::value* value = object.if_contains(name);
    const json::string* text = value == nullptr ? nullptr : value->if_string();
    good = good && text != nullptr;
    return text == nullptr ? "" : std::string(text->data(), text->size());
  }
};

// Cuts off what lies behind `bytes`; false if there is less.
bool Cut(const std::string& path, int64_t bytes) {
  std::error_code error;
  const auto wanted = static_cast<uintmax_t>(bytes);
  if (!std::filesystem::exists(path, error)) return bytes == 0;
  if (std::filesystem::file_size(path, error) < wanted || error) return false;
  std::filesystem::resize_file(path, wanted, error);
  return !error;
}

}  // namespace

ExportLedger::ExportLedger(std::string output_path, std::string errors_path, std::ostream& out)
    : output_path_(std::move(output_path)), errors_path_(std::move(errors_path)), out_(out) {}

// FNV-1a, of the line and its end.
uint64_t ExportLedger::Checksum(uint64_t before, const std::string& line) {
  uint64_t sum = before;
  for (const char c : line + "\n") sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

std::string ExportLedger::Open() {
  if (output_path_.empty()) return "";
  std::ifstream record(progress_path());
  if (record) {
    const std::string text{std::istreambuf_iterator<char>(record),
                           std::istreambuf_iterator<char>()};
    json::error_code error;
    const json::value value = json::parse(text, error);
    if (error || !value.is_object())
      return absl::StrCat(progress_path(), " is no record of an export");
    Fields fields = {value.get_object()};
    output_bytes_ = fields.Number("output_bytes");
    errors_bytes_ = fields.Number("errors_bytes");
    lines_done_ = fields.Number("lines_done");
    lines_checksum_ = static_cast<uint64_t>(fields.Number("checksum_high")) << 32 |
                      static_cast<uint64_t>(fields.Number("checksum_low"));
    page_token_ = fields.Text("page_token");
    totals_ = {fields.Number("users"), fields.Number("likes"), fields.Number("refused")};
    if (!fields.good || !Cut(output_path_, output_bytes_) || !Cut(errors_path_, errors_bytes_))
      return absl::StrCat(progress_path(), " is not of this ", output_path_,
                          "; remove both to export from the start");
  } else if (std::filesystem::exists(output_path_)) {
    return absl::StrCat(output_path_, " is there already; expected a new file");
  }
  file_.open(output_path_, std::ios::binary | std::ios::app);
  return file_ ? "" : absl::StrCat("cannot write ", output_path_);
}

void ExportLedger::Write(const std::string& text, int64_t likes, const std::string& token) {
  output() << text;
  output_bytes_ += static_cast<int64_t>(text.size());
  totals_.likes += likes;
  page_token_ = token;
}

void ExportLedger::EndLine(const std::string& line, bool user) {
  ++lines_done_;
  lines_checksum_ = Checksum(lines_checksum_, line);
  page_token_.clear();
  totals_.users += user ? 1 : 0;
}

void ExportLedger::Refuse(const std::string& line, const std::string& fault) {
  if (!errors_.is_open())
    errors_.open(errors_path_, errors_bytes_ == 0 ? std::ios::trunc : std::ios::app);
  const std::string text = absl::StrCat(lines_done_ + 1, "\t", fault, "\t", line, "\n");
  errors_ << text;
  errors_bytes_ += static_cast<int64_t>(text.size());
  ++totals_.refused;
}

std::string ExportLedger::Record() {
  if (!output().flush()) return absl::StrCat("cannot write ", output_path_);
  if (errors_.is_open() && !errors_.flush()) return absl::StrCat("cannot write ", errors_path_);
  if (output_path_.empty()) return "";
  const json::object record = {{"output_bytes", output_bytes_},
                               {"errors_bytes", errors_bytes_},
                               {"lines_done", lines_done_},
                               {"checksum_high", static_cast<int64_t>(lines_checksum_ >> 32)},
                               {"checksum_low", static_cast<int64_t>(lines_checksum_ & 0xffffffff)},
                               {"page_token", page_token_},
                               {"users", totals_.users},
                               {"likes", totals_.likes},
                               {"refused", totals_.refused}};
  return ReplaceFile(progress_path(), json::serialize(record) + "\n")
             ? ""
             : absl::StrCat("cannot write ", progress_path());
}

void ExportLedger::Finish() {
  std::error_code ignored;
  if (!output_path_.empty()) std::filesystem::remove(progress_path(), ignored);
}

}  // namespace counter::cli
