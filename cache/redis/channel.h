// Channel: where commands go and replies come from.
//
// Use it in everything that speaks to Redis above the socket; Connection implements it, tests
// script it. A Request is one or more commands whose replies come back together, in order.
//
// It does not fail: an answer that does not come in time, or cannot come at all, is absent. An
// absent answer says nothing about whether the commands were executed, now or later.
//
// Threads: any. `done` is called exactly once, on a thread of the channel and never from inside
// Send. Ownership: the channel must outlive every request that it was given.
#ifndef COUNTER_CACHE_REDIS_CHANNEL_H_
#define COUNTER_CACHE_REDIS_CHANNEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/redis/codec.h"
#include "cache/redis/reply.h"

namespace counter::redis {

// Commands that leave together.
class Commands {
 public:
  // Requires !parts.empty().
  void Add(absl::Span<const absl::string_view> parts) {
    AppendCommand(parts, bytes_);
    ++count_;
  }

  int64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }
  std::string TakeBytes() { return std::move(bytes_); }

 private:
  std::string bytes_;
  int64_t count_ = 0;
};

// Reply i is of command i; any of them may be an error. Absent: no answer in time.
using Answer = std::optional<std::vector<Reply>>;

struct Request {
  Commands commands;       // Requires at least one.
  MonotonicTime deadline;  // When its caller stops waiting.
  absl::AnyInvocable<void(Answer)> done;
};

class Channel {
 public:
  virtual ~Channel() = default;

  // Whether it makes sense to ask. False while the link is down or the breaker is open.
  virtual bool usable() const = 0;
  virtual void Send(Request request) = 0;
};

// Sends and waits; at once absent if the channel is not usable.
inline Task<Answer> Ask(Channel& channel, Commands commands, MonotonicTime deadline) {
  if (commands.count() == 0) co_return std::vector<Reply>{};
  if (!channel.usable()) co_return std::nullopt;
  auto start = [&](Resumer<Answer> resume) {
    channel.Send({std::move(commands), deadline, resume});
  };
  CallbackAwaitable<Answer, decltype(start)> answered(start);
  co_return co_await answered;
}

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_CHANNEL_H_
