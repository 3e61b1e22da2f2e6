// Replies of Redis: the same values however the bytes are cut, and no end of the process on any.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cache/redis/codec.h"
#include "tests/fuzz/require.h"

namespace counter::redis {
namespace {

using fuzz::Require;

struct Outcome {
  bool ok = true;
  std::vector<Reply> replies;
};

// Small bounds, so that the fuzzer finds both sides of them.
ReplyBounds Bounds() {
  return {.line_bytes_max = 64,
          .text_bytes_max = 256,
          .elements_max = 32,
          .depth_max = 3,
          .reply_bytes_max = 4096};
}

// Nothing that is handed out is larger than the bounds say.
void CheckBounds(const Reply& reply, int64_t depth) {
  const ReplyBounds bounds = Bounds();
  const bool is_line = reply.kind == Reply::Kind::kStatus || reply.kind == Reply::Kind::kError;
  const int64_t text_max = is_line ? bounds.line_bytes_max : bounds.text_bytes_max;
  Require(static_cast<int64_t>(reply.text.size()) <= text_max);
  Require(static_cast<int64_t>(reply.elements.size()) <= bounds.elements_max);
  Require(reply.elements.empty() || depth < bounds.depth_max);
  for (const Reply& element : reply.elements) CheckBounds(element, depth + 1);
}

// Cut into pieces of 1, 2, ... `longest` bytes in turn; 0: whole.
Outcome Read(absl::string_view bytes, size_t longest) {
  ReplyReader reader(Bounds());
  Outcome outcome;
  size_t length = longest == 0 ? bytes.size() : 1;
  while (!bytes.empty() && outcome.ok) {
    const absl::string_view piece = bytes.substr(0, length);
    bytes.remove_prefix(piece.size());
    outcome.ok = reader.Feed(piece, outcome.replies).ok();
    if (longest > 0) length = length % longest + 1;
  }
  for (const Reply& reply : outcome.replies) CheckBounds(reply, 0);
  // Once it has refused, it takes nothing more.
  std::vector<Reply> after;
  Require(outcome.ok || (!reader.Feed("+OK\r\n", after).ok() && after.empty()));
  return outcome;
}

}  // namespace
}  // namespace counter::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using counter::fuzz::Require;
  using counter::redis::Outcome;
  if (size < 1) return 0;
  const size_t longest = 1 + bytes[0] % 7;
  const absl::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const Outcome whole = counter::redis::Read(text, 0);
  const Outcome cut = counter::redis::Read(text, longest);
  Require(whole.ok == cut.ok);
  // A piece that is refused may hold whole replies before its fault; a smaller one hands them out.
  Require(!whole.ok || whole.replies == cut.replies);
  return 0;
}
