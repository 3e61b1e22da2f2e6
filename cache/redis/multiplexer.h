// Multiplexer: the ledger of one connection: what waits to be sent, what was sent and is not
// answered, and whose each reply is.
//
// Use it under a loop that does the reading and writing. It has no socket and no clock. All that
// waits leaves in one write; replies are matched in order. A request whose deadline passes is
// finished without an answer: one that was not sent is forgotten, of one that was sent the replies
// are still read, or every later reply would go to the wrong caller.
//
// Bounds: requests_max requests and waiting_bytes_max bytes; a request that does not fit is
// refused.
//
// Threads: one at a time. It never calls `done` itself: it hands back what has ended, and the loop
// calls it last, for the multiplexer may be used from inside.
#ifndef COUNTER_CACHE_REDIS_MULTIPLEXER_H_
#define COUNTER_CACHE_REDIS_MULTIPLEXER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "cache/redis/channel.h"

namespace counter::redis {

struct MultiplexerBounds {
  int64_t requests_max = 10'000;  // Waiting and unanswered, abandoned ones too.
  int64_t waiting_bytes_max = int64_t{8} * 1024 * 1024;  // Waiting to be sent.
};

// A request that has ended, and with what.
struct Finished {
  absl::AnyInvocable<void(Answer)> done;
  Answer answer;

  void Tell() { done(std::move(answer)); }
};

class Multiplexer {
 public:
  explicit Multiplexer(const MultiplexerBounds& bounds = {}) : bounds_(bounds) {}

  // Takes a request; hands it back if there is no room.
  std::optional<Finished> Add(Request request);

  // All that waits, in order, as one write; empty if nothing waits. It counts as sent at `now`.
  std::string TakeWrite(MonotonicTime now);

  // The next reply of the connection; what it finishes, if it does. An error if nobody has asked:
  // the connection is out of step and must be dropped.
  absl::StatusOr<std::optional<Finished>> OnReply(Reply reply);

  // Finishes without an answer all whose deadline is not after `now`.
  std::vector<Finished> Expire(MonotonicTime now);

  // The connection is gone, and with it every answer.
  std::vector<Finished> FailAll();

  // The earliest deadline; absent if nobody waits for anything.
  std::optional<MonotonicTime> NextDeadline() const;
  // When the oldest request that is not fully answered was sent; absent if there is none.
  std::optional<MonotonicTime> OldestSent() const;

  bool has_waiting() const { return !waiting_.empty(); }
  // Answers that came whole when nobody waited for them any more.
  int64_t late_answers() const { return late_answers_; }
  int64_t requests() const { return static_cast<int64_t>(waiting_.size() + sent_.size()); }

 private:
  struct Sent {
    int64_t replies = 0;  // How many are to come in all.
    MonotonicTime sent_at;
    MonotonicTime deadline;
    absl::AnyInvocable<void(Answer)> done;  // Null: abandoned.
    std::vector<Reply> got;
    int64_t got_count = 0;  // As got.size(), also once nobody wants them.
  };

  const MultiplexerBounds bounds_;
  std::deque<Request> waiting_;
  std::deque<Sent> sent_;
  int64_t waiting_bytes_ = 0;
  int64_t late_answers_ = 0;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_MULTIPLEXER_H_
