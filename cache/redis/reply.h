// Reply: one answer of Redis, as a value.
//
// Use it above the codec: nobody else sees hiredis or bytes of the protocol. Values only; any
// thread.
#ifndef COUNTER_CACHE_REDIS_REPLY_H_
#define COUNTER_CACHE_REDIS_REPLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace counter::redis {

struct Reply {
  enum class Kind : uint8_t { kNil, kInteger, kText, kStatus, kError, kArray };

  Kind kind = Kind::kNil;
  int64_t integer = 0;          // Of kInteger.
  std::string text;             // Of kText, kStatus and kError.
  std::vector<Reply> elements;  // Of kArray.

  bool is_nil() const { return kind == Kind::kNil; }
  bool is_integer() const { return kind == Kind::kInteger; }
  bool is_text() const { return kind == Kind::kText; }
  bool is_status(absl::string_view wanted) const { return kind == Kind::kStatus && text == wanted; }
  bool is_error() const { return kind == Kind::kError; }
  // An error whose first word is `code`: "NOSCRIPT", "READONLY".
  bool is_error(absl::string_view code) const {
    return is_error() && absl::StartsWith(text, code) &&
           (text.size() == code.size() || text[code.size()] == ' ');
  }
  bool is_array() const { return kind == Kind::kArray; }

  friend bool operator==(const Reply&, const Reply&) = default;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REPLY_H_
