// ReplyGuard: looks at the bytes of the Redis protocol before anything is allocated for them.
//
// Use it in front of a reply reader that believes the lengths it is told. It refuses what no answer
// to our commands can be: "*2147483647", "$-5", nesting without end, a line that never ends. It
// understands RESP2 and keeps no bytes but those of one line.
//
// Threads: one at a time. Ownership: values only. After a refusal it refuses everything: the
// connection is to be dropped.
#ifndef COUNTER_CACHE_REDIS_REPLY_GUARD_H_
#define COUNTER_CACHE_REDIS_REPLY_GUARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace counter::redis {

struct ReplyBounds {
  int64_t line_bytes_max = 4096;  // Of a status, an error or a number, without CR LF.
  int64_t text_bytes_max = int64_t{1024} * 1024;  // Of one bulk text.
  int64_t elements_max = int64_t{16} * 1024;      // Of one array.
  int64_t depth_max = 4;                          // Arrays within arrays; hiredis takes 7.
  // Of one whole reply in memory, about: a cluster whose slots are all scattered has a large map.
  int64_t reply_bytes_max = int64_t{64} * 1024 * 1024;
};

class ReplyGuard {
 public:
  explicit ReplyGuard(const ReplyBounds& bounds = {}) : bounds_(bounds) {}

  // Takes the next bytes, cut anywhere. An error says what is wrong with them.
  absl::Status Check(absl::string_view bytes);

 private:
  enum class Place : uint8_t { kLine, kText, kRefused };

  absl::Status Refuse(absl::string_view why);
  absl::Status EndLine();
  absl::Status BeginText(int64_t length);
  absl::Status BeginArray(int64_t elements);
  absl::Status EndText();
  absl::Status Spend(int64_t bytes);
  void EndValue();

  const ReplyBounds bounds_;
  Place place_ = Place::kLine;
  std::string line_;              // What has come of the current line.
  std::string text_end_;          // What has come of the CR LF after a text.
  int64_t text_left_ = 0;         // Bytes of the current text that are still to come.
  std::vector<int64_t> missing_;  // Of each open array: elements still to come.
  int64_t reply_bytes_ = 0;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REPLY_GUARD_H_
