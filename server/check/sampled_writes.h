// SampledWrites: some of the writes that were acknowledged lately, and when each is to be checked.
//
// Use it between the service, which says what was acknowledged, and the checker, which takes what
// is due: each write once at each of CheckAges(). It takes so many writes a second, whatever the
// load is: the first that comes after the last one's time is over. It reads nothing and judges
// nothing.
//
// Bounds: samples_max writes that wait; what comes while they do is counted and not taken.
//
// Threads: any. Acknowledged() is on the path of every like: a look at the clock and one atomic
// load unless it takes the write; where none are taken, a comparison. Ownership: borrows the clock.
#ifndef COUNTER_SERVER_CHECK_SAMPLED_WRITES_H_
#define COUNTER_SERVER_CHECK_SAMPLED_WRITES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "server/check/check_tally.h"
#include "server/check/copy_verdict.h"
#include "storage/like.h"

namespace counter {

struct SampledWritesOptions {
  int writes_per_second = 0;  // 0: none.
  int samples_max = 10'000;
};

// A write whose copies are to be compared now.
struct DueCheck {
  KnownWrite write;
  int age = 0;        // Which of CheckAges().
  MonotonicTime due;  // Since when.
};

class SampledWrites {
 public:
  struct Stats {
    int64_t taken = 0;
    int64_t dropped = 0;  // For want of room.
    int64_t waiting = 0;  // Now.
  };

  SampledWrites(const Clock& clock, SampledWritesOptions options);

  // A write was acknowledged, or is being.
  void Acknowledged(const Item& item, int64_t count, int64_t version);

  // What is due, oldest first, dues_max at most; each is given out once.
  std::vector<DueCheck> TakeDue(size_t dues_max);
  // When the next is due. Absent: nothing waits.
  std::optional<MonotonicTime> NextDue() const;

  bool takes_writes() const { return options_.writes_per_second > 0; }
  // The last items that were taken, newest first, each once; `items_max` at most.
  std::vector<Item> LastItems(size_t items_max) const;
  Stats stats() const;

 private:
  struct Sample {
    KnownWrite write;
    MonotonicTime acknowledged;
  };

  const Clock& clock_;
  const SampledWritesOptions options_;
  // From when on the next write is taken, as a count of the monotonic clock.
  std::atomic<MonotonicTime::rep> open_at_{0};

  mutable Mutex mutex_;
  // By the age at which they are checked next; the oldest first.
  std::array<std::deque<Sample>, kCheckAges> waiting_ ABSL_GUARDED_BY(mutex_);
  std::deque<Item> last_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter

#endif  // COUNTER_SERVER_CHECK_SAMPLED_WRITES_H_
