#include "storage/queue_patience.h"

#include <algorithm>

namespace counter {

void QueuePatience::Ended(MonotonicTime sent, MonotonicTime now) {
  // So much of the old pace stays: a store that has changed is known after a few batches, and a
  // single slow one is forgotten as soon.
  constexpr double kKept = 0.75;
  // What a batch waited for the one in front of it is that one's time.
  const absl::Duration took = Between(std::max(sent, last_ended_), now);
  last_ended_ = now;
  pace_ = pace_ == absl::ZeroDuration() ? took : kKept * pace_ + (1 - kKept) * took;
}

absl::Duration QueuePatience::Wait(const Queue& queue, MonotonicTime now) const {
  const int own = 1 + queue.waiting / options_.batch_rows_max;
  if (queue.under_way == 0) return own * pace_;
  const absl::Duration so_far = Between(std::max(queue.since, last_ended_), now);
  // The one at work ends when it has taken as long as the others; and once it has taken longer, it
  // may well take as long again.
  const absl::Duration rest = so_far < pace_ ? pace_ - so_far : so_far - pace_;
  return rest + (queue.under_way - 1 + own) * pace_;
}

bool QueuePatience::Takes(const Queue& queue, MonotonicTime deadline, MonotonicTime now) const {
  if (queue.under_way == 0) return true;
  const absl::Duration wait = Wait(queue, now);
  // Of one whose deadline has passed the queue says so itself.
  if (now < deadline && wait >= Between(now, deadline)) return false;
  return wait <= options_.wait_max ||
         queue.waiting < options_.batch_rows_max * options_.batches_at_once;
}

}  // namespace counter
