// The Redis protocol: commands to bytes, bytes to replies. The only file that knows hiredis.
//
// Use it under the multiplexer. hiredis is formatter and reader here and nothing else: no socket,
// no context, no callback of it is used. Lengths that a hostile or broken server sends are refused
// (reply_guard.h) before hiredis sees them.
//
// Threads: AppendCommand any; a ReplyReader one at a time. Ownership: a reader owns its buffers.
#ifndef COUNTER_CACHE_REDIS_CODEC_H_
#define COUNTER_CACHE_REDIS_CODEC_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cache/redis/reply.h"
#include "cache/redis/reply_guard.h"

namespace counter::redis {

// Appends one command. Parts may hold any bytes: lengths are sent, nothing is a format string.
// Requires !parts.empty().
void AppendCommand(absl::Span<const absl::string_view> parts, std::string& bytes);

class ReplyReader {
 public:
  explicit ReplyReader(const ReplyBounds& bounds = {});
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Takes the next bytes, cut anywhere, and appends the replies that are whole now. After an error
  // nothing more can be read: drop the connection.
  absl::Status Feed(absl::string_view bytes, std::vector<Reply>& replies);

 private:
  struct Hiredis;

  ReplyGuard guard_;
  std::unique_ptr<Hiredis> hiredis_;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_CODEC_H_
