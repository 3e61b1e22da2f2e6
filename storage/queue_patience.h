// QueuePatience: whether a queue of writes is so slow that a newcomer had better be refused.
//
// A queue that only has a greatest length lets each write wait for as long as the length takes:
// when the store is slow, until its caller has given up, so that the store works for nobody. This
// one tells how long a newcomer would wait, from what waits in front of it and from the pace of the
// batches before, so that who cannot be served in time is refused at once and who is taken is.
//
// A newcomer is refused when its own deadline would pass, or when it would wait for longer than
// `wait_max`. Two things are always taken: what would leave at once, because nothing is under way
// (so a pace that was measured in bad times is measured anew), and, as far as its deadline allows,
// what the next batches have room for (so the store never runs dry, however slow it is).
//
// It is not for a store that is gone; somebody else has to say so.
//
// Pure: the time is passed in. For one thread at a time.
#ifndef COUNTER_STORAGE_QUEUE_PATIENCE_H_
#define COUNTER_STORAGE_QUEUE_PATIENCE_H_

#include "absl/time/time.h"
#include "base/clock.h"

namespace counter {

class QueuePatience {
 public:
  struct Options {
    absl::Duration wait_max = absl::InfiniteDuration();
    int batch_rows_max = 1;   // Of one batch. At least 1.
    int batches_at_once = 1;  // So many may be under way at the same time. At least 1.
  };
  // What is in front of a newcomer.
  struct Queue {
    int waiting = 0;      // Mutations, in no batch yet.
    int under_way = 0;    // Batches that have not ended.
    MonotonicTime since;  // When the oldest of them was sent. Only if there is one.
  };

  explicit QueuePatience(const Options& options) : options_(options) {}

  // A batch ended; batches end in the order in which they are sent. One whose end says nothing of
  // the store's pace, such as that of a lost connection, need not be told.
  void Ended(MonotonicTime sent, MonotonicTime now);

  // How long a newcomer would wait for its batch to end.
  absl::Duration Wait(const Queue& queue, MonotonicTime now) const;

  bool Takes(const Queue& queue, MonotonicTime deadline, MonotonicTime now) const;

 private:
  const Options options_;
  MonotonicTime last_ended_ = MonotonicTime::min();
  absl::Duration pace_;  // From the end of one batch to that of the next, while they queue.
};

}  // namespace counter

#endif  // COUNTER_STORAGE_QUEUE_PATIENCE_H_
