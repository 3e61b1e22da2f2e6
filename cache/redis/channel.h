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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/redis/codec.h"
#include "cache/redis/reply.h"
#include "cache/redis/slot.h"

namespace counter::redis {

// Commands that leave together; those for one server, that is.
class Commands {
 public:
  // Where a command ends in bytes(), and the slot of its keys.
  struct Place {
    size_t end = 0;
    int slot = kNoSlot;
  };

  // `slot` is that of the command's keys, which all have the same; only a cluster needs it.
  // Requires !parts.empty().
  void Add(absl::Span<const absl::string_view> parts, int slot = kNoSlot) {
    AppendCommand(parts, bytes_);
    ++count_;
    if (slot != kNoSlot) places_.push_back({bytes_.size(), slot});
  }
  // One command as AppendCommand writes it.
  void AddFormatted(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    ++count_;
  }

  int64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }
  std::string TakeBytes() { return std::move(bytes_); }

  // Whether each command has said its slot.
  bool has_slots() const { return static_cast<int64_t>(places_.size()) == count_; }
  // Of each command. Requires has_slots().
  const std::vector<Place>& places() const { return places_; }

 private:
  std::string bytes_;
  std::vector<Place> places_;
  int64_t count_ = 0;
};

// Reply i is of command i; any of them may be an error. Absent: no answer in time. Of a cluster
// some may be answered and others not: a reply that did not come is an error then (Unanswered).
using Answer = std::optional<std::vector<Reply>>;

inline Reply Unanswered() { return {Reply::Kind::kError, 0, "UNANSWERED", {}}; }

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
  // Whether there are several servers: then each command has to say its slot, and its keys share
  // one. False until that is known.
  virtual bool by_slot() const { return false; }
  // What stands in Redis at keys of this slot and was read from the store before this instant is
  // not to be believed: Redis was started later, so it comes from a file, which may be old. The
  // slot is of no account if !by_slot().
  virtual absl::Time believed_since(int /*slot*/) const { return absl::InfinitePast(); }
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
