// CallerTokens: the secrets by which callers say who they are: a name and a token a line.
//
//   feed  sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//   kiosk 4o2Q1c...                       # the token itself; its hash is what is kept
//
// A caller may have several, so that one can be replaced without a pause. Kept are SHA-256 hashes
// alone; a token that comes is hashed and compared with all of them, each in constant time, so that
// how long it takes says nothing of how close it was. No token is ever part of a message.
//
// A value, made whole from the text of a file. Pure. Threads: any, as any const value.
#ifndef COUNTER_SERVER_CALLERS_CALLER_TOKENS_H_
#define COUNTER_SERVER_CALLERS_CALLER_TOKENS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace counter {

class CallerTokens {
 public:
  // All are compared with each token that comes.
  static constexpr int kTokensMax = 1000;
  // Shorter ones can be guessed; longer ones are refused as a header, too.
  static constexpr size_t kTokenBytesMin = 32;
  static constexpr size_t kTokenBytesMax = 4096;

  // The error names each line that is wrong.
  static absl::StatusOr<CallerTokens> Parse(absl::string_view text);

  // Whose token it is; empty if it is nobody's.
  std::string Find(absl::string_view token) const;

  // A line a token, as in the file: for those who check the names.
  struct Line {
    int number = 0;
    std::string name;
  };
  const std::vector<Line>& lines() const { return lines_; }

 private:
  using Hash = std::array<uint8_t, 32>;
  static Hash HashOf(absl::string_view token);
  static bool ParseHash(absl::string_view hex, Hash& hash);

  // hashes_[i] is of lines_[i].
  std::vector<Line> lines_;
  std::vector<Hash> hashes_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_CALLERS_CALLER_TOKENS_H_
