// How one log record looks as a line of text or of JSON. Pure code: no clock, no file, no thread.
//
// Any bytes may come in (a caller's request id, a file name, an operating system's message); what
// goes out is always exactly one line, ends with '\n', holds no other control character and is
// valid UTF-8: nobody can forge a second line or steer a terminal. Bytes that are not UTF-8 become
// U+FFFD in JSON and \xNN in text.
#ifndef COUNTER_BASE_LOG_FORMAT_H_
#define COUNTER_BASE_LOG_FORMAT_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace counter {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning", "error".
absl::string_view LogLevelName(LogLevel level);

// kAuto: text if the log goes to a terminal, else JSON.
enum class LogFormat : uint8_t { kAuto, kText, kJson };

// A value of a field; borrows its text.
class LogValue {
 public:
  template <class T, std::enable_if_t<std::is_integral_v<T> && std::is_signed_v<T>, int> = 0>
  LogValue(T value) : value_(static_cast<int64_t>(value)) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && std::is_unsigned_v<T>, int> = 0>
  LogValue(T value) : value_(static_cast<uint64_t>(value)) {}
  LogValue(bool value) : value_(value) {}
  LogValue(double value) : value_(value) {}
  // In seconds; the key should end in `_seconds`.
  LogValue(absl::Duration value) : value_(absl::ToDoubleSeconds(value)) {}
  LogValue(absl::string_view value) : value_(value) {}
  LogValue(const std::string& value) : value_(absl::string_view(value)) {}
  LogValue(const char* value) : value_(absl::string_view(value)) {}

  using Variant = std::variant<int64_t, uint64_t, bool, double, absl::string_view>;
  const Variant& variant() const { return value_; }

 private:
  Variant value_;
};

struct LogField {
  absl::string_view key;  // [a-z][a-z0-9_]*; not "time", "level" or "event".
  LogValue value;
};

// One event. Borrows everything.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  absl::Time time;
  absl::string_view event;
  absl::Span<const LogField> fields;
};

// 2026-01-31T12:00:00.123456Z INFO  Server is ready. grpc=127.0.0.1:50051 calls=3
std::string FormatLogText(const LogRecord& record);

// {"time":"2026-01-31T12:00:00.123456Z","level":"info","event":"Server is ready.","calls":3}
std::string FormatLogJson(const LogRecord& record);

}  // namespace counter

#endif  // COUNTER_BASE_LOG_FORMAT_H_
