#include "cache/redis/reply_guard.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace counter::redis {
namespace {

// What an element costs besides its text.
constexpr int64_t kElementBytes = 96;

// A decimal number as RESP has it: an optional sign and digits, nothing else.
bool ParseInteger(absl::string_view text, int64_t& number) {
  absl::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > 19) return false;
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  if (text[0] == '+') text.remove_prefix(1);
  return absl::SimpleAtoi(text, &number);
}

}  // namespace

absl::Status ReplyGuard::Check(absl::string_view bytes) {
  if (place_ == Place::kRefused) return Refuse("an earlier reply was refused");
  while (!bytes.empty()) {
    absl::Status checked = absl::OkStatus();
    if (place_ == Place::kText) {
      const int64_t taken = std::min<int64_t>(text_left_, static_cast<int64_t>(bytes.size()));
      text_left_ -= taken;
      bytes.remove_prefix(static_cast<size_t>(taken));
      if (text_left_ > 0) break;
      while (!bytes.empty() && text_end_.size() < 2) {
        text_end_ += bytes[0];
        bytes.remove_prefix(1);
      }
      if (text_end_.size() == 2) checked = EndText();
    } else {
      const size_t end = bytes.find('\n');
      const bool whole = end != absl::string_view::npos;
      const size_t taken = whole ? end + 1 : bytes.size();
      if (static_cast<int64_t>(line_.size() + taken) > bounds_.line_bytes_max + 3) {
        return Refuse(absl::StrCat("a line is longer than ", bounds_.line_bytes_max, " bytes"));
      }
      absl::StrAppend(&line_, bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (whole) checked = EndLine();
    }
    if (!checked.ok()) return checked;
  }
  return absl::OkStatus();
}

absl::Status ReplyGuard::EndLine() {
  if (line_.size() < 3 || line_[line_.size() - 2] != '\r') {
    return Refuse("a line does not end with CR LF");
  }
  const char type = line_[0];
  const std::string rest = line_.substr(1, line_.size() - 3);
  line_.clear();
  absl::Status spent = Spend(kElementBytes + static_cast<int64_t>(rest.size()));
  if (!spent.ok()) return spent;
  int64_t number = 0;
  switch (type) {
    case '+':
    case '-':
      // A bare CR would end the line for hiredis before it ended for us.
      if (rest.find('\r') != std::string::npos) return Refuse("a line holds a CR");
      EndValue();
      return absl::OkStatus();
    case ':':
      if (!ParseInteger(rest, number)) return Refuse("a number is not one");
      EndValue();
      return absl::OkStatus();
    case '$':
      if (!ParseInteger(rest, number)) return Refuse("a length is not a number");
      return BeginText(number);
    case '*':
      if (!ParseInteger(rest, number)) return Refuse("a length is not a number");
      return BeginArray(number);
    default:
      return Refuse("a reply begins with none of + - : $ *");
  }
}

absl::Status ReplyGuard::BeginText(int64_t length) {
  if (length < -1 || length > bounds_.text_bytes_max) {
    return Refuse(
        absl::StrCat("a text of ", length, " bytes; the limit is ", bounds_.text_bytes_max));
  }
  if (length == -1) {
    EndValue();
    return absl::OkStatus();
  }
  place_ = Place::kText;
  text_left_ = length;
  text_end_.clear();
  return Spend(length);
}

absl::Status ReplyGuard::EndText() {
  if (text_end_ != "\r\n") return Refuse("a text does not end with CR LF");
  place_ = Place::kLine;
  EndValue();
  return absl::OkStatus();
}

absl::Status ReplyGuard::BeginArray(int64_t elements) {
  if (elements < -1 || elements > bounds_.elements_max) {
    return Refuse(
        absl::StrCat("an array of ", elements, " elements; the limit is ", bounds_.elements_max));
  }
  if (elements <= 0) {
    EndValue();
    return absl::OkStatus();
  }
  missing_.push_back(elements);
  if (static_cast<int64_t>(missing_.size()) > bounds_.depth_max) {
    return Refuse(absl::StrCat("arrays are nested deeper than ", bounds_.depth_max));
  }
  // A reader allocates for all elements at once.
  return Spend(elements * kElementBytes);
}

absl::Status ReplyGuard::Spend(int64_t bytes) {
  reply_bytes_ += bytes;
  if (reply_bytes_ <= bounds_.reply_bytes_max) return absl::OkStatus();
  return Refuse(absl::StrCat("a reply takes more than ", bounds_.reply_bytes_max, " bytes"));
}

void ReplyGuard::EndValue() {
  while (!missing_.empty()) {
    if (--missing_.back() > 0) return;
    missing_.pop_back();
  }
  reply_bytes_ = 0;
}

absl::Status ReplyGuard::Refuse(absl::string_view why) {
  place_ = Place::kRefused;
  return absl::InvalidArgumentError(absl::StrCat("refused a reply of the cache: ", why));
}

}  // namespace counter::redis
