// OutboxMatch: which rows of the outbox the cache has been told of, as far as this server knows.
//
// A row names items at versions; each is told to the cache by the call that changed it, in a put of
// its own. A row is done when for every item of it a put of that version or a newer one was
// acknowledged. Rows that are not done in time are forgotten here: the sweep finds them in the
// store by their age.
//
// Bounds: rows_max rows; when there are more the oldest are forgotten first.
//
// Threads: one at a time. Ownership: values only; it has no clock.
#ifndef COUNTER_SERVER_UPKEEP_OUTBOX_MATCH_H_
#define COUNTER_SERVER_UPKEEP_OUTBOX_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/cache_outbox.h"

namespace counter {

class OutboxMatch {
 public:
  // Rows that are older than `age_max` are forgotten. Requires rows_max >= 1.
  OutboxMatch(absl::Duration age_max, size_t rows_max) : age_max_(age_max), rows_max_(rows_max) {}

  // A batch was committed. Call it before any put of what it changed is acknowledged.
  void Committed(const OutboxRow& row, const std::vector<ChangedItem>& changed, MonotonicTime now);

  // A put was acknowledged. Appends the rows that are done now.
  void Acknowledged(const Item& item, int64_t version, std::vector<OutboxRow>& done);

  size_t rows() const { return rows_.size(); }

 private:
  struct Open {
    OutboxRow row;
    std::vector<Item> items;
    size_t waits_for = 0;  // Items that were not told yet.
    MonotonicTime at;
  };
  struct Wanted {
    int64_t version = 0;
    uint64_t row = 0;  // Key of rows_.
  };

  void Forget(MonotonicTime now);
  void Erase(uint64_t key);

  const absl::Duration age_max_;
  const size_t rows_max_;
  uint64_t last_key_ = 0;
  absl::flat_hash_map<uint64_t, Open> rows_;
  std::deque<uint64_t> in_order_;  // Keys of rows_, oldest first; some are gone.
  absl::flat_hash_map<Item, std::vector<Wanted>> wanted_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_UPKEEP_OUTBOX_MATCH_H_
