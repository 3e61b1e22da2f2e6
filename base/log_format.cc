#include "base/log_format.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace counter {
namespace {

// Longer texts are cut: a line has a limit even if its inputs have none.
constexpr size_t kTextBytesMax = 8192;

// One character of a text: its bytes, and its code point or kInvalid.
constexpr uint32_t kInvalid = 0xffffffff;
struct Character {
  absl::string_view bytes;
  uint32_t code_point;
};

// The first character of `text`; a byte that does not begin a well-formed UTF-8 sequence (Unicode
// 15, table 3-7: no overlong forms, no surrogates) is one invalid character. Requires
// !text.empty().
Character FirstCharacter(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const Character invalid{text.substr(0, 1), kInvalid};
  if (lead < 0x80) return {text.substr(0, 1), lead};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return invalid;
  uint32_t code_point = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code_point = code_point << 6 | (byte(i) & 0x3f);
  }
  const bool overlong =
      (length == 3 && code_point < 0x800) || (length == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (overlong || surrogate || code_point > 0x10ffff) return invalid;
  return {text.substr(0, length), code_point};
}

// What a terminal or a line reader would act upon instead of showing: C0, DEL, C1, line and
// paragraph separators, and the marks that turn the direction of writing.
bool IsControl(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

template <class AppendOne>
void ForEachCharacter(absl::string_view text, const AppendOne& append_one) {
  const bool cut = text.size() > kTextBytesMax;
  if (cut) text = text.substr(0, kTextBytesMax);
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    append_one(character);
    text.remove_prefix(character.bytes.size());
  }
  if (cut) append_one({"...", '.'});
}

void AppendJsonString(std::string& out, absl::string_view text) {
  out.push_back('"');
  ForEachCharacter(text, [&out](const Character& character) {
    const uint32_t c = character.code_point;
    if (c == kInvalid) {
      absl::StrAppend(&out, "\\ufffd");
    } else if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", character.bytes);
    } else if (c == '\n') {
      absl::StrAppend(&out, "\\n");
    } else if (c == '\t') {
      absl::StrAppend(&out, "\\t");
    } else if (IsControl(c)) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      absl::StrAppend(&out, character.bytes);
    }
  });
  out.push_back('"');
}

void AppendVisible(std::string& out, absl::string_view text, bool quoted) {
  ForEachCharacter(text, [&out, quoted](const Character& character) {
    const uint32_t c = character.code_point;
    if (c == kInvalid) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(character.bytes[0]));
    } else if (c == '\n') {
      absl::StrAppend(&out, "\\n");
    } else if (c == '\t') {
      absl::StrAppend(&out, "\\t");
    } else if (IsControl(c)) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else if (quoted && (c == '"' || c == '\\')) {
      absl::StrAppend(&out, "\\", character.bytes);
    } else {
      absl::StrAppend(&out, character.bytes);
    }
  });
}

bool IsPlainWord(absl::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c > '~') return false;
  }
  return !text.empty();
}

void AppendTextValue(std::string& out, absl::string_view text) {
  if (IsPlainWord(text) && text.size() <= kTextBytesMax) {
    absl::StrAppend(&out, text);
    return;
  }
  out.push_back('"');
  AppendVisible(out, text, /*quoted=*/true);
  out.push_back('"');
}

// The same in both formats for everything but text. JSON has no word for infinity or "not a
// number": null.
void AppendNumber(std::string& out, int64_t value) { absl::StrAppend(&out, value); }
void AppendNumber(std::string& out, uint64_t value) { absl::StrAppend(&out, value); }
void AppendNumber(std::string& out, bool value) { absl::StrAppend(&out, value ? "true" : "false"); }
void AppendNumber(std::string& out, double value) {
  if (std::isfinite(value)) {
    absl::StrAppend(&out, value);
  } else {
    absl::StrAppend(&out, "null");
  }
}

template <class AppendText>
void AppendValue(std::string& out, const LogValue& value, const AppendText& append_text) {
  std::visit(
      [&out, &append_text](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, absl::string_view>) {
          append_text(out, held);
        } else {
          AppendNumber(out, held);
        }
      },
      value.variant());
}

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

}  // namespace

absl::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

std::string FormatLogText(const LogRecord& record) {
  static constexpr absl::string_view kLevels[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
  std::string line =
      absl::StrCat(Rfc3339(record.time), " ", kLevels[static_cast<int>(record.level)], " ");
  AppendVisible(line, record.event, /*quoted=*/false);
  for (const LogField& field : record.fields) {
    line.push_back(' ');
    AppendVisible(line, field.key, /*quoted=*/false);
    line.push_back('=');
    AppendValue(line, field.value, AppendTextValue);
  }
  line.push_back('\n');
  return line;
}

std::string FormatLogJson(const LogRecord& record) {
  std::string line = absl::StrCat("{\"time\":\"", Rfc3339(record.time), "\",\"level\":\"",
                                  LogLevelName(record.level), "\",\"event\":");
  AppendJsonString(line, record.event);
  for (const LogField& field : record.fields) {
    line.push_back(',');
    AppendJsonString(line, field.key);
    line.push_back(':');
    AppendValue(line, field.value, AppendJsonString);
  }
  absl::StrAppend(&line, "}\n");
  return line;
}

}  // namespace counter
