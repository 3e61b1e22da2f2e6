// CountCache: A HINT at the counts of items. It may forget anything at any time; it never goes back
// in version; what it says has every write committed before read_at.
//
// The protocol (fill leases, put by version) was explored state by state; an implementation keeps
// exactly these rules (count_protocol.h has them as code) and the contract suite in tests/contract
// checks them:
// 1. Get on a missing key leaves a lease with a fresh token and answers kLease. While that lease
//    stands (3 s) everyone else gets kMiss: read the store, do not fill.
// 2. Who has a lease reads the primary store *after* the lease was granted, then Puts with its
//    token. What was read from a replica may lack a write that was put before the lease: its Put
//    has a life_max of kReplicaFillLife.
// 3. Write-through: after a commit, before the reply, Put without a token. It never creates a key;
//    on a lease it raises the lease's minimum version.
//    What stands there for no longer than that ends when it would have ended, whatever is put: that
//    may have been read before the write, too.
// 4. Put, by what is there. Absent: nothing. A lease: a Put with its token stores the value if its
//    version is not below the minimum, else deletes the lease; any other Put only raises the
//    minimum. A value: replaced by a newer version only; an equal version that was read later moves
//    read_at on.
// Counts of zero are cached like any other. A delta is never applied.
//
// A value lives for CACHE_TTL_SECONDS (1 h) +-10 % after it was read or last seen again; neither a
// look at it nor an older put makes it live longer. What has ended or was evicted is missing: an
// eviction at any instant costs speed and nothing else.
//
// Failure is not an error here: a cache that is gone, slow or full answers kMiss and false. Every
// call returns within the implementation's budget (20 ms), whatever happens.
//
// Threads: any. A task goes on on the caller's thread if the answer was at hand, else on a thread
// of the cache. The cache must outlive every task it gave out.
#ifndef COUNTER_CACHE_COUNT_CACHE_H_
#define COUNTER_CACHE_COUNT_CACHE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "base/task.h"
#include "storage/like.h"

namespace counter {

// An item's count. Every write committed before `read_at` is in it.
struct CountEntry {
  Item item;
  int64_t count = 0;
  int64_t version = 0;
  absl::Time read_at;
};

// How long a count that was read from a replica may stay.
inline constexpr absl::Duration kReplicaFillLife = absl::Seconds(5);

// Names one fill lease. 0: none.
using FillToken = uint64_t;

struct CountLookup {
  enum class Kind : uint8_t {
    kHit,    // `entry` is valid.
    kLease,  // Nothing there; the caller holds lease `token` and should fill.
    kMiss,   // Nothing there, or the cache cannot be asked; do not fill.
  };
  Kind kind = Kind::kMiss;
  CountEntry entry;
  FillToken token = 0;
};

struct CountPut {
  CountEntry entry;
  FillToken token = 0;  // Of the lease that this put fills; 0 for a write-through.
  // It lives for no longer than this, whatever the cache's time to live is.
  absl::Duration life_max = absl::InfiniteDuration();
};

class CountCache {
 public:
  virtual ~CountCache() = default;

  // Lookup i is of items[i]. Requires distinct items.
  virtual Task<std::vector<CountLookup>> Get(std::vector<Item> items) = 0;

  // Puts all entries. True, also of puts that the rules say change nothing, when the cache has
  // acknowledged every one of them; after a false some of them may have been put. Entries of one
  // item apply in order.
  virtual Task<bool> Put(std::vector<CountPut> puts) = 0;

  // Forgets the items, as an eviction would: what stands there is wrong for a reason that the rules
  // do not know. Does not wait; a Get that is asked afterwards finds them gone, unless the cache
  // is.
  virtual void Evict(const std::vector<Item>& items) = 0;
};

}  // namespace counter

#endif  // COUNTER_CACHE_COUNT_CACHE_H_
