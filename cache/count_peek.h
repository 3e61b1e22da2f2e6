// CountPeek: looks at what a cache of counts holds, and leaves no trace.
//
// Use it to compare a cache with the store (server/check). It is no read: it grants no lease, uses
// nothing, deletes nothing and counts nothing, so what is looked at lives as long as if nobody had.
//
// Threads, budget and ownership: as CountCache.
#ifndef COUNTER_CACHE_COUNT_PEEK_H_
#define COUNTER_CACHE_COUNT_PEEK_H_

#include <cstdint>
#include <vector>

#include "base/task.h"
#include "cache/count_cache.h"
#include "storage/like.h"

namespace counter {

struct PeekedCount {
  enum class Kind : uint8_t {
    kValue,       // `entry` is what a Get would answer.
    kNothing,     // No value that a Get would answer: nothing, a lease, or one that has ended.
    kUnanswered,  // The cache cannot be asked.
  };
  Kind kind = Kind::kUnanswered;
  CountEntry entry;
};

class CountPeek {
 public:
  virtual ~CountPeek() = default;

  // Answer i is of items[i]. Requires distinct items.
  virtual Task<std::vector<PeekedCount>> Peek(std::vector<Item> items) = 0;
};

}  // namespace counter

#endif  // COUNTER_CACHE_COUNT_PEEK_H_
