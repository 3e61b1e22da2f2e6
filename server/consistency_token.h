// Consistency tokens: what a reply gives a caller so that a later read, on any server, is not
// older.
//
// A token names one item at one version on one timeline of the store. It is opaque to callers,
// URL-safe text of at most kConsistencyTokenBytesMax characters, and carries a checksum against
// garbling, not against forgery: a made-up version costs its maker a read of the primary and
// nothing else. Pure functions; any thread.
#ifndef COUNTER_SERVER_CONSISTENCY_TOKEN_H_
#define COUNTER_SERVER_CONSISTENCY_TOKEN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "storage/like.h"

namespace counter {

struct ConsistencyToken {
  Item item;
  int64_t version = 0;
  std::string timeline;

  friend bool operator==(const ConsistencyToken&, const ConsistencyToken&) = default;
};

inline constexpr size_t kConsistencyTokenBytesMax = 160;

// Requires a timeline of 1 to 64 characters.
std::string EncodeConsistencyToken(const Item& item, int64_t version, absl::string_view timeline);
inline std::string EncodeConsistencyToken(const ConsistencyToken& token) {
  return EncodeConsistencyToken(token.item, token.version, token.timeline);
}

// Nothing if `text` is not something that EncodeConsistencyToken made.
std::optional<ConsistencyToken> DecodeConsistencyToken(absl::string_view text);

}  // namespace counter

#endif  // COUNTER_SERVER_CONSISTENCY_TOKEN_H_
