// LagMeter: how far back in time a replica is, by the primary's own positions.
//
// Use one for a store. The primary is asked now and then up to which byte its log is on disk; what
// it acknowledged before the question was sent is below that. A replica that has replayed up to a
// byte therefore has everything that was acknowledged before the last question whose answer is not
// above it. So an idle primary makes no replica look late, no clock but ours is read, and nothing
// is written. (pg_last_xact_replay_timestamp() grows old with an idle primary; a heartbeat writes
// for ever and trusts the primary's clock.)
//
// It remembers positions_max answers; a replica that is further back has no known age.
//
// Pure. Threads: one at a time.
#ifndef COUNTER_STORAGE_POSTGRES_LAG_METER_H_
#define COUNTER_STORAGE_POSTGRES_LAG_METER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"

namespace counter::postgres {

class LagMeter {
 public:
  // Requires positions_max >= 1.
  explicit LagMeter(size_t positions_max = 1'000) : positions_max_(positions_max) {}

  // The primary, asked at `asked`, said that its log is on disk up to `flushed`. Questions in
  // order.
  void PrimaryAt(int64_t flushed, MonotonicTime asked);

  // Another primary: positions of the former one say nothing.
  void Forget() { positions_.clear(); }

  // Everything that was acknowledged before this instant is in what a replica shows that had
  // replayed up to `replayed`. Nothing if no such instant is known.
  std::optional<MonotonicTime> FreshAt(int64_t replayed) const;

 private:
  struct Position {
    int64_t flushed = 0;
    MonotonicTime asked;  // The last time that it was the answer.
  };

  const size_t positions_max_;
  std::deque<Position> positions_;  // Both rise.
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_LAG_METER_H_
